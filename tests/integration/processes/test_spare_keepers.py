"""A keeper whose program left nothing has the next one's process ready. Whatever becomes of it, nothing is lost or left."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ralph.adapters.processes.process_table import read_table
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.processes.watcher import Watcher, start_watcher
from ralph.domain.loop.session_report import Ending
from ralph.engine.ports import Command, Exit, Timeouts

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process adopt")

Child = Callable[..., Command]
Alive = Callable[[int], bool]
Until = Callable[[Callable[[], bool]], None]
CHILDREN = Path(__file__).parents[2] / "data" / "processes"
RUN_ID = f"spare-{os.getpid()}"


@pytest.fixture
def watcher() -> Iterator[Watcher]:
    with start_watcher(RUN_ID) as watcher:
        yield watcher


@pytest.fixture
def kept(watcher: Watcher) -> PosixProcessRunner:
    return PosixProcessRunner(run_id=RUN_ID, base_environment=os.environ, watcher=watcher)


def children_of(pid: int) -> list[int]:
    return [each.pid for each in read_table().values() if each.parent == pid and not each.is_zombie]


@pytest.fixture
def say(kept: PosixProcessRunner, tmp_path: Path) -> Callable[[str], tuple[Exit, list[bytes]]]:
    """Runs a shell script, and hears what it says."""

    def run(script: str) -> tuple[Exit, list[bytes]]:
        lines: list[bytes] = []
        command = Command(argv=("sh", "-c", script), cwd=tmp_path)
        return asyncio.run(kept.run(command, on_lines=lines.extend, timeouts=Timeouts(60))), lines

    return run


Say = Callable[[str], tuple[Exit, list[bytes]]]


@pytest.fixture
def spare(say: Say, watcher: Watcher, until: Until) -> tuple[int, int]:
    """The pids of a keeper that waits, and of what will be its next program."""
    say("true")
    (keeper,) = children_of(watcher.pid)
    until(lambda: bool(children_of(keeper)))
    (root,) = children_of(keeper)
    return keeper, root


def test_the_next_program_is_what_was_ready_for_it(say: Say, spare: tuple[int, int]) -> None:
    exit_, said = say("echo $PPID $$; exit 7")
    assert [*map(int, said[0].split())] == [*spare]
    assert exit_.code == 7


def test_a_keeper_whose_program_left_something_keeps_no_other(
    kept: PosixProcessRunner, child: Child, say: Say, spare: tuple[int, int], tmp_path: Path
) -> None:
    left = asyncio.run(kept.run(child("leaves_a_daemon", tmp_path / "pid", "clear"))).left_behind
    _, said = say("echo $PPID")
    assert len(left) == 1
    assert int(said[0]) != spare[0]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
@pytest.mark.parametrize("which", [0, 1], ids=["keeper", "program"])
def test_a_spare_that_was_ended_or_stopped_costs_no_program(
    say: Say, spare: tuple[int, int], alive: Alive, until: Until, which: int, number: signal.Signals
) -> None:
    """Whether it is noticed before or after it is asked."""
    os.kill(spare[which], number)
    if number is signal.SIGKILL:
        until(lambda: not alive(spare[which]))
    exit_, said = say("echo once >> said; echo here; exit 5")
    assert (exit_.ending, exit_.code, said) == (Ending.EXITED, 5, [b"here"])
    assert say("cat said")[1] == [b"once"]


def test_the_spare_outlives_its_watcher_and_then_there_is_another(
    say: Say, watcher: Watcher, spare: tuple[int, int], alive: Alive, until: Until
) -> None:
    killed = watcher.pid
    os.kill(killed, signal.SIGKILL)
    until(lambda: not alive(killed))
    assert int(say("echo $PPID")[1][0]) == spare[0]
    assert watcher.pid == killed
    os.kill(spare[0], signal.SIGKILL)
    until(lambda: not alive(spare[0]))
    assert say("exit 3")[0].code == 3
    assert watcher.pid != killed


def test_when_ralph_is_killed_no_spare_is_left(tmp_path: Path, alive: Alive, until: Until) -> None:
    small_ralph = subprocess.Popen(
        [sys.executable, CHILDREN / "waits_with_a_spare_keeper.py", f"{RUN_ID}-killed"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert small_ralph.stdout is not None
        watcher = int(small_ralph.stdout.readline())
        (keeper,) = children_of(watcher)
        until(lambda: bool(children_of(keeper)))
        pids = [watcher, keeper, *children_of(keeper)]
        small_ralph.kill()
        until(lambda: not any(map(alive, pids)))
    finally:
        small_ralph.kill()
        small_ralph.communicate()


def test_when_the_run_is_over_no_spare_is_left(alive: Alive, until: Until, tmp_path: Path) -> None:
    with start_watcher(RUN_ID) as watcher:
        runner = PosixProcessRunner(run_id=RUN_ID, base_environment=os.environ, watcher=watcher)
        asyncio.run(runner.run(Command(argv=("true",), cwd=tmp_path)))
        (keeper,) = children_of(watcher.pid)
        until(lambda: bool(children_of(keeper)))
        pids = [watcher.pid, keeper, *children_of(keeper)]
    until(lambda: not any(map(alive, pids)))


def test_a_spare_holds_nothing_of_ralphs(spare: tuple[int, int]) -> None:
    keeper, root = ([str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir()] for pid in spare)
    assert root.count("/dev/null") == 3
    assert [name.partition(":")[0] for name in root if name != "/dev/null"] == ["socket"]
    assert {name.partition(":")[0] for name in keeper} == {"/dev/null", "socket", "pipe"}


def test_a_program_gets_three_descriptors_and_its_own_environment(
    say: Say, spare: tuple[int, int], kept: PosixProcessRunner, tmp_path: Path
) -> None:
    assert say("ls /proc/$$/fd")[1] == [b"0", b"1", b"2"]
    said: list[bytes] = []
    for name in ("FIRST", "SECOND"):
        command = Command(argv=("env",), cwd=tmp_path, environment={name: name})
        asyncio.run(kept.run(command, on_lines=said.extend))
    assert [line for line in said if line in (b"FIRST=FIRST", b"SECOND=SECOND")] == [
        b"FIRST=FIRST",
        b"SECOND=SECOND",
    ]


def test_a_request_that_no_message_can_hold_arrives(kept: PosixProcessRunner, tmp_path: Path) -> None:
    large = {f"LARGE_{number}": "x" * 100_000 for number in range(8)}
    said: list[bytes] = []
    for _ in range(2):
        command = Command(argv=("sh", "-c", "echo ${#LARGE_7}"), cwd=tmp_path, environment=large)
        asyncio.run(kept.run(command, on_lines=said.extend))
    assert said == [b"100000"] * 2


def test_after_a_program_that_cannot_be_started_the_next_one_can(
    say: Say, kept: PosixProcessRunner, spare: tuple[int, int], tmp_path: Path
) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    failed = asyncio.run(kept.run(Command(argv=(str(script),), cwd=tmp_path)))
    assert failed.ending is Ending.NOT_STARTED
    assert "interpreter" in failed.error
    assert say("echo well")[1] == [b"well"]


def test_many_at_once_have_a_keeper_each_and_one_stays(
    kept: PosixProcessRunner, watcher: Watcher, child: Child, tmp_path: Path, until: Until
) -> None:
    """Also of those that were waiting for each other's start."""

    async def all_of_them() -> list[Exit]:
        runs = (kept.run(child("leaves_a_daemon", tmp_path / str(each), "clear")) for each in range(12))
        quick = (kept.run(Command(argv=("sh", "-c", f"exit {each}"), cwd=tmp_path)) for each in range(12))
        return await asyncio.gather(*runs, *quick)

    for _ in range(2):
        exits = asyncio.run(asyncio.wait_for(all_of_them(), 120))
        pids = [int((tmp_path / str(each)).read_text()) for each in range(12)]
        assert [exit_.left_behind for exit_ in exits[:12]] == [(f"sleep 1000 (pid {pid})",) for pid in pids]
        assert [exit_.code for exit_ in exits[12:]] == [*range(12)]
    until(lambda: len(children_of(watcher.pid)) == 1)


def test_a_run_of_many_programs_keeps_no_descriptor_of_them(say: Say, spare: tuple[int, int]) -> None:
    before = len([*Path("/proc/self/fd").iterdir()])
    for _ in range(20):
        assert say("exit 0")[0].code == 0
    assert len([*Path("/proc/self/fd").iterdir()]) == before


def test_many_that_find_their_watcher_killed_get_one_new_one(
    kept: PosixProcessRunner, watcher: Watcher, alive: Alive, until: Until, tmp_path: Path
) -> None:
    killed = watcher.pid
    os.kill(killed, signal.SIGKILL)
    until(lambda: not alive(killed))

    async def all_of_them() -> list[Exit]:
        runs = (kept.run(Command(argv=("sh", "-c", f"exit {each}"), cwd=tmp_path)) for each in range(12))
        return await asyncio.gather(*runs)

    exits = asyncio.run(asyncio.wait_for(all_of_them(), 120))
    assert [exit_.code for exit_ in exits] == [*range(12)]
    assert watcher.pid != killed
    until(lambda: len(children_of(watcher.pid)) == 1)
