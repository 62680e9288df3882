"""``python -m ralph.testing.model SCRIPT.json [--port N]``: prints its address and plays until interrupted."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from pathlib import Path

from ralph.errors import RalphError
from ralph.testing.model.script import steps_from_json
from ralph.testing.model.server import ScriptedModel


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m ralph.testing.model", description=__doc__)
    parser.add_argument("script", type=Path, help="JSON: a list of steps; - for standard input")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0: any that is free")
    given = parser.parse_args()
    try:
        text = sys.stdin.read() if given.script == Path("-") else given.script.read_text()
        steps = steps_from_json(text)
        model = ScriptedModel(steps, port=given.port)
    except RalphError as error:
        print(f"scripted model: {error.message}", file=sys.stderr)
        if error.hint:
            print(error.hint, file=sys.stderr)
        return error.exit_code
    except (OSError, UnicodeDecodeError, OverflowError) as error:
        print(f"scripted model: {error}", file=sys.stderr)
        return 2
    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    with model:
        print(model.url, flush=True)
        over.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
