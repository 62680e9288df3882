"""Says one word on each stream and never another one."""

import signal
import sys

print("hello", flush=True)
print("murmur", file=sys.stderr, flush=True)
signal.pause()
