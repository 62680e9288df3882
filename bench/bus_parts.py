"""``python -m bench.bus_parts post PATH NAME NUMBER | read PATH``: one writer, or the reader, as a separate process."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from ralph.adapters.bus.message_bus import MessageBus


def main(what: str, path: str, *arguments: str) -> None:
    bus = MessageBus(Path(path), lock_seconds=60.0)
    if what == "post":
        name, number = arguments
        for count in range(int(number)):
            bus.post("FACT", f"{name} {count}: the quick brown fox\n## FACT jumps", task=name)
        return
    began = time.perf_counter()
    reading = bus.read()
    seconds = time.perf_counter() - began
    said = {message.body for message in reading.messages}
    torn = reading.torn_tail is not None
    print(json.dumps({"messages": len(said), "problems": len(reading.problems) + torn, "seconds": seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:])
