"""What people see of jobs and ask of them, with a real server, real workers and a real git remote."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fleet.world.commands import Typed
from tests.fleet.world.machines import Machines, wait_until
from tests.fleet.world.server import Server


@pytest.fixture
def machines(tmp_path: Path, server: Server) -> Iterator[Machines]:
    found = Machines(tmp_path, server)
    try:
        yield found
    finally:
        found.close()


@pytest.fixture
def ralph(server: Server, tmp_path: Path) -> Typed:
    here = tmp_path / "here"
    here.mkdir()
    return Typed(server, here)


def submit(
    ralph: Typed, machines: Machines, *words: str, most: str = "9"
) -> subprocess.CompletedProcess[str]:
    run = ("run", "-f", "PROMPT.md", "--agent", str(machines.agent), "-m", most)
    return ralph("submit", "--repo", str(machines.remote), "--name", "count", *words, "--", *run)


def test_a_job_from_its_submission_to_its_end(ralph: Typed, machines: Machines) -> None:
    machines.start("w1")

    waited = submit(ralph, machines, "--wait")

    assert waited.returncode == 0, waited.stderr
    assert "count: completed, iteration 3/9" in waited.stderr
    table = ralph("status").stdout
    assert "count  completed  3/9" in table
    assert "w1" in table
    told = json.loads(ralph("show", "count", "--json").stdout)
    assert told["job"]["state"] == "completed"
    assert told["job"]["branch"] == "ralph/count"
    assert [one["decision"] for one in told["iterations"]] == ["continue", "continue", "accept"]
    shown = ralph("show", "count").stdout
    assert "branch      ralph/count at " in shown
    assert "Iteration 3" in shown
    assert "interrupted" not in shown
    logs = ralph("logs", "count")
    assert logs.returncode == 0
    assert logs.stdout.index("Iteration 1/9") < logs.stdout.index("line 2") < logs.stdout.index("Completed")
    followed = ralph("logs", "-f", "count")
    assert (followed.returncode, followed.stdout) == (0, logs.stdout)
    again = ralph("retry", "count")
    assert (again.returncode, "completed" in again.stderr) == (2, True)


def test_a_limit_gives_the_exit_code_of_one_machine_and_the_job_can_be_shown(
    ralph: Typed, machines: Machines
) -> None:
    machines.start("w1")

    ran = submit(ralph, machines, "--wait", "--json", most="1")

    assert ran.returncode == 1, ran.stderr
    (job,) = json.loads(ran.stdout.partition("\n")[2])["jobs"]
    assert (job["outcome"], job["iteration"], job["exit_code"]) == ("exhausted", 1, 1)


def test_lines_are_followed_while_they_are_said_and_none_is_missing(ralph: Typed, machines: Machines) -> None:
    held = machines.hold(2)
    machines.start("w1")
    submit(ralph, machines)
    wait_until(lambda: len(machines.launches) == 2, "the second session is under way")

    shown = ralph("show", "count").stdout
    assert "running" in shown
    assert "Iteration 1" in shown
    assert ralph("steer", "count", "Mind the gap.").stderr == "noted for the next prompt: job count\n"
    following = subprocess.Popen(
        [
            "sh",
            "-c",
            'exec "$@" > "$0"',
            str(machines.folder / "followed"),
            *ralph.words("logs", "-f", "count"),
        ],
        cwd=ralph.here,
        env=ralph.environment,
    )
    followed = machines.folder / "followed"
    wait_until(lambda: followed.exists() and "Iteration 2/9" in followed.read_text(), "it is followed live")
    held.unlink()
    assert following.wait(90) == 0
    assert followed.read_text() == ralph("logs", "count").stdout
    assert "Mind the gap." in followed.read_text()


def test_pause_unpause_stop_and_retry(ralph: Typed, machines: Machines) -> None:
    held = machines.hold(1)
    machines.start("w1")
    submit(ralph, machines)
    wait_until(lambda: len(machines.launches) == 1, "the first session is under way")

    paused = ralph("pause", "count")
    assert (paused.returncode, paused.stderr) == (0, "pausing after the current session: job count\n")
    held.unlink()
    wait_until(lambda: state(ralph) == "paused", "it pauses")
    held = machines.hold(2)
    assert ralph("unpause", "count").stderr == "continuing: job count\n"
    wait_until(lambda: len(machines.launches) == 2, "the second session is under way")
    assert ralph("stop", "--now", "count").stderr == "stopping now: job count\n"
    wait_until(lambda: state(ralph) == "cancelled", "it stops")
    held.unlink()
    assert ralph("retry", "count").stderr == "continuing where it stopped: job count\n"
    wait_until(lambda: state(ralph) == "completed", "it ends")
    assert machines.file("ralph/count", "work.txt") == "x\nx\nx\n"


def test_a_job_that_nobody_has_begun(ralph: Typed, machines: Machines) -> None:
    submit(ralph, machines)

    shown = ralph("show", "count")

    assert (shown.returncode, "queued" in shown.stdout) == (0, True)
    assert json.loads(ralph("show", "count", "--json").stdout)["iterations"] == []
    assert (ralph("logs", "count").returncode, ralph("logs", "count").stdout) == (0, "")
    assert ralph("show", "count", "--iteration", "1").returncode == 2


def test_a_job_that_is_not_there_is_told_with_the_closest(ralph: Typed, machines: Machines) -> None:
    submit(ralph, machines)

    for words in (("show",), ("logs", "-f"), ("steer", "cuont"), ("pause",), ("retry",)):
        ran = ralph(*words, "cuont")
        assert ran.returncode == 2, words
        assert "count" in ran.stderr
        assert "Traceback" not in ran.stderr


def test_limits(ralph: Typed, machines: Machines) -> None:
    machines.start("w1")

    assert ralph("limits").stdout == "no limits\n"
    set_ = ralph("limits", "--sessions", "claude=3", "--sessions", "codex=1", "--max-cost", "100")
    assert set_.returncode == 0, set_.stderr
    ralph("limits", "--sessions", "codex=none")
    told = json.loads(ralph("limits", "--json").stdout)
    assert (told["sessions"], told["max_cost_usd"]) == ({"claude": 3}, 100.0)
    assert ralph("limits", "--clear").stdout == "no limits\n"
    assert ralph("limits", "--sessions", "claude=many").returncode == 2


def state(ralph: Typed) -> str:
    found: str = json.loads(ralph("status", "count", "--json").stdout)["jobs"][0]["state"]
    return found
