from __future__ import annotations

import io
import os
import subprocess
from collections.abc import Callable

from ralph.interfaces.cli.console.outlet import Outlet


def test_a_reader_that_left_is_no_error() -> None:
    read_end, write_end = os.pipe()
    stream = os.fdopen(write_end, "w")
    outlet = Outlet(stream)
    outlet.write("seen\n")
    assert os.read(read_end, 100) == b"seen\n"
    os.close(read_end)
    outlet.write("unseen\n")
    assert outlet.closed
    outlet.write("more\n")
    stream.close()  # what was left in the buffer goes nowhere, without an error


def test_a_closed_stream_is_no_error() -> None:
    stream = io.StringIO()
    stream.close()
    outlet = Outlet(stream)
    outlet.write("x")
    assert outlet.closed


def test_what_the_encoding_cannot_express_is_escaped() -> None:
    raw = io.BytesIO()
    outlet = Outlet(io.TextIOWrapper(raw, encoding="ascii"))
    outlet.write("✅ é \ud800\n")
    assert raw.getvalue() == b"\\u2705 \\xe9 \\ud800\n"
    assert not outlet.closed


def test_utf8_is_written_whatever_the_encoding_is() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    Outlet(stream).write_utf8("é\n".encode())
    assert raw.getvalue() == "é\n".encode()
    memory = io.StringIO()
    Outlet(memory).write_utf8("é\n".encode())
    assert memory.getvalue() == "é\n"


def test_a_stream_made_non_blocking_by_somebody_else_is_waited_for() -> None:
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    reader = subprocess.Popen(["wc", "-c"], stdin=read_end, stdout=subprocess.PIPE, text=True)
    os.close(read_end)
    with os.fdopen(write_end, "w") as stream:
        outlet = Outlet(stream)
        for _ in range(100):
            outlet.write("x" * 50_000)
        assert not outlet.closed
    counted, _ = reader.communicate(timeout=60)
    assert int(counted) > 1_000_000


def test_a_process_whose_reader_left_ends_cleanly(said_without_reader: Callable[[str], str]) -> None:
    script = (
        "import sys\n"
        "from ralph.interfaces.cli.console.outlet import Outlet\n"
        "outlet = Outlet(sys.stdout)\n"
        "while not outlet.closed: outlet.write('y' * 10_000)\n"
        "sys.stderr.write('went on')\n"
    )
    assert said_without_reader(script) == "went on"
