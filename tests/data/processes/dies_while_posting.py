"""Holds the bus's lock, writes half a message and dies without a word: path of the bus."""

import fcntl
import os
import signal
import sys

from ralph.domain.supervision.message import BusMessage, message_id, render_message

block = render_message(
    BusMessage(id=message_id(1e9, b"half"), time=1e9, type="FACT", body="half a message\n" * 50)
)
descriptor = os.open(sys.argv[1], os.O_RDWR | os.O_APPEND | os.O_CREAT)
fcntl.flock(descriptor, fcntl.LOCK_EX)
os.write(descriptor, block[: len(block) // 2])
os.kill(os.getpid(), signal.SIGKILL)
