"""How processes end, and what is left of them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ralph.adapters.processes.adoption import reap_orphans
from ralph.adapters.processes.ladder import Ladder
from ralph.adapters.processes.process_table import read_process, read_table
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.domain.loop.session_report import Ending
from ralph.engine.ports import Command, Exit, Running, Timeouts

Child = Callable[..., Command]
Alive = Callable[[int], bool]
Until = Callable[[Callable[[], bool]], None]


def finish_when_ready(event: asyncio.Event) -> Callable[[list[bytes]], None]:
    return lambda lines: event.set()


def test_a_process_that_ignores_signals_is_killed_at_the_end_of_the_ladder(
    runner: PosixProcessRunner, child: Child, alive: Alive
) -> None:
    pids: list[int] = []

    async def scenario() -> Exit:
        ready = asyncio.Event()
        return await runner.run(
            child("ignores_signals"),
            on_start=lambda running: pids.append(running.pid),
            on_lines=finish_when_ready(ready),
            stop=ready.wait(),
        )

    exit_ = asyncio.run(scenario())
    assert (exit_.ending, exit_.code, exit_.left_behind) == (Ending.STOPPED, -9, ())
    assert exit_.seconds >= 0.4  # both lower steps were given their time
    assert not alive(pids[0])


def test_the_ladder_begins_with_an_interrupt(runner: PosixProcessRunner, child: Child) -> None:
    exit_ = asyncio.run(runner.run(child("goes_silent"), timeouts=Timeouts(idle=0.2)))
    # Python turns SIGINT into an exit by that signal.
    assert (exit_.ending, exit_.code) == (Ending.IDLE, -2)


def test_silence_is_ended_by_the_idle_timeout(runner: PosixProcessRunner, child: Child) -> None:
    lines: list[bytes] = []
    exit_ = asyncio.run(
        runner.run(child("goes_silent"), timeouts=Timeouts(idle=0.3, total=20), on_lines=lines.extend)
    )
    assert exit_.ending is Ending.IDLE
    assert lines == [b"hello"]


def test_output_on_either_stream_is_no_silence(runner: PosixProcessRunner, tmp_path: Path) -> None:
    script = "for i in 1 2 3 4 5 6; do sleep 0.1; echo $i >&2; done"
    exit_ = asyncio.run(
        runner.run(Command(argv=("sh", "-c", script), cwd=tmp_path), timeouts=Timeouts(idle=0.5))
    )
    assert (exit_.ending, exit_.code) == (Ending.EXITED, 0)
    assert exit_.seconds > 0.5


def test_a_process_that_closes_its_output_and_stays_is_idle(runner: PosixProcessRunner, child: Child) -> None:
    lines: list[bytes] = []
    exit_ = asyncio.run(
        runner.run(child("closes_stdout"), timeouts=Timeouts(idle=0.3), on_lines=lines.extend)
    )
    assert exit_.ending is Ending.IDLE
    assert lines == [b"last words"]


def test_talking_does_not_help_against_the_total_timeout(runner: PosixProcessRunner, tmp_path: Path) -> None:
    exit_ = asyncio.run(
        runner.run(Command(argv=("yes",), cwd=tmp_path), timeouts=Timeouts(total=0.3, idle=5))
    )
    assert exit_.ending is Ending.TIMED_OUT
    assert 0.3 <= exit_.seconds < 5


def test_a_stop_that_came_before_the_start_starts_nothing(runner: PosixProcessRunner, tmp_path: Path) -> None:
    async def scenario() -> Exit:
        stop: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        stop.set_result(None)
        return await runner.run(Command(argv=("touch", "started"), cwd=tmp_path), stop=stop)

    exit_ = asyncio.run(scenario())
    assert (exit_.ending, exit_.code) == (Ending.STOPPED, None)
    assert list(tmp_path.iterdir()) == []


def test_a_shared_stop_is_not_cancelled_by_a_process_that_ends_first(
    runner: PosixProcessRunner, tmp_path: Path
) -> None:
    async def scenario() -> bool:
        stop: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        await runner.run(Command(argv=("true",), cwd=tmp_path), stop=stop)
        return stop.done()

    assert asyncio.run(scenario()) is False


def test_the_users_stop_outranks_a_timeout_that_is_under_way(
    make_runner: Callable[..., PosixProcessRunner], child: Child
) -> None:
    runner = make_runner(ladder=Ladder(interrupt=0.5, terminate=0.2))

    async def scenario() -> Exit:
        stop: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def begin(running: Running) -> None:
            asyncio.get_running_loop().call_later(0.4, stop.set_result, None)

        return await runner.run(
            child("ignores_signals"), timeouts=Timeouts(total=0.2), on_start=begin, stop=stop
        )

    assert asyncio.run(scenario()).ending is Ending.STOPPED


def test_a_lingering_agent_is_ended_as_if_it_had_exited(runner: PosixProcessRunner, child: Child) -> None:
    running: list[Running] = []
    exit_ = asyncio.run(
        runner.run(
            child("goes_silent"),
            timeouts=Timeouts(total=20),
            on_start=running.append,
            on_lines=lambda lines: running[0].finish_within(0.1),
        )
    )
    assert (exit_.ending, exit_.code) == (Ending.EXITED, -2)


def test_an_end_that_was_taken_back_does_not_come(runner: PosixProcessRunner, child: Child) -> None:
    running: list[Running] = []

    def take(lines: list[bytes]) -> None:
        running[0].finish_within(0.1)
        running[0].finish_within(None)

    exit_ = asyncio.run(
        runner.run(child("goes_silent"), timeouts=Timeouts(total=0.6), on_start=running.append, on_lines=take)
    )
    assert exit_.ending is Ending.TIMED_OUT


def test_a_daemon_that_left_the_group_is_ended_and_named(
    runner: PosixProcessRunner, child: Child, tmp_path: Path, alive: Alive
) -> None:
    exit_ = asyncio.run(runner.run(child("leaves_a_daemon", tmp_path / "pid")))
    pid = int((tmp_path / "pid").read_text())
    assert (exit_.ending, exit_.code) == (Ending.EXITED, 0)
    assert exit_.left_behind == (f"sleep 1000 (pid {pid})",)
    assert not alive(pid)
    assert exit_.seconds < 5


def test_a_daemon_that_cleared_its_environment_is_ended_when_nobody_else_is_there(
    runner: PosixProcessRunner, child: Child, tmp_path: Path, alive: Alive
) -> None:
    exit_ = asyncio.run(runner.run(child("leaves_a_daemon", tmp_path / "pid", "clear")))
    pid = int((tmp_path / "pid").read_text())
    assert exit_.left_behind == (f"sleep 1000 (pid {pid})",)
    assert not alive(pid)


def test_a_registered_child_run_is_left_alone(
    make_runner: Callable[..., PosixProcessRunner], child: Child, tmp_path: Path, alive: Alive, until: Until
) -> None:
    file = tmp_path / "pid"
    runner = make_runner(exempt=lambda pid: file.exists() and pid == int(file.read_text()))
    exit_ = asyncio.run(runner.run(child("leaves_a_daemon", file)))
    pid = int(file.read_text())
    try:
        assert exit_.left_behind == ()
        assert alive(pid)
    finally:
        os.kill(pid, 9)
        until(lambda: not alive(pid))
        reap_orphans()  # it had become our child


def test_a_grandchild_that_holds_the_pipe_delays_the_end_only_for_a_moment(
    make_runner: Callable[..., PosixProcessRunner], child: Child, tmp_path: Path, alive: Alive
) -> None:
    lines: list[bytes] = []
    runner = make_runner(linger=0.2)
    began = time.monotonic()
    exit_ = asyncio.run(runner.run(child("holds_the_pipe", tmp_path / "pid"), on_lines=lines.extend))
    assert time.monotonic() - began < 10
    pid = int((tmp_path / "pid").read_text())
    assert (exit_.ending, exit_.code) == (Ending.EXITED, 0)
    assert lines == [b"root is done"]
    assert exit_.left_behind == (f"sleep 1000 (pid {pid})",)
    assert not alive(pid)


def test_the_ladder_reaches_tool_shells_in_their_own_session(
    runner: PosixProcessRunner, child: Child, tmp_path: Path, alive: Alive, until: Until
) -> None:
    async def scenario() -> Exit:
        shells_are_open = asyncio.to_thread(until, (tmp_path / "agent").exists)
        return await runner.run(
            child("opens_shells", tmp_path), stop=shells_are_open, timeouts=Timeouts(total=20)
        )

    exit_ = asyncio.run(scenario())
    assert exit_.ending is Ending.STOPPED
    pids = {name: int((tmp_path / name).read_text()) for name in ("agent", "shell", "daemon")}
    assert {name: alive(pid) for name, pid in pids.items()} == dict.fromkeys(pids, False)


def test_two_spawns_at_a_time_do_not_end_each_others_descendants(
    runner: PosixProcessRunner, each_ends_its_own: Callable[..., None]
) -> None:
    each_ends_its_own(runner)


def test_reaping_orphans_does_not_take_the_exit_code_of_a_spawn(
    runner: PosixProcessRunner, tmp_path: Path, alive: Alive, until: Until
) -> None:
    def reap_before_the_loop_does(running: Running) -> None:
        until(lambda: not alive(running.pid))
        reap_orphans()

    exit_ = asyncio.run(
        runner.run(Command(argv=("sh", "-c", "exit 5"), cwd=tmp_path), on_start=reap_before_the_loop_does)
    )
    assert exit_.code == 5


def test_many_spawns_at_a_time_keep_their_own_exit_codes(runner: PosixProcessRunner, tmp_path: Path) -> None:
    async def scenario() -> list[Exit]:
        # Each leaves an orphan that dies by itself and must be reaped without taking a neighbour's status.
        return await asyncio.gather(
            *(
                runner.run(Command(argv=("sh", "-c", f"(sleep 0.05 &) ; exit {code}"), cwd=tmp_path))
                for code in range(20)
            )
        )

    assert [exit_.code for exit_ in asyncio.run(scenario())] == list(range(20))


@pytest.mark.parametrize("times", [1, 2])
def test_cancelling_ends_the_tree(
    runner: PosixProcessRunner, child: Child, tmp_path: Path, alive: Alive, until: Until, times: int
) -> None:
    async def scenario() -> float:
        running = asyncio.ensure_future(runner.run(child("opens_shells", tmp_path)))
        await asyncio.to_thread(until, (tmp_path / "agent").exists)
        began = time.monotonic()
        for _ in range(times):
            running.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await running
        return time.monotonic() - began

    assert asyncio.run(asyncio.wait_for(scenario(), 30)) < 5
    for name in ("agent", "shell", "daemon"):
        assert not alive(int((tmp_path / name).read_text()))


def test_orphans_that_die_while_the_agent_works_do_not_stay_as_zombies(
    runner: PosixProcessRunner, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ralph.adapters.processes.runner._REAP_EVERY", 0.05)
    script = "for i in 1 2 3 4 5; do (setsid sh -c 'echo $$ >> orphans' &); done; echo done; cat fifo"
    os.mkfifo(tmp_path / "fifo")
    orphans = tmp_path / "orphans"

    def are_gone() -> bool:
        """Only these: what another test left in this process is not the runner's to reap."""
        pids = orphans.read_text().split() if orphans.exists() else []
        return len(pids) == 5 and all(read_process(int(pid)) is None for pid in pids)

    async def scenario() -> None:
        ready = asyncio.Event()
        command = Command(argv=("sh", "-c", script), cwd=tmp_path)
        running = asyncio.ensure_future(runner.run(command, on_lines=finish_when_ready(ready)))
        await ready.wait()
        await asyncio.to_thread(until, are_gone)
        assert not running.done()
        with (tmp_path / "fifo").open("wb") as file:
            file.write(b"x")
        assert (await running).code == 0

    asyncio.run(asyncio.wait_for(scenario(), 20))


def test_where_the_system_has_no_pidfd_a_thread_waits(
    runner: PosixProcessRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    lines: list[bytes] = []
    exit_ = asyncio.run(
        runner.run(Command(argv=("sh", "-c", "echo hi; exit 7"), cwd=tmp_path), on_lines=lines.extend)
    )
    assert (exit_.code, lines) == (7, [b"hi"])


def test_every_step_of_the_ladder_reaches_who_left_the_group(
    runner: PosixProcessRunner, child: Child, tmp_path: Path
) -> None:
    async def scenario() -> Exit:
        ready = asyncio.Event()
        return await runner.run(
            child("notes_signals", tmp_path / "notes"),
            on_lines=finish_when_ready(ready),
            stop=ready.wait(),
        )

    exit_ = asyncio.run(scenario())
    assert (exit_.ending, exit_.code, exit_.left_behind) == (Ending.STOPPED, -9, ())
    assert (tmp_path / "notes").read_text().split() == ["2", "15"]


def test_a_registered_child_run_in_the_same_group_survives_the_ladder(
    make_runner: Callable[..., PosixProcessRunner], tmp_path: Path, alive: Alive, until: Until
) -> None:
    file = tmp_path / "pid"
    runner = make_runner(exempt=lambda pid: pid == int(file.read_text()))
    script = "sleep 1000 > /dev/null 2>&1 & echo $! > pid; echo ready; wait"

    async def scenario() -> Exit:
        ready = asyncio.Event()
        return await runner.run(
            Command(argv=("sh", "-c", script), cwd=tmp_path),
            on_lines=finish_when_ready(ready),
            stop=ready.wait(),
        )

    exit_ = asyncio.run(scenario())
    pid = int(file.read_text())
    try:
        assert (exit_.ending, exit_.left_behind) == (Ending.STOPPED, ())
        assert alive(pid)
    finally:
        os.kill(pid, 9)
        until(lambda: not alive(pid))
        reap_orphans()


def test_a_daemon_is_found_by_its_mark_where_orphans_cannot_be_adopted(
    runner: PosixProcessRunner, child: Child, tmp_path: Path, alive: Alive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ralph.adapters.processes.adoption.adopt_orphans", lambda: False)
    exit_ = asyncio.run(runner.run(child("leaves_a_daemon", tmp_path / "pid")))
    pid = int((tmp_path / "pid").read_text())
    assert exit_.left_behind == (f"sleep 1000 (pid {pid})",)
    assert not alive(pid)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("is_listed", [True, False], ids=["with the kernel's list", "without it"])
def test_a_daemon_is_found_with_and_without_the_kernels_list_of_children(
    runner: PosixProcessRunner,
    child: Child,
    tmp_path: Path,
    alive: Alive,
    monkeypatch: pytest.MonkeyPatch,
    is_listed: bool,
) -> None:
    def children() -> list[int] | None:
        own = os.getpid()
        return [p.pid for p in read_table().values() if p.parent == own] if is_listed else None

    monkeypatch.setattr("ralph.adapters.processes.descendants.own_children", children)
    exit_ = asyncio.run(runner.run(child("leaves_a_daemon", tmp_path / "pid")))
    pid = int((tmp_path / "pid").read_text())
    assert exit_.left_behind == (f"sleep 1000 (pid {pid})",)
    assert not alive(pid)


@pytest.mark.parametrize("watcher_of_runner", ["direct"], indirect=True)
def test_a_lost_exit_status_is_not_taken_for_success(runner: PosixProcessRunner, tmp_path: Path) -> None:
    def steal(running: Running) -> None:
        os.waitpid(running.pid, 0)

    exit_ = asyncio.run(runner.run(Command(argv=("false",), cwd=tmp_path), on_start=steal))
    assert exit_.code is None
    assert "exit status was lost" in exit_.error


def test_exit_codes_survive_a_caller_that_ignores_the_death_of_children(tmp_path: Path) -> None:
    program = """
import asyncio, os, sys
from pathlib import Path
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.engine.ports import Command
runner = PosixProcessRunner(run_id="r", base_environment=os.environ)
exit_ = asyncio.run(runner.run(Command(argv=("sh", "-c", "exit 3"), cwd=Path.cwd())))
sys.exit(40 + exit_.code if exit_.code is not None else 1)
"""
    script = 'trap "" CHLD; exec "$0" -c "$1"'
    ignoring = subprocess.run(
        ["sh", "-c", script, sys.executable, program], cwd=tmp_path, check=False, timeout=20
    )
    assert ignoring.returncode == 43
