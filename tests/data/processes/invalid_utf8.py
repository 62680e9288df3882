"""Prints bytes that are no text."""

import os

os.write(1, b"good\n\xff\xfe\x80 bad \xc3\n\0nul\n")
