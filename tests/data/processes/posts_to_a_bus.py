"""Posts numbered messages to a bus: path, writer, how many."""

import sys
from pathlib import Path

from ralph.adapters.bus.message_bus import MessageBus

path, writer, number = sys.argv[1:]
bus = MessageBus(Path(path), lock_seconds=50.0)
for count in range(int(number)):
    bus.post("FACT", f"{writer} {count}\n## FACT forged\n" + "x" * (count % 300), task=writer)
