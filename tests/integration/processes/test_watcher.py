"""What happens to a run's processes when ralph itself is killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ralph.adapters.processes.process_table import variable
from ralph.adapters.processes.watcher import Watcher, end_run_processes

CHILDREN = Path(__file__).parents[2] / "data" / "processes"

BeginWatcher = Callable[[str], Watcher]
Alive = Callable[[int], bool]
Until = Callable[[Callable[[], bool]], None]


@pytest.fixture
def run_id(tmp_path: Path) -> str:
    return f"watched-{os.getpid()}-{time.monotonic_ns()}"


@pytest.fixture
def small_ralph(
    begin_watcher: BeginWatcher, run_id: str, tmp_path: Path, until: Until
) -> Iterator[subprocess.Popen[bytes]]:
    """A process with runner and watcher whose agent has opened its shells."""
    agent = [sys.executable, str(CHILDREN / "opens_shells.py"), str(tmp_path)]
    process = subprocess.Popen([sys.executable, CHILDREN / "runs_an_agent.py", run_id, *agent], cwd=tmp_path)
    try:
        until((tmp_path / "agent").exists)
        yield process
    finally:
        process.kill()
        process.wait()
        end_run_processes(run_id, grace=0.0)


def marked(run_id: str, alive: Alive) -> list[int]:
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    return [pid for pid in pids if variable(pid, "RALPH_RUN_ID") == run_id and alive(pid)]


def test_when_ralph_is_killed_everything_of_its_run_dies(
    small_ralph: subprocess.Popen[bytes], run_id: str, tmp_path: Path, alive: Alive, until: Until
) -> None:
    pids = [int((tmp_path / name).read_text()) for name in ("agent", "shell", "daemon")]
    assert all(map(alive, pids))
    small_ralph.kill()
    small_ralph.wait()
    until(lambda: not any(map(alive, pids)))
    until(lambda: marked(run_id, alive) == [])


def test_a_run_that_took_its_leave_is_not_cleaned_up_by_the_watcher(
    begin_watcher: BeginWatcher, run_id: str, alive: Alive, until: Until
) -> None:
    other = subprocess.Popen(["sleep", "1000"], env={**os.environ, "RALPH_RUN_ID": run_id})
    try:
        with begin_watcher(run_id) as watcher:
            assert alive(watcher.pid)
        until(lambda: not alive(watcher.pid))
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere each run has a watcher of its own")
@pytest.mark.usefixtures("begin_watcher")
def test_a_watcher_that_runs_share_ends_what_is_left_of_each_that_has_not_ended(
    run_id: str, alive: Alive, until: Until
) -> None:
    runs = [run_id, f"{run_id}-part", f"{run_id}-ended"]
    left = [
        subprocess.Popen(["sleep", "1000"], env={**os.environ, "RALPH_RUN_ID": name}, start_new_session=True)
        for name in runs
    ]
    ralph = subprocess.Popen(
        [sys.executable, CHILDREN / "shares_its_watcher.py", *runs], stdout=subprocess.PIPE, text=True
    )
    try:
        assert ralph.stdout is not None
        watcher = int(ralph.stdout.readline())
        assert all(process.poll() is None for process in left)
        ralph.kill()
        until(lambda: not alive(watcher))
        assert [process.poll() for process in left] == [-signal.SIGTERM, -signal.SIGTERM, None]
    finally:
        ralph.kill()
        ralph.communicate()
        for process in left:
            process.kill()
            process.wait()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere each run has a watcher of its own")
@pytest.mark.usefixtures("begin_watcher")
def test_a_run_that_a_stopped_watcher_cannot_be_told_of_is_watched_by_another(
    run_id: str, alive: Alive, until: Until
) -> None:
    runs = [f"{run_id}-{number}" for number in range(1000)]
    last = subprocess.Popen(
        ["sleep", "1000"], env={**os.environ, "RALPH_RUN_ID": runs[-1]}, start_new_session=True
    )
    ralph = subprocess.Popen(
        [sys.executable, CHILDREN / "shares_a_stopped_watcher.py", *runs], stdout=subprocess.PIPE, text=True
    )
    try:
        assert ralph.stdout is not None
        stopped, second = map(int, ralph.stdout.readline().split())
        assert second != stopped
        assert not alive(stopped)  # continued, it would take ralph for dead
        assert last.poll() is None
        ralph.kill()
        until(lambda: not alive(second))
        assert last.poll() == -signal.SIGTERM
    finally:
        ralph.kill()
        ralph.communicate()
        last.kill()
        last.wait()


def ignored_signals(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("SigIgn:"):
            return int(line.split()[1], 16)
    raise AssertionError("no SigIgn")


@pytest.fixture
def watcher(begin_watcher: BeginWatcher, run_id: str) -> Iterator[Watcher]:
    with begin_watcher(run_id) as watcher:
        yield watcher


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_watcher_is_nobodys_child_to_be_killed_with(
    watcher: Watcher, run_id: str, alive: Alive, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        until(lambda: bool(ignored_signals(watcher.pid) & (1 << (number - 1))))  # noqa: B023
        os.kill(watcher.pid, number)
    assert os.getsid(watcher.pid) == watcher.pid
    assert variable(watcher.pid, "RALPH_RUN_ID") is None
    targets = {path.readlink() for path in Path(f"/proc/{watcher.pid}/fd").iterdir() if path.name in "12"}
    assert targets == {Path("/dev/null")}
    assert alive(watcher.pid)


def _open_files(pid: int) -> set[str]:
    """A program on its way up opens and closes files while one looks."""
    found: set[str] = set()
    for path in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.add(str(path.readlink()))
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_no_other_child_holds_the_watchers_socket(watcher: Watcher) -> None:
    child = subprocess.Popen(["sleep", "1000"], close_fds=False)
    try:
        sockets = {name for name in _open_files(watcher.pid) if name.startswith("socket:")}
        assert sockets
        assert not sockets & _open_files(child.pid)
    finally:
        child.kill()
        child.wait()


def test_closing_twice_is_harmless(begin_watcher: BeginWatcher, run_id: str) -> None:
    watcher = begin_watcher(run_id)
    watcher.close()
    watcher.close()


def test_a_stale_runs_processes_are_ended_and_nobody_elses(run_id: str, alive: Alive) -> None:
    ready, tell = os.pipe()
    script = "trap '' TERM; echo; while :; do sleep 1000; done"
    stale = subprocess.Popen(
        ["sh", "-c", script], env={**os.environ, "RALPH_RUN_ID": run_id}, stdout=tell, start_new_session=True
    )
    other = subprocess.Popen(["sleep", "1000"], env={**os.environ, "RALPH_RUN_ID": f"{run_id}0"})
    try:
        os.close(tell)
        os.read(ready, 1)
        ended = end_run_processes(run_id, grace=0.1)
        assert stale.pid in ended
        assert stale.wait(5) == -signal.SIGKILL
        assert other.poll() is None
        assert end_run_processes(run_id) == []
    finally:
        os.close(ready)
        other.kill()
        other.wait()


def test_no_shell_runs_its_next_command_when_the_one_before_is_ended(
    run_id: str, tmp_path: Path, until: Until
) -> None:
    """Some are signalled in an unlucky order: as many as it takes to meet one."""
    for number in range(60):
        own_id = f"{run_id}-{number}"
        begun, next_ = tmp_path / f"begun-{number}", tmp_path / f"next-{number}"
        script = f"echo > {begun}; sleep 600; echo > {next_}"
        shell = subprocess.Popen(
            ["sh", "-c", script], env={**os.environ, "RALPH_RUN_ID": own_id}, start_new_session=True
        )
        until(begun.exists)
        end_run_processes(own_id)
        assert shell.wait(timeout=60) == -signal.SIGTERM
        assert not next_.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may start as many processes as it likes")
def test_where_no_process_can_be_started_it_says_so() -> None:
    program = (
        "import resource; from ralph.adapters.processes.watcher import start_watcher\n"
        "resource.setrlimit(resource.RLIMIT_NPROC, (1, 1)); start_watcher('none')"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert "TooManyProcesses: the system will not start any more processes for this user" in ran.stderr
