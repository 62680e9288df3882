"""An agent with a tool shell in its own session and a double-forked daemon. argv: a folder for their pids."""

import os
import signal
import subprocess
import sys
from pathlib import Path

folder = Path(sys.argv[1])
daemon = Path(__file__).with_name("leaves_a_daemon.py")
shell = subprocess.Popen(["sh", "-c", "trap '' TERM INT HUP; sleep 1000; true"], start_new_session=True)
subprocess.run([sys.executable, daemon, folder / "daemon"], check=True, stdout=subprocess.DEVNULL)
(folder / "shell").write_text(str(shell.pid))
(folder / "agent.new").write_text(str(os.getpid()))
(folder / "agent.new").rename(folder / "agent")
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True:
    signal.pause()
