"""Each process has a keeper of its own: whatever it leaves behind is known to be its own, whoever else is killed."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ralph.adapters.processes.process_table import read_process
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.processes.watcher import Watcher, end_run_processes
from ralph.domain.loop.session_report import Ending
from ralph.engine.ports import Command, Exit, Running, Timeouts

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process adopt"),
    pytest.mark.usefixtures("begin_watcher"),  # for both of its programs
]

Child = Callable[..., Command]
BeginWatcher = Callable[[str], Watcher]
Alive = Callable[[int], bool]
Until = Callable[[Callable[[], bool]], None]
CHILDREN = Path(__file__).parents[2] / "data" / "processes"
RUN_ID = f"kept-{os.getpid()}"


@pytest.fixture
def watcher(begin_watcher: BeginWatcher) -> Iterator[Watcher]:
    with begin_watcher(RUN_ID) as watcher:
        yield watcher


@pytest.fixture
def kept(watcher: Watcher) -> PosixProcessRunner:
    return PosixProcessRunner(run_id=RUN_ID, base_environment=os.environ, watcher=watcher)


def keeper_of(pid: int) -> int:
    process = read_process(pid)
    assert process is not None
    return process.parent


def test_a_daemon_without_environment_is_ended_with_its_own_session_beside_others(
    kept: PosixProcessRunner, each_ends_its_own: Callable[..., None]
) -> None:
    each_ends_its_own(kept, "clear")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_an_agent_gains_nothing_by_ending_its_keeper(
    kept: PosixProcessRunner, child: Child, tmp_path: Path, alive: Alive, number: int
) -> None:
    """Its exit code is still known, and what it left is still ended."""
    script = f"kill -{number} $PPID; {sys.executable} -I -S {CHILDREN}/leaves_a_daemon.py pid clear; exit 3"
    exit_ = asyncio.run(kept.run(Command(argv=("sh", "-c", script), cwd=tmp_path), timeouts=Timeouts(30)))
    pid = int((tmp_path / "pid").read_text())
    assert (exit_.ending, exit_.code) == (Ending.EXITED, 3)
    assert exit_.left_behind == (f"sleep 1000 (pid {pid})",)
    assert not alive(pid)


def test_after_the_watcher_was_killed_the_next_program_gets_a_new_one(
    kept: PosixProcessRunner, watcher: Watcher, child: Child, tmp_path: Path, alive: Alive, until: Until
) -> None:
    killed = watcher.pid

    def kill(running: Running) -> None:
        os.kill(killed, signal.SIGKILL)
        until(lambda: not alive(killed))

    first = asyncio.run(kept.run(child("leaves_a_daemon", tmp_path / "first", "clear"), on_start=kill))
    # For the second it may have had a keeper ready already.
    others = [
        asyncio.run(kept.run(child("leaves_a_daemon", tmp_path / name, "clear"))) for name in ("2", "3")
    ]
    assert [len(each.left_behind) for each in (first, *others)] == [1, 1, 1]
    assert watcher.pid != killed


def test_what_is_released_lives_on_whatever_ralph_has_not_heard(
    watcher: Watcher, tmp_path: Path, alive: Alive, until: Until
) -> None:
    """A child run goes on beside its parent, whose program ended in the moment in which the session was cancelled."""
    script = [str(CHILDREN / "leaves_a_daemon.py"), str(tmp_path / "pid"), "clear"]
    argv = [os.fsencode(word) for word in (sys.executable, "-I", "-S", *script)]

    async def scenario() -> tuple[int, int]:
        with open(os.devnull, "r+b") as null:  # noqa: ASYNC230, PTH123
            keeper = await watcher.start((argv[0], argv, {}, b"/"), [null.fileno()] * 3)
        select.select([keeper.control], [], [], 60)  # that the program has ended stays unread
        keeper.release()
        return keeper.pid, int((tmp_path / "pid").read_text())

    keeper, daemon = asyncio.run(asyncio.wait_for(scenario(), 60))
    try:
        until(lambda: not alive(keeper))
        assert alive(daemon)
    finally:
        os.kill(daemon, signal.SIGKILL)


def test_a_program_without_its_keeper_is_still_ended_by_a_stop(
    kept: PosixProcessRunner, tmp_path: Path, alive: Alive, until: Until
) -> None:
    pids: list[int] = []

    async def scenario() -> Exit:
        stop: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def begin(running: Running) -> None:
            pids.append(running.pid)
            os.kill(keeper_of(running.pid), signal.SIGKILL)
            asyncio.get_running_loop().call_later(0.1, stop.set_result, None)

        return await kept.run(Command(argv=("sleep", "1000"), cwd=tmp_path), on_start=begin, stop=stop)

    exit_ = asyncio.run(asyncio.wait_for(scenario(), 30))
    assert (exit_.ending, exit_.code) == (Ending.STOPPED, -signal.SIGINT)
    assert not alive(pids[0])


def test_a_program_gets_the_signals_limits_and_folder_that_ralph_would_give_it(
    kept: PosixProcessRunner, tmp_path: Path
) -> None:
    own = PosixProcessRunner(run_id=RUN_ID, base_environment=os.environ)
    script = (
        "grep -E '^Sig(Ign|Blk)' /proc/self/status; umask; ulimit -a; pwd; ls -l /proc/self/fd | wc -l; tty"
    )
    said: list[list[bytes]] = [[], []]
    for runner, lines in zip((kept, own), said, strict=True):
        asyncio.run(runner.run(Command(argv=("sh", "-c", script), cwd=tmp_path), on_lines=lines.extend))
    assert said[0] == said[1]
    assert len(said[0]) > 5


def test_a_daemon_whose_first_thread_has_ended_is_ended_with_its_session(
    kept: PosixProcessRunner, child: Child, tmp_path: Path, alive: Alive
) -> None:
    exit_ = asyncio.run(kept.run(child("leaves_a_leaderless_daemon", tmp_path / "pid")))
    assert len(exit_.left_behind) == 1
    assert not alive(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize(
    "daemon",
    [
        pytest.param("leaves_a_daemon.py pid clear", id="without environment"),
        pytest.param("leaves_a_leaderless_daemon.py pid", id="without its first thread"),
        pytest.param("stops_its_keeper.py leaves_a_daemon.py pid clear", id="whose keeper is stopped"),
    ],
)
def test_when_ralph_is_killed_a_daemon_dies_too(
    tmp_path: Path, alive: Alive, until: Until, daemon: str
) -> None:
    os.mkfifo(tmp_path / "fifo")
    script, *arguments = daemon.split()
    agent = [sys.executable, str(CHILDREN / script), *arguments, "stay", "fifo"]
    small_ralph = subprocess.Popen(
        [sys.executable, CHILDREN / "runs_an_agent.py", f"{RUN_ID}-killed", *agent], cwd=tmp_path
    )
    try:
        pid_file = tmp_path / "pid"
        until(lambda: pid_file.exists() and bool(pid_file.read_text()))
        pid = int(pid_file.read_text())
        assert alive(pid)
        small_ralph.kill()
        small_ralph.wait()
        until(lambda: not alive(pid))
    finally:
        small_ralph.kill()
        small_ralph.wait()
        end_run_processes(f"{RUN_ID}-killed", grace=0.0)


def test_a_ralph_that_dies_while_its_agent_is_started_leaves_none(
    tmp_path: Path, alive: Alive, until: Until
) -> None:
    """At every moment: the watcher is there before the agent is."""
    for delay in range(0, 120, 8):
        run_id = f"{RUN_ID}-early-{delay}"
        small_ralph = subprocess.Popen(
            [sys.executable, CHILDREN / "dies_while_it_starts_an_agent.py", run_id, str(delay / 10)],
            cwd=tmp_path,
        )
        small_ralph.wait()
    until(lambda: all(not alive(int(file.name)) for file in tmp_path.glob("[0-9]*")))
