"""A process whose stdin stays open: what is written reaches it, and one that does not read cannot hold ralph up."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ralph.adapters.processes import conversation_input
from ralph.adapters.processes import runner as processes
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.domain.loop.session_report import Ending
from ralph.engine.ports import Command, Exit, Partner, Running, Timeouts

ECHO = "import sys\nfor line in sys.stdin: print(line.strip().upper(), flush=True)\nprint('over')"
DEAF = "import time; print('here', flush=True); time.sleep(600)"
GONE = "import os, sys, time; os.close(0); print('closed', flush=True); time.sleep(1)"
LONG = Timeouts(total=90)


def converse(
    runner: PosixProcessRunner,
    code: str,
    folder: Path,
    on_line: Callable[[Partner, bytes], None],
    *,
    opening: bytes = b"",
    words: bytes = b"",
    stop: asyncio.Future[object] | None = None,
    timeouts: Timeouts = LONG,
) -> tuple[Exit, list[bytes]]:
    lines: list[bytes] = []
    partners: list[Partner] = []

    def started(running: Running) -> None:
        assert isinstance(running, Partner)
        partners.append(running)
        running.before_signals(lambda: words)
        running.write(opening)

    def heard(batch: list[bytes]) -> None:
        lines.extend(batch)
        for line in batch:
            on_line(partners[0], line)

    async def run() -> Exit:
        command = Command((sys.executable, "-c", code), folder, converses=True, private_output=True)
        return await runner.run(command, timeouts=timeouts, on_start=started, on_lines=heard)

    return asyncio.run(run()), lines


def test_it_answers_until_its_input_ends(runner: PosixProcessRunner, tmp_path: Path) -> None:
    def reply(partner: Partner, line: bytes) -> None:
        if line == b"ONE":
            partner.write(b"two\n")
            partner.close_input()
            partner.write(b"never\n")

    exit_, lines = converse(runner, ECHO, tmp_path, reply, opening=b"one\n")

    assert lines == [b"ONE", b"TWO", b"over"]
    assert (exit_.ending, exit_.code) == (Ending.EXITED, 0)


def test_more_than_a_pipe_holds_arrives_whole(runner: PosixProcessRunner, tmp_path: Path) -> None:
    size = 5_000_000
    count = "import sys; print(len(sys.stdin.readline()))"

    _, lines = converse(runner, count, tmp_path, lambda partner, line: None, opening=b"x" * size + b"\n")

    assert lines == [str(size + 1).encode()]


def test_one_that_does_not_read_is_told_no_more_at_some_point(
    runner: PosixProcessRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 1_000_000
    monkeypatch.setattr(conversation_input, "MOST_WAITING", most)
    code = (
        "import os, sys, time\n"
        "print('here', flush=True)\n"
        "while not os.path.exists('go'): time.sleep(0.01)\n"
        "print(len(sys.stdin.buffer.read()))"
    )

    def flood(partner: Partner, line: bytes) -> None:
        if line == b"here":
            for _ in range(100):
                partner.write(b"x" * 100_000)
            partner.close_input()
            (tmp_path / "go").touch()

    exit_, lines = converse(runner, code, tmp_path, flood)

    assert 0 < int(lines[1]) <= most
    assert (exit_.ending, exit_.code) == (Ending.EXITED, 0)


def test_one_that_has_closed_its_input_is_no_error(runner: PosixProcessRunner, tmp_path: Path) -> None:
    def tell(partner: Partner, line: bytes) -> None:
        for _ in range(3):
            partner.write(b"hello?\n")
        partner.close_input()

    exit_, lines = converse(runner, GONE, tmp_path, tell)

    assert (lines, exit_.code) == ([b"closed"], 0)


def test_the_last_words_come_before_any_signal(
    runner: PosixProcessRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "_WORDS_SECONDS", 60.0)  # however busy the machine is
    code = (
        "import signal, sys\n"
        "signal.signal(signal.SIGINT, lambda *_: print('signal', flush=True))\n"
        "print('here', flush=True)\n"
        "print(sys.stdin.readline().strip())"
    )

    exit_, lines = converse(
        runner, code, tmp_path, lambda partner, line: partner.finish_within(0), words=b"please end\n"
    )

    assert lines == [b"here", b"please end"]
    assert (exit_.ending, exit_.code) == (Ending.EXITED, 0)


def test_one_that_does_not_listen_to_them_is_ended_by_signals(
    runner: PosixProcessRunner, tmp_path: Path
) -> None:
    exit_, lines = converse(
        runner, DEAF, tmp_path, lambda partner, line: partner.finish_within(0), words=b"please end\n"
    )

    assert lines == [b"here"]
    assert exit_.code is not None
    assert exit_.code != 0


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")
def test_no_tool_can_write_to_it_by_name(runner: PosixProcessRunner, tmp_path: Path) -> None:
    code = (
        "import subprocess, sys\n"
        'tool = \'import os; open(f"/proc/{os.getppid()}/fd/0", "w").write("mine")\'\n'
        "print(subprocess.run([sys.executable, '-c', tool], stdin=subprocess.DEVNULL, "
        "stderr=subprocess.DEVNULL).returncode)"
    )

    _, lines = converse(runner, code, tmp_path, lambda partner, line: None)

    assert lines == [b"1"]
