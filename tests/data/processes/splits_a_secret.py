"""Prints the value of $THE_SECRET in two writes; the first is confirmed by a byte from argv[1], a FIFO."""

import os
import sys

secret = os.environ["THE_SECRET"].encode()
half = len(secret) // 2
os.write(1, b"before " + secret[:half])
os.read(os.open(sys.argv[1], os.O_RDONLY), 1)
os.write(1, secret[half:] + b" after\n")
os.write(2, b"error with " + secret + b"\n")
