"""While a program runs, the next one's keeper has a process ready. Whatever becomes of it, nothing is lost or left."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from ralph.adapters.processes import keeper
from ralph.adapters.processes.ladder import Ladder
from ralph.adapters.processes.process_table import read_process, read_table
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.processes.watcher import Watcher
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
RUN_ID = f"spare-{os.getpid()}"


@pytest.fixture
def watcher(begin_watcher: BeginWatcher) -> Iterator[Watcher]:
    with begin_watcher(RUN_ID) as watcher:
        yield watcher


@pytest.fixture
def kept(watcher: Watcher) -> PosixProcessRunner:
    return PosixProcessRunner(run_id=RUN_ID, base_environment=os.environ, watcher=watcher)


def children_of(pid: int) -> list[int]:
    return [each.pid for each in read_table().values() if each.parent == pid and not each.is_zombie]


def spare_of(watcher: int, until: Until, *, beside: int = 0) -> tuple[int, int]:
    """The pids of a keeper that waits, and of what will be its program; ``beside`` is a keeper at work."""
    found: list[tuple[int, list[int]]] = []

    def is_there() -> bool:
        found[:] = [(each, children_of(each)) for each in children_of(watcher) if each != beside]
        return [len(roots) for _, roots in found] == [1]

    until(is_there)
    ((keeper, (root,)),) = found
    return keeper, root


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
    say("true")
    return spare_of(watcher.pid, until)


@pytest.mark.parametrize("name", ["/bin/missing", "a\0b"], ids=["no such program", "no name of a program"])
def test_after_a_program_that_could_not_be_started_there_is_a_spare_again(
    kept: PosixProcessRunner,
    tmp_path: Path,
    watcher: Watcher,
    spare: tuple[int, int],
    until: Until,
    name: str,
) -> None:
    ended = asyncio.run(kept.run(Command(argv=("sh", "-c", "true", name), cwd=tmp_path / "missing")))
    assert ended.error
    until(lambda: spare_of(watcher.pid, until) != spare)  # the old one may take a moment to end


def test_the_next_program_is_what_was_ready_for_it(say: Say, spare: tuple[int, int]) -> None:
    exit_, said = say("echo $PPID $$; exit 7")
    assert [*map(int, said[0].split())] == [*spare]
    assert exit_.code == 7


CHANGES = {
    "limits": (
        "for limit in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_CORE):\n"
        "    resource.prlimit(pid, limit, (20, 20))\n"
    ),
    "priority": "os.setpriority(os.PRIO_PROCESS, pid, 19)\n",
    "scheduler": "os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0))\n",
    "processors": "os.sched_setaffinity(pid, {min(os.sched_getaffinity(0))})\n",
    "score": "pathlib.Path(f'/proc/{pid}/oom_score_adj').write_text('1000')\n",
}


ALTERS = """import os, pathlib, resource, sys, time

def children(pid):
    return [int(each) for each in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

keeper = os.getppid()
watcher = int(pathlib.Path(f"/proc/{keeper}/stat").read_text().rpartition(")")[2].split()[1])
while not (ready := [(spare, *roots) for spare in children(watcher) if spare != keeper and (roots := children(spare))]):
    time.sleep(0.001)
((spare, root),) = ready
pid = {"keeper": keeper, "watcher": watcher, "spare": spare, "root": root}[sys.argv[1]]
"""


@pytest.mark.parametrize("whose", ["keeper", "watcher", "spare", "root"])
@pytest.mark.parametrize("change", CHANGES)
def test_no_program_inherits_what_an_earlier_one_did_to_whatever_starts_it(
    say: Say, tmp_path: Path, whose: str, change: str
) -> None:
    """The check that judges an agent, above all. ``root`` is what the spare keeper has ready."""
    (tmp_path / "alter.py").write_text(ALTERS + CHANGES[change])
    look = (
        "ulimit -a; cut -d' ' -f19,41 /proc/$$/stat; cat /proc/$$/oom_score_adj /proc/$$/cgroup; "
        "grep Cpus_allowed_list /proc/$$/status"
    )
    _, before = say(look)
    altered, _ = say(f"exec {sys.executable} -I -S alter.py {whose}")
    afterwards = [say(look)[1] for _ in range(3)]
    assert altered.code == 0
    assert len(before) > 10
    assert afterwards == [before] * 3


def test_a_keeper_keeps_one_program(say: Say) -> None:
    keepers = [int(said[0]) for _, said in (say("echo $PPID") for _ in range(4))]
    assert len({*keepers}) == len(keepers)


def test_a_program_that_is_cancelled_twice_is_all_that_is_ended(
    kept: PosixProcessRunner, watcher: Watcher, say: Say, alive: Alive, until: Until, tmp_path: Path
) -> None:
    pids: list[int] = []
    ready: list[tuple[int, int]] = []

    async def scenario() -> None:
        begun = asyncio.Event()
        command = Command(
            argv=("sh", "-c", "trap '' INT TERM; echo; while :; do sleep 0.05; done"), cwd=tmp_path
        )
        task = asyncio.ensure_future(
            kept.run(
                command,
                on_start=lambda running: pids.append(running.pid),
                on_lines=lambda lines: begun.set(),
            )
        )
        await begun.wait()
        process = read_process(pids[0])
        assert process is not None
        pids.append(process.parent)
        ready.append(spare_of(watcher.pid, until, beside=process.parent))
        for _ in range(2):
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(scenario(), 60))
    until(lambda: not any(map(alive, pids)))
    assert [tuple(map(int, line.split())) for line in say("echo $PPID $$")[1]] == ready


def test_a_program_that_could_not_be_ended_is_not_ended_by_its_keeper(
    watcher: Watcher, alive: Alive, until: Until, tmp_path: Path
) -> None:
    """It becomes ralph's child, as everything that outlives its keeper does."""
    runner = PosixProcessRunner(
        run_id=RUN_ID,
        base_environment=os.environ,
        watcher=watcher,
        ladder=Ladder(interrupt=0.01, terminate=0.01),
        exempt=lambda pid: True,
    )
    pids: list[int] = []

    async def scenario() -> Exit:
        stop: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def begin(running: Running) -> None:
            process = read_process(running.pid)
            assert process is not None
            pids.extend((running.pid, process.parent))
            stop.set_result(None)

        return await runner.run(Command(argv=("sleep", "1000"), cwd=tmp_path), on_start=begin, stop=stop)

    exit_ = asyncio.run(asyncio.wait_for(scenario(), 60))
    program, keeper = pids
    try:
        assert "could not be ended" in exit_.error
        until(lambda: not alive(keeper))
        assert alive(program)
    finally:
        os.kill(program, signal.SIGKILL)
        until(lambda: not alive(program))


def test_a_spare_whose_watcher_was_killed_is_nobodys_leftover(
    kept: PosixProcessRunner, watcher: Watcher, say: Say, alive: Alive, until: Until, tmp_path: Path
) -> None:
    """It is ralph's child then, as is what a program without a keeper leaves behind."""
    ready: list[tuple[int, int]] = []

    def kill(running: Running) -> None:
        process = read_process(running.pid)
        assert process is not None
        ready.append(spare_of(watcher.pid, until, beside=process.parent))
        for pid in (watcher.pid, process.parent):
            os.kill(pid, signal.SIGKILL)
            until(lambda: not alive(pid))  # noqa: B023

    exit_ = asyncio.run(kept.run(Command(argv=("sleep", "0.2"), cwd=tmp_path), on_start=kill))
    assert (exit_.code, exit_.left_behind) == (0, ())
    assert [tuple(map(int, line.split())) for line in say("echo $PPID $$")[1]] == ready


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


@pytest.mark.parametrize("stopped", [(), (1,), (0,), (0, 1)], ids=["there", "stopped", "keeper", "both"])
def test_when_the_run_is_over_a_spare_without_its_watcher_is_not_left(
    say: Say, watcher: Watcher, spare: tuple[int, int], alive: Alive, until: Until, stopped: tuple[int, ...]
) -> None:
    os.kill(watcher.pid, signal.SIGKILL)
    for which in stopped:
        os.kill(spare[which], signal.SIGSTOP)
    watcher.close()
    until(lambda: not any(map(alive, spare)))


def test_a_program_that_was_stopped_while_its_keeper_was_killed_is_started_once_by_another(
    kept: PosixProcessRunner,
    say: Say,
    spare: tuple[int, int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(keeper, "BEGIN_SECONDS", 0.05)
    ask = keeper._ask
    os.kill(spare[1], signal.SIGSTOP)

    async def scenario() -> Exit:
        is_asked = asyncio.Event()

        def asking(gate: socket.socket, request: keeper.Request, standard: Sequence[int]) -> None:
            ask(gate, request, standard)
            is_asked.set()

        monkeypatch.setattr(keeper, "_ask", asking)
        command = Command(argv=("sh", "-c", "echo once >> said; exit 5"), cwd=tmp_path)
        running = asyncio.ensure_future(kept.run(command, timeouts=Timeouts(60)))
        await is_asked.wait()
        os.kill(spare[0], signal.SIGKILL)
        return await running

    exit_ = asyncio.run(asyncio.wait_for(scenario(), 60))
    assert (exit_.ending, exit_.code) == (Ending.EXITED, 5)
    assert say("cat said")[1] == [b"once"]


def test_the_spare_outlives_its_watcher_and_then_there_is_another(
    say: Say, watcher: Watcher, spare: tuple[int, int], alive: Alive, until: Until
) -> None:
    killed = watcher.pid
    os.kill(killed, signal.SIGKILL)
    until(lambda: not alive(killed))
    assert int(say("echo $PPID")[1][0]) == spare[0]
    assert watcher.pid == killed
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
        pids = [watcher, *spare_of(watcher, until)]
        small_ralph.kill()
        until(lambda: not any(map(alive, pids)))
    finally:
        small_ralph.kill()
        small_ralph.communicate()


def test_when_the_run_is_over_no_spare_is_left(
    begin_watcher: BeginWatcher, alive: Alive, until: Until, tmp_path: Path
) -> None:
    with begin_watcher(RUN_ID) as watcher:
        runner = PosixProcessRunner(run_id=RUN_ID, base_environment=os.environ, watcher=watcher)
        asyncio.run(runner.run(Command(argv=("true",), cwd=tmp_path)))
        pids = [watcher.pid, *spare_of(watcher.pid, until)]
    until(lambda: not any(map(alive, pids)))


def test_a_spare_holds_nothing_of_ralphs(spare: tuple[int, int], until: Until) -> None:
    """Soon: it is there before it has closed what its keeper alone is to have."""
    keeper, root = spare
    until(lambda: sorted(held_by(root)) == [*["/dev/null"] * 3, "socket"])
    wakes = (["anon_inode"], ["pipe", "pipe"])  # the compiled one has a signalfd, the other a pipe to itself
    until(
        lambda: sorted(held_by(keeper)) in [sorted([*["/dev/null"] * 3, "socket", *each]) for each in wakes]
    )


def held_by(pid: int) -> list[str]:
    """What its descriptors are; one that is closed meanwhile does not count."""
    found: list[str] = []
    for path in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            found.append(str(path.readlink()).partition(":")[0])
    return found


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


def test_many_at_once_have_a_keeper_each_and_one_is_there_for_the_next(
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
