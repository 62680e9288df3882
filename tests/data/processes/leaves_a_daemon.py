"""Double-forks a daemon that leaves session and group, and exits. argv: file for its pid ["clear"]."""

import os
import sys
from pathlib import Path

reading, writing = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        null = os.open("/dev/null", os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        Path(sys.argv[1]).write_text(str(os.getpid()))
        environment = {} if "clear" in sys.argv else dict(os.environ)
        # The other end of the pipe closes with this exec: then the daemon is what it will be.
        os.execve("/bin/sleep", ["sleep", "1000"], environment)
    os._exit(0)
os.close(writing)
os.read(reading, 1)
print("daemon started", flush=True)
if "stay" in sys.argv:
    os.read(os.open(sys.argv[sys.argv.index("stay") + 1], os.O_RDONLY), 1)
