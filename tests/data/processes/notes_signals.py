"""An agent that ignores signals, with a tool in its own session that notes each one. argv: the notes."""

import os
import signal
import sys

ready, tell = os.pipe()
if os.fork() == 0:
    os.setsid()
    notes = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: os.write(notes, f"{number}\n".encode()))
    os.close(tell)
else:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.close(tell)
    os.read(ready, 1)
    print("ready", flush=True)
while True:
    signal.pause()
