from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from ralph.interfaces.cli.console.relay import left_out

SCRIPT = """
import sys
from ralph.interfaces.cli.console import relay
relay.QUEUE_BYTES, relay.PATIENCE, relay.HURRY = 100_000, 0.2, 0.1
with relay.Relay().streams():
    print("first")
    for number in range(20_000):
        sys.stdout.write_chatter(f"{number}\\n" * 10)
    print("last", file=sys.stderr)
    sys.stderr.isatty(), sys.stdout.fileno()
print("afterwards")
sys.stdout.flush()
sys.exit(7)
"""


def test_what_nobody_reads_is_counted_and_the_process_ends(tmp_path: Path) -> None:
    err = tmp_path / "err"
    with err.open("w") as file:
        child = subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=file)
        assert child.wait(timeout=60) == 7  # although nothing was read
        assert child.stdout is not None
        with child.stdout as stdout:
            words = stdout.read().split(b"\n")
    assert words[0] == b"first"
    assert words[1:6] == [b"0"] * 5
    said = err.read_text().splitlines()
    assert said[0] == "last"
    assert said[1].startswith("ralph: ")
    assert said[1].endswith("lines left out: nobody read them in time (`ralph logs` shows them)")


def test_a_reader_that_is_gone_is_told_by_the_next_write(said_without_reader: Callable[[str], str]) -> None:
    script = (
        "import sys\n"
        "from ralph.interfaces.cli.console.relay import Relay\n"
        "with Relay().streams():\n"
        "    try:\n"
        "        while True: print('x' * 1000)\n"
        "    except BrokenPipeError:\n"
        "        print('gone', file=sys.stderr)\n"
    )
    assert said_without_reader(script) == "gone\n"


def test_a_stream_that_others_made_non_blocking_loses_nothing() -> None:
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    script = (
        "from ralph.interfaces.cli.console.relay import Relay\n"
        "with Relay().streams():\n"
        "    for number in range(1000): print('x' * 999)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", script], stdout=write_end)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as stdout:
        assert len(stdout.read()) == 1_000_000
    assert child.wait(timeout=60) == 0


def test_the_note_says_how_many() -> None:
    assert left_out(1).startswith("… 1 line left out")
    assert left_out(1234).startswith("… 1234 lines left out")
