"""Which program a watcher runs."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ralph.adapters.processes.keeper import Request, ask_for_keeper, encode_request
from ralph.adapters.processes.nameless_file import nameless_copy
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.processes.watcher import can_start, start_watcher
from ralph.adapters.processes.watcher_main import LONGEST_MESSAGE
from ralph.adapters.processes.watcher_program import (
    COMPILED,
    FORMAT,
    WatcherProgram,
    compiled_watcher,
    python_watcher,
    watcher_programs,
)
from ralph.engine.ports import Command, Exit
from ralph.errors import TooManyProcesses

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a watcher starts no programs")
RUN_ID = f"program-{os.getpid()}"
is_built = pytest.mark.skipif(
    compiled_watcher() is None, reason="it was not built here: there was no C compiler"
)


def run(watcher_programs: list[WatcherProgram], *argv: str, **environment: str) -> tuple[Exit, list[bytes]]:
    said: list[bytes] = []
    with start_watcher(RUN_ID, watcher_programs) as watcher:
        runner = PosixProcessRunner(run_id=RUN_ID, base_environment=os.environ, watcher=watcher)
        command = Command(argv=argv, cwd=Path("/"), environment=environment)
        return asyncio.run(runner.run(command, on_output=said.append)), said


@is_built
def test_the_compiled_one_comes_first() -> None:
    assert watcher_programs()[0] == compiled_watcher()


@is_built
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda code: code[:-1], id="a part"),
        pytest.param(lambda code: code[: len(code) // 8], id="a small part"),
        pytest.param(lambda code: b"", id="nothing"),
        pytest.param(lambda code: code.replace(FORMAT, FORMAT.swapcase()), id="of another version"),
        pytest.param(lambda code: b"#!/bin/sh\n" + code, id="a script"),
    ],
)
def test_one_that_is_damaged_or_of_another_version_is_not_taken(
    tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    file = tmp_path / "watcher.elf"
    file.write_bytes(change(COMPILED.read_bytes()))
    assert compiled_watcher(file) is None


def test_none_is_taken_where_there_is_none(tmp_path: Path) -> None:
    assert compiled_watcher(tmp_path / "watcher.elf") is None


def test_where_the_first_cannot_be_started_the_next_is() -> None:
    broken = WatcherProgram(b"no program of this machine", None, ("watcher",))
    ended, said = run([broken, python_watcher()], "echo", "hello")
    assert (ended.code, said) == (0, [b"hello\n"])


def test_where_the_first_does_nothing_the_next_is_taken() -> None:
    """It needs a newer system, say, or was compiled for another processor."""
    idle = WatcherProgram(Path("/bin/true").read_bytes(), None, ("watcher",))
    ended, said = run([idle, python_watcher()], "echo", "hello")
    assert (ended.code, said) == (0, [b"hello\n"])


def test_one_that_this_system_does_not_run_is_known_before_a_run_needs_it() -> None:
    """As the doctor asks."""
    assert not can_start(WatcherProgram(b"no program of this machine", None, ("watcher",)))
    for name in ("true", "false"):
        assert not can_start(WatcherProgram(Path("/bin", name).read_bytes(), None, ("watcher",)))


PROGRAMS = [
    pytest.param(python_watcher(), id="in Python"),
    pytest.param(compiled_watcher(), marks=is_built, id="compiled"),
]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    "size", [1000, LONGEST_MESSAGE, LONGEST_MESSAGE + 1, 4 * LONGEST_MESSAGE], ids="{} bytes".format
)
def test_a_program_gets_its_arguments_and_variables_whatever_their_size(
    program: WatcherProgram, size: int
) -> None:
    """Longer ones than a message may be come in a file."""

    def request(filler: str) -> Request:
        words = ["sh", "-c", 'printf "%s|" "$0" "$@" "$GIVEN"', "a=b ä" + filler, "", "=", "end"]
        return b"/bin/sh", [word.encode() for word in words], {b"GIVEN": b"c=d"}, b"/"

    filler = "x" * (size - len(encode_request(request(""))))
    assert len(encode_request(request(filler))) == size

    async def scenario() -> bytes:
        reading, writing = os.pipe()
        with open(reading, "rb") as said, start_watcher(RUN_ID, [program]) as watcher:  # noqa: ASYNC230, PTH123
            keeper = await watcher.start(request(filler), [writing] * 3)
            os.close(writing)
            text = await asyncio.to_thread(said.read)
            keeper.release()
        return text

    assert asyncio.run(asyncio.wait_for(scenario(), 60)).decode() == f"a=b ä{filler}||=|end|c=d|"


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(("name", "value"), [("A=B", "c"), ("A\0B", "c"), ("A", "b\0C=d"), ("", "c")])
def test_variables_that_would_become_others_are_refused(
    program: WatcherProgram, name: str, value: str
) -> None:
    ended, _ = run([program], "env", **{name: value})
    assert ended.code is None
    assert ended.error in (
        "cannot run env: embedded null byte",
        "cannot run env: illegal environment variable name",
    )


@pytest.mark.parametrize("program", PROGRAMS)
def test_one_that_this_system_runs_can_be_started(program: WatcherProgram) -> None:
    assert can_start(program)


@is_built
def test_a_python_built_for_old_systems_runs_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many of uv's and conda's have no ``memfd_create``, whatever the system has."""
    monkeypatch.delattr(os, "memfd_create", raising=False)
    ended, said = run([*filter(None, [compiled_watcher()])], "echo", "hello")
    assert (ended.code, said) == (0, [b"hello\n"])
    copy = nameless_copy("test", b"sealed", must_seal=True)
    with pytest.raises(PermissionError):
        os.pwrite(copy, b"changed", 0)
    assert os.read(copy, 100) == b"sealed"
    os.close(copy)


needs_limits = pytest.mark.skipif(os.geteuid() == 0, reason="root may start as many processes as it likes")


@needs_limits
@pytest.mark.parametrize("program", PROGRAMS)
def test_that_no_more_processes_can_be_started_is_said(program: WatcherProgram) -> None:
    with start_watcher(RUN_ID, [program]) as watcher:
        runner = PosixProcessRunner(run_id=RUN_ID, base_environment=os.environ, watcher=watcher)
        usual = resource.prlimit(watcher.pid, resource.RLIMIT_NPROC)
        resource.prlimit(watcher.pid, resource.RLIMIT_NPROC, (1, usual[1]))

        async def run_some() -> None:
            for _ in range(3):  # there may have been a spare keeper
                await runner.run(Command(argv=("true",), cwd=Path("/")))

        with pytest.raises(TooManyProcesses):
            asyncio.run(run_some())
        resource.prlimit(watcher.pid, resource.RLIMIT_NPROC, usual)
        asyncio.run(run_some())


@pytest.mark.parametrize(
    ("limit", "number", "reason"),
    [
        pytest.param(resource.RLIMIT_NPROC, 1, errno.EAGAIN, id="processes", marks=needs_limits),
        pytest.param(resource.RLIMIT_NOFILE, 3, 0, id="descriptors"),
    ],
)
@pytest.mark.parametrize("program", PROGRAMS)
def test_one_that_is_refused_something_for_a_while_watches_on(
    program: WatcherProgram,
    until: Callable[[Callable[[], bool]], None],
    limit: int,
    number: int,
    reason: int,
) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        with theirs:
            watcher = program.start([RUN_ID], theirs.fileno())
        first = ask_for_keeper(ours)
        until(first.has_answered)  # so it has begun
        first.dismiss()
        usual = resource.prlimit(watcher.pid, limit)
        resource.prlimit(watcher.pid, limit, (number, usual[1]))
        refused = ask_for_keeper(ours)
        until(refused.has_answered)
        assert (refused.pid, refused.refused) == (0, reason)
        resource.prlimit(watcher.pid, limit, usual)
        keeper = ask_for_keeper(ours)
        until(keeper.has_answered)
        assert keeper.pid
        keeper.dismiss()
        refused.abandon()
        ours.send(b"b")
    assert watcher.wait(60) == 0


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_watcher_is_named_for_whoever_lists_processes(
    program: WatcherProgram, until: Callable[[Callable[[], bool]], None]
) -> None:
    with start_watcher(RUN_ID, [program]) as watcher:
        command_line = Path(f"/proc/{watcher.pid}/cmdline")
        until(lambda: b"watcher_main" in command_line.read_bytes())


@pytest.mark.parametrize("program", PROGRAMS)
def test_it_is_not_called_ralph(program: WatcherProgram) -> None:
    """Whoever ends all that is must not end what cleans up after it."""
    ended, said = run(
        [program],
        "sh",
        "-c",
        "keeper=$PPID; cat /proc/$keeper/comm; read -r _ _ _ watcher _ < /proc/$keeper/stat; cat /proc/$watcher/comm",
    )
    assert ended.code == 0
    names = b"".join(said).split()
    assert len(names) == 2
    assert not any(b"ralph" in name or name.isdigit() for name in names)
