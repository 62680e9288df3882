"""Prints one line of argv[1] megabytes, without a newline."""

import os
import sys

block = b"y" * 1024 * 1024
for _ in range(int(sys.argv[1])):
    rest = memoryview(block)
    while rest:
        rest = rest[os.write(1, rest) :]
