"""Leaves a daemon whose first thread has ended, so that the system lists it as a zombie. argv: file for its pid ["stay" fifo]."""

import ctypes
import os
import platform
import sys
import threading
import time
from pathlib import Path

EXIT = 60 if platform.machine() == "x86_64" else 93


def go_on(said: int) -> None:
    while b") Z " not in Path("/proc/self/stat").read_bytes():
        time.sleep(0.001)
    Path(sys.argv[1]).write_text(str(os.getpid()))
    os.close(said)
    time.sleep(1000)


reading, writing = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        null = os.open("/dev/null", os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        threading.Thread(target=go_on, args=(writing,)).start()
        ctypes.CDLL(None).syscall(EXIT, 0)
    os._exit(0)
os.close(writing)
os.read(reading, 1)
if "stay" in sys.argv:
    os.read(os.open(sys.argv[sys.argv.index("stay") + 1], os.O_RDONLY), 1)
