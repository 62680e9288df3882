"""What a process prints, however it prints it."""

from __future__ import annotations

import asyncio
import hashlib
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ralph.adapters.processes.redaction import Redactor
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.domain.loop.session_report import Ending
from ralph.engine.ports import Command, ProcessRunner, Running, Timeouts
from ralph.errors import StoreError

Child = Callable[..., Command]
MEGABYTE = 1024 * 1024


def sh(script: str, cwd: Path, **options: object) -> Command:
    return Command(argv=("sh", "-c", script), cwd=cwd, **options)  # type: ignore[arg-type]


def peak_memory() -> int:
    """Bytes at most resident since the last reset."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmHWM")


def reset_peak_memory() -> int:
    Path("/proc/self/clear_refs").write_text("5")
    return peak_memory()


linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def test_lines_log_and_exit_code_come_back(runner: PosixProcessRunner, tmp_path: Path) -> None:
    port: ProcessRunner = runner  # mypy sees that it fits
    lines: list[bytes] = []
    errors: list[bytes] = []
    log = tmp_path / "agent.ndjson"
    exit_ = asyncio.run(
        port.run(
            sh("printf 'one\\r\\ntwo\\n'; echo oops >&2; printf rest; exit 3", tmp_path),
            on_lines=lines.extend,
            on_stderr=errors.append,
            log=log,
        )
    )
    assert (exit_.ending, exit_.code, exit_.error, exit_.left_behind) == (Ending.EXITED, 3, "", ())
    assert exit_.seconds > 0
    assert lines == [b"one", b"two", b"rest"]
    assert b"".join(errors) == b"oops\n"
    assert log.read_bytes() == b"one\r\ntwo\nrest"
    assert Path(f"{log}.stderr").read_bytes() == b"oops\n"


def test_a_silent_stderr_leaves_no_file(runner: PosixProcessRunner, tmp_path: Path) -> None:
    asyncio.run(runner.run(sh("echo out", tmp_path), log=tmp_path / "log"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log"]


def test_merged_stderr_comes_in_order_as_a_terminal_shows_it(
    runner: PosixProcessRunner, tmp_path: Path
) -> None:
    lines: list[bytes] = []
    command = sh("echo 1; echo 2 >&2; echo 3", tmp_path, merge_stderr=True)
    asyncio.run(runner.run(command, on_lines=lines.extend, log=tmp_path / "log"))
    assert lines == [b"1", b"2", b"3"]
    assert (tmp_path / "log").read_bytes() == b"1\n2\n3\n"


@linux_only
def test_a_flood_leaves_the_memory_flat(runner: PosixProcessRunner, child: Child, tmp_path: Path) -> None:
    count = 0

    def take(lines: list[bytes]) -> None:
        nonlocal count
        count += len(lines)

    before = reset_peak_memory()
    exit_ = asyncio.run(runner.run(child("floods", 256), on_lines=take))
    assert exit_.code == 0
    assert count == 256 * 16384
    assert peak_memory() - before < 24 * MEGABYTE


@linux_only
def test_a_line_of_50_megabytes_without_newline_fits_in_four_times_its_size(
    runner: PosixProcessRunner, child: Child, tmp_path: Path
) -> None:
    sizes: list[int] = []
    before = reset_peak_memory()
    exit_ = asyncio.run(
        runner.run(
            child("long_line", 50),
            on_lines=lambda lines: sizes.extend(map(len, lines)),
            log=tmp_path / "log",
        )
    )
    assert exit_.code == 0
    assert sizes == [50 * MEGABYTE]
    assert (tmp_path / "log").stat().st_size == 50 * MEGABYTE
    assert peak_memory() - before < 3 * 50 * MEGABYTE


def test_bytes_that_are_no_text_arrive_unchanged(
    runner: PosixProcessRunner, child: Child, tmp_path: Path
) -> None:
    lines: list[bytes] = []
    asyncio.run(runner.run(child("invalid_utf8"), on_lines=lines.extend, log=tmp_path / "log"))
    assert lines == [b"good", b"\xff\xfe\x80 bad \xc3", b"\0nul"]
    assert (tmp_path / "log").read_bytes() == b"good\n\xff\xfe\x80 bad \xc3\n\0nul\n"


def test_a_line_cut_by_death_is_delivered_as_it_is(runner: PosixProcessRunner, child: Child) -> None:
    lines: list[bytes] = []
    exit_ = asyncio.run(runner.run(child("dies_mid_line"), on_lines=lines.extend))
    assert exit_.code == -9
    assert lines == [b'{"type":"whole"}', b'{"type":"to']


def test_a_prompt_of_two_megabytes_goes_in_through_a_file(
    runner: PosixProcessRunner, child: Child, tmp_path: Path
) -> None:
    prompt = os.urandom(2 * MEGABYTE)
    (tmp_path / "prompt").write_bytes(prompt)
    lines: list[bytes] = []
    asyncio.run(runner.run(child("drains_stdin", stdin=tmp_path / "prompt"), on_lines=lines.extend))
    assert lines == [f"{len(prompt)} {hashlib.sha256(prompt).hexdigest()}".encode()]


def test_a_python_built_for_old_systems_hands_over_the_prompt_too(
    runner: PosixProcessRunner, child: Child, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """uv's and conda's have no ``memfd_create``, whatever the kernel has."""
    monkeypatch.delattr(os, "memfd_create", raising=False)
    (tmp_path / "prompt").write_bytes(b"the prompt")
    lines: list[bytes] = []
    asyncio.run(runner.run(child("drains_stdin", stdin=tmp_path / "prompt"), on_lines=lines.extend))
    assert lines == [f"10 {hashlib.sha256(b'the prompt').hexdigest()}".encode()]


def test_without_a_prompt_stdin_is_at_its_end(runner: PosixProcessRunner, child: Child) -> None:
    lines: list[bytes] = []
    asyncio.run(runner.run(child("drains_stdin"), on_lines=lines.extend))
    assert lines == [f"0 {hashlib.sha256(b'').hexdigest()}".encode()]


def test_secrets_are_masked_in_lines_and_logs_also_when_they_come_in_pieces(
    make_runner: Callable[..., PosixProcessRunner], child: Child, tmp_path: Path
) -> None:
    secret = "sk-0123456789abcdefghij"
    fifo, log = tmp_path / "fifo", tmp_path / "log"
    os.mkfifo(fifo)
    runner = make_runner(redactor=Redactor([secret]))
    lines: list[bytes] = []
    errors: list[bytes] = []

    async def scenario() -> None:
        running = asyncio.ensure_future(
            runner.run(
                child("splits_a_secret", fifo, environment={"THE_SECRET": secret}),
                on_lines=lines.extend,
                on_stderr=errors.append,
                log=log,
            )
        )
        # The first half has been read when "before " is in the log; only then may the second one come.
        while not log.exists() or log.read_bytes() != b"before ":
            assert not running.done()
            await asyncio.sleep(0.005)
        with fifo.open("wb") as file:
            file.write(b"x")
        await running

    asyncio.run(asyncio.wait_for(scenario(), 20))
    assert lines == [b"before [redacted] after"]
    assert log.read_bytes() == b"before [redacted] after\n"
    assert b"".join(errors) == b"error with [redacted]\n"
    assert Path(f"{log}.stderr").read_bytes() == b"error with [redacted]\n"


def test_an_exception_of_the_listener_ends_the_tree_and_comes_out(
    runner: PosixProcessRunner, child: Child, alive: Callable[[int], bool]
) -> None:
    pids: list[int] = []

    def refuse(lines: list[bytes]) -> None:
        raise LookupError("cannot take this")

    with pytest.raises(LookupError, match="cannot take this"):
        asyncio.run(
            runner.run(
                child("goes_silent"), on_lines=refuse, on_start=lambda running: pids.append(running.pid)
            )
        )
    assert not alive(pids[0])


def test_an_exception_at_the_start_ends_the_tree_and_comes_out(
    runner: PosixProcessRunner, child: Child, alive: Callable[[int], bool]
) -> None:
    pids: list[int] = []

    def refuse(running: Running) -> None:
        pids.append(running.pid)
        raise LookupError("not now")

    with pytest.raises(LookupError, match="not now"):
        asyncio.run(runner.run(child("goes_silent"), on_start=refuse))
    assert not alive(pids[0])


@linux_only
def test_a_full_disk_ends_the_process_and_says_so(
    runner: PosixProcessRunner, child: Child, alive: Callable[[int], bool]
) -> None:
    pids: list[int] = []
    with pytest.raises(StoreError, match="cannot write the log /dev/full: No space left on device"):
        asyncio.run(
            runner.run(
                child("goes_silent"),
                log=Path("/dev/full"),
                on_start=lambda running: pids.append(running.pid),
            )
        )
    assert not alive(pids[0])


def test_a_log_that_cannot_be_opened_starts_nothing(runner: PosixProcessRunner, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file or directory"):
        asyncio.run(runner.run(sh("echo > started", tmp_path), log=tmp_path / "missing" / "log"))
    assert list(tmp_path.iterdir()) == []


def test_the_environment_is_cleaned_extended_and_marked(
    make_runner: Callable[..., PosixProcessRunner], tmp_path: Path
) -> None:
    runner = make_runner(
        environment={"PATH": os.environ["PATH"], "CLAUDECODE": "1", "CODEX_HOME": "/c", "A": "old"}
    )
    lines: list[bytes] = []
    command = Command(argv=("env",), cwd=tmp_path, environment={"A": "new"})
    asyncio.run(runner.run(command, on_lines=lines.extend))
    asyncio.run(runner.run(command, on_lines=lines.extend))
    environment = dict(line.decode().split("=", 1) for line in lines)
    ids = {line for line in lines if line.startswith(b"RALPH_SPAWN_ID=run-of-a-test.")}
    assert len(ids) == 2
    assert environment["RALPH_RUN_ID"] == "run-of-a-test"
    assert environment["A"] == "new"
    assert environment["CODEX_HOME"] == "/c"
    assert environment["PWD"] == str(tmp_path)
    assert "CLAUDECODE" not in environment


def test_hundreds_of_spawns_leave_no_descriptor_and_no_zombie(
    runner: PosixProcessRunner, tmp_path: Path, alive: Callable[[int], bool]
) -> None:
    command = Command(argv=("true",), cwd=tmp_path)
    pids: list[int] = []

    async def many(count: int) -> None:
        for _ in range(count):
            exit_ = await runner.run(
                command, log=tmp_path / "log", on_start=lambda running: pids.append(running.pid)
            )
            assert exit_.code == 0

    def descriptors() -> int:
        return len(list(Path("/dev/fd").iterdir()))

    asyncio.run(many(1))
    before = descriptors()
    asyncio.run(many(300))
    assert descriptors() == before
    assert len(set(pids)) == 301
    # A zombie would still be waitable.
    for pid in pids:
        with pytest.raises(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def test_a_process_that_cannot_be_born_is_an_exit(runner: PosixProcessRunner, tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    async def scenario() -> None:
        free = os.dup(0)
        os.close(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free + 1, hard))  # one more, but a pipe needs two
        try:
            exit_ = await runner.run(Command(argv=("true",), cwd=tmp_path))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert exit_.ending is Ending.NOT_STARTED
        assert exit_.error == "cannot run true: Too many open files"

    asyncio.run(scenario())


@pytest.fixture
def not_startable(tmp_path: Path) -> dict[str, Command]:
    plain, script, binary = tmp_path / "plain", tmp_path / "script", tmp_path / "binary"
    plain.write_text("echo hi")
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    binary.write_bytes(b"\x01\x02nothing that runs")
    binary.chmod(0o755)
    return {
        "missing": Command(argv=("no-such-agent",), cwd=tmp_path),
        "missing path": Command(argv=("./no-such-agent",), cwd=tmp_path),
        "not executable": Command(argv=(str(plain),), cwd=tmp_path),
        "directory": Command(argv=(str(tmp_path),), cwd=tmp_path),
        "interpreter": Command(argv=(str(script),), cwd=tmp_path),
        "format": Command(argv=(str(binary),), cwd=tmp_path),
        "cwd": Command(argv=("true",), cwd=tmp_path / "gone"),
        "too long": Command(argv=("true", "x" * 3 * MEGABYTE), cwd=tmp_path),
        "null": Command(argv=("true", "a\0b"), cwd=tmp_path),
        "empty": Command(argv=(), cwd=tmp_path),
        "stdin": Command(argv=("true",), cwd=tmp_path, stdin=tmp_path / "no-prompt"),
    }


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("missing", "no-such-agent: command not found"),
        ("missing path", "./no-such-agent: no such file"),
        ("not executable", "make it executable"),
        ("directory", "it is a directory"),
        ("interpreter", "the interpreter named in its first line does not exist"),
        ("format", "not a program"),
        ("cwd", "the working directory"),
        ("too long", "its arguments are too long"),
        ("null", "null byte"),
        ("empty", "an empty command"),
        ("stdin", "no-prompt cannot be read"),
    ],
)
def test_what_cannot_start_says_why(
    runner: PosixProcessRunner, not_startable: dict[str, Command], case: str, words: str
) -> None:
    started: list[Running] = []
    exit_ = asyncio.run(
        runner.run(not_startable[case], on_start=started.append, timeouts=Timeouts(total=5.0))
    )
    assert (exit_.ending, exit_.code, started) == (Ending.NOT_STARTED, None, [])
    assert words in exit_.error


def test_a_folder_on_path_that_may_not_be_searched_hides_nothing(
    runner: PosixProcessRunner, tmp_path: Path
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o000)
    path = {"PATH": f"{closed}:{os.environ['PATH']}"}
    found = asyncio.run(runner.run(Command(argv=("true",), cwd=tmp_path, environment=path)))
    missing = asyncio.run(runner.run(Command(argv=("no-such-agent",), cwd=tmp_path, environment=path)))
    assert (found.ending, found.code) == (Ending.EXITED, 0)
    assert "no-such-agent: command not found" in missing.error


def test_a_program_is_not_looked_for_in_the_folder_where_it_is_to_run(
    make_runner: Callable[..., PosixProcessRunner], tmp_path: Path
) -> None:
    programs, folder = tmp_path / "programs", tmp_path / "folder"
    for place, mode in ((programs, 0o644), (folder, 0o755)):
        place.mkdir()
        (place / "tool").write_text("#!/bin/sh\n")
        (place / "tool").chmod(mode)
    runner = make_runner(environment={"PATH": str(programs)})
    ended = asyncio.run(runner.run(Command(argv=("tool",), cwd=folder)))
    assert ended.error.startswith("cannot run tool: permission denied")


@pytest.mark.parametrize(
    ("path", "ran"),
    [
        pytest.param(".:/bin", b"here", id="relative"),
        pytest.param("link/..:/bin", b"elsewhere", id="relative, above a link"),
        pytest.param("{here}/link/..:/bin", b"elsewhere", id="absolute, above a link"),
    ],
)
def test_what_the_path_names_is_what_runs(
    make_runner: Callable[..., PosixProcessRunner],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    ran: bytes,
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
    runner = make_runner(environment={"PATH": path.format(here=here)})
    asyncio.run(runner.run(Command(argv=("tool",), cwd=folder), on_lines=said.extend))
    assert said == [ran]


def test_a_stop_that_nobody_awaits_is_no_warning_when_nothing_starts(
    runner: PosixProcessRunner, tmp_path: Path
) -> None:
    async def scenario() -> None:
        exit_ = await runner.run(Command(argv=("no-such-agent",), cwd=tmp_path), stop=asyncio.Event().wait())
        assert exit_.ending is Ending.NOT_STARTED

    asyncio.run(scenario())


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
@pytest.mark.parametrize("is_private", [True, False])
def test_private_output_cannot_be_spoken_in_by_a_tool(
    runner: PosixProcessRunner, tmp_path: Path, is_private: bool
) -> None:
    lines: list[bytes] = []
    script = (
        "echo mine; sh -c 'echo forged > /proc/$PPID/fd/1' 2> /dev/null; echo more; seq 100000 | tail -n 1"
    )
    exit_ = asyncio.run(
        runner.run(
            Command(argv=("sh", "-c", script), cwd=tmp_path, private_output=is_private), on_lines=lines.extend
        )
    )
    assert exit_.code == 0
    assert lines == [b"mine", *([] if is_private else [b"forged"]), b"more", b"100000"]
