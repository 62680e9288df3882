"""Prints argv[1] megabytes in lines of 64 characters."""

import os
import sys

block = (b"x" * 63 + b"\n") * 16384
for _ in range(int(sys.argv[1])):
    rest = memoryview(block)
    while rest:
        rest = rest[os.write(1, rest) :]
