"""Which program a watcher runs."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ralph.adapters.processes.keeper import ask_for_keeper
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.processes.watcher import can_start, start_watcher
from ralph.adapters.processes.watcher_program import (
    COMPILED,
    FORMAT,
    WatcherProgram,
    compiled_watcher,
    python_watcher,
    watcher_programs,
)
from ralph.engine.ports import Command, Exit

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
    broken = WatcherProgram(b"no program of this machine", "", ("watcher",))
    ended, said = run([broken, python_watcher()], "echo", "hello")
    assert (ended.code, said) == (0, [b"hello\n"])


def test_where_the_first_does_nothing_the_next_is_taken() -> None:
    """It needs a newer system, say, or was compiled for another processor."""
    idle = WatcherProgram(Path("/bin/true").read_bytes(), "", ("watcher",))
    ended, said = run([idle, python_watcher()], "echo", "hello")
    assert (ended.code, said) == (0, [b"hello\n"])


def test_one_that_this_system_does_not_run_is_known_before_a_run_needs_it() -> None:
    """As the doctor asks."""
    assert not can_start(WatcherProgram(b"no program of this machine", "", ("watcher",)))
    assert not can_start(WatcherProgram(Path("/bin/false").read_bytes(), "", ("watcher",)))


PROGRAMS = [
    pytest.param(python_watcher(), id="in Python"),
    pytest.param(compiled_watcher(), marks=is_built, id="compiled"),
]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("size", [100, 31_000, 33_000, 120_000], ids="{} bytes".format)
def test_a_program_gets_its_arguments_and_variables_whatever_their_size(
    program: WatcherProgram, size: int
) -> None:
    """From 32 kB on they come in a file."""
    text = "a=b " + "ä" * (size // 2)
    ended, said = run([program], "sh", "-c", 'printf "%s|" "$0" "$@" "$GIVEN"', text, "", "=", GIVEN=text)
    assert ended.code == 0, ended
    assert b"".join(said).decode() == f"{text}||=|{text}|"


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


@pytest.mark.skipif(os.geteuid() == 0, reason="root may start as many processes as it likes")
@pytest.mark.parametrize("program", PROGRAMS)
def test_one_that_may_start_no_process_for_a_while_goes_on(
    program: WatcherProgram, until: Callable[[Callable[[], bool]], None]
) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        with theirs:
            watcher = program.start([RUN_ID], theirs.fileno())
        usual = resource.prlimit(watcher.pid, resource.RLIMIT_NPROC)
        resource.prlimit(watcher.pid, resource.RLIMIT_NPROC, (1, usual[1]))
        refused = ask_for_keeper(ours)
        until(refused.has_answered)
        assert refused.pid == 0
        resource.prlimit(watcher.pid, resource.RLIMIT_NPROC, usual)
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
def test_whoever_ends_all_that_is_called_ralph_does_not_end_what_cleans_up(program: WatcherProgram) -> None:
    ended, said = run(
        [program],
        "sh",
        "-c",
        "keeper=$PPID; cat /proc/$keeper/comm; read -r _ _ _ watcher _ < /proc/$keeper/stat; cat /proc/$watcher/comm",
    )
    assert ended.code == 0
    names = b"".join(said).split()
    assert len(names) == 2
    assert not any(b"ralph" in name for name in names)


def test_a_program_is_not_looked_for_in_the_folder_where_it_is_to_run(tmp_path: Path) -> None:
    programs, folder = tmp_path / "programs", tmp_path / "folder"
    for place, mode in ((programs, 0o644), (folder, 0o755)):
        place.mkdir()
        (place / "tool").write_text("#!/bin/sh\n")
        (place / "tool").chmod(mode)
    with start_watcher(RUN_ID) as watcher:
        runner = PosixProcessRunner(run_id=RUN_ID, base_environment={"PATH": str(programs)}, watcher=watcher)
        ended = asyncio.run(runner.run(Command(argv=("tool",), cwd=folder)))
    assert ended.error.startswith("cannot run tool: permission denied")


@pytest.mark.parametrize(
    ("path", "ran"),
    [
        pytest.param(".:/bin", b"here\n", id="relative"),
        pytest.param("link/..:/bin", b"elsewhere\n", id="relative, above a link"),
        pytest.param("{here}/link/..:/bin", b"elsewhere\n", id="absolute, above a link"),
    ],
)
def test_what_the_path_names_is_what_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, ran: bytes
) -> None:
    here, folder, elsewhere = tmp_path / "here", tmp_path / "folder", tmp_path / "elsewhere"
    for place in (here, folder, elsewhere):
        place.mkdir()
        (place / "tool").write_text(f"#!/bin/sh\necho {place.name}\n")
        (place / "tool").chmod(0o755)
    (elsewhere / "below").mkdir()
    (here / "link").symlink_to(elsewhere / "below")  # whose `..` is elsewhere
    monkeypatch.chdir(here)
    said: list[bytes] = []
    with start_watcher(RUN_ID) as watcher:
        runner = PosixProcessRunner(
            run_id=RUN_ID, base_environment={"PATH": path.format(here=here)}, watcher=watcher
        )
        asyncio.run(runner.run(Command(argv=("tool",), cwd=folder), on_output=said.append))
    assert said == [ran]
