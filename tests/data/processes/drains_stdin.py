"""Reads stdin to its end and prints how much it was, and its digest."""

import hashlib
import sys

content = sys.stdin.buffer.read()
print(len(content), hashlib.sha256(content).hexdigest())
