"""Is killed in the middle of a line."""

import os
import signal

os.write(1, b'{"type":"whole"}\n{"type":"to')
os.kill(os.getpid(), signal.SIGKILL)
