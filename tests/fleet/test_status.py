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


def test_a_part_of_a_name_is_enough_if_it_is_only_one(ralph: Typed, machines: Machines) -> None:
    machines.submit(machines.job("till-1"), machines.job("shop-1"), machines.job("shop-2"))

    assert ralph("steer", "till", "x").stderr == "noted for the next prompt: job till-1\n"
    assert ralph("unpause", "p-2").stderr == "was not paused: job shop-2\n"
    several = ralph("stop", "shop")
    assert (several.returncode, "could be any of" in several.stderr) == (2, True)
    wait_until(lambda: "shop-2" in ralph("show", "last").stdout, "the newest is listed")


def test_a_queued_job_says_what_it_waits_for(ralph: Typed, machines: Machines) -> None:
    machines.start("w1")
    submit(ralph, machines, "--label", "gpu")
    wait_until(lambda: "count" in ralph("status").stdout, "it is listed")

    seen = ralph("status")

    assert "waits for a worker with the label gpu" in seen.stdout
    assert seen.stderr.startswith("ralph: no worker with the label gpu has asked for jobs lately")


def test_a_job_whose_worker_was_killed_is_queued_until_another_has_it(
    ralph: Typed, machines: Machines
) -> None:
    machines.hold(1, "w1")
    held = machines.hold(1, "w2")
    first = machines.start("w1")
    machines.submit(machines.job("count"))
    wait_until(lambda: len(machines.launches) == 1, "the first session is under way")
    machines.start("w2")
    first.kill()

    lost = "the session on w1 was lost; waits for a worker"
    wait_until(lambda: lost in ralph("status").stdout, "nobody has it, and w1 is waited for for a while")
    wait_until(lambda: state(ralph) == "running", "another one has it")
    assert "w2" in ralph("status").stdout
    held.unlink()
    wait_until(lambda: state(ralph) == "completed", "it ends")


def test_the_whole_prompt_and_what_a_check_printed_are_shown_and_no_path_of_another_machine(
    ralph: Typed, machines: Machines
) -> None:
    machines.start("w1")
    words = ("run", "-f", "PROMPT.md", "--agent", str(machines.agent), "-m", "9")
    ran = ralph(
        "submit", "--repo", str(machines.remote), "--name", "count", "--wait", "--", *words,
        "--guardrail", "echo what the check printed",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr

    shown = ralph("show", "count").stdout
    assert "`ralph fleet show count --iteration 3`" in shown
    assert "ralph-record-" not in shown
    assert "/clones/" not in shown
    one = ralph("show", "count", "-i", "3").stdout
    assert "output <response>DONE</response>" in one
    assert "      what the check printed\n" in one
    assert "ralph-record-" not in one


def test_tasks_that_were_stopped_are_told_to_whoever_waits_and_to_whoever_submits_again(
    ralph: Typed, machines: Machines
) -> None:
    tasks = [entry(machines, "apples"), entry(machines, "pears"), entry(machines, "pie", "apples", "pears")]
    (ralph.here / "tasks.json").write_text(json.dumps(tasks))
    held = machines.hold(1)
    machines.start("w1", "--slots", "2")
    words = (
        "submit", "--repo", str(machines.remote), "--name", "shop", "tasks.json", "--", "--agent", str(machines.agent),
    )  # fmt: skip
    assert "`ralph fleet stop shop-apples shop-pears shop-pie`" in ralph(*words).stderr
    wait_until(lambda: len(machines.launches) == 2, "both are under way")
    ralph("stop", "shop-apples", "shop-pears")
    wait_until(lambda: state(ralph, "shop-pears") == "stopping", "it is shown")
    held.unlink()

    told = "shop-apples, shop-pears are over and not merged: retry them, or stop this job"
    wait_until(
        lambda: told in ralph("status").stdout.replace("pears, shop-apples", "apples, shop-pears"), told
    )
    assert "1 needs you, 2 ended" in ralph("status").stdout
    again = ralph(*words).stderr
    assert "To continue what has ended: `ralph fleet retry shop-apples shop-pears`" in again
    assert "To stop:  `ralph fleet stop shop-pie`" in again
    ralph("retry", "shop-apples", "shop-pears")
    wait_until(lambda: state(ralph, "shop-pie") == "merged", "it is done")
    assert "merged as" in ralph("status", "shop-pie").stdout
    whole = ralph("logs", "shop-pie").stdout.rstrip().rsplit("time: ", 1)[1]
    assert (
        float(whole.removesuffix("s")) > 0
    )  # of all its sessions, each of which may be too short for a tenth
    assert "log of pie" in ralph("show", "shop-pie", "-i", "3").stdout
    refused = ralph("steer", "shop-pie", "x").stderr
    assert ("is completed" in refused, "retry" in refused) == (True, False)
    assert "To stop" not in ralph(*words).stderr


def entry(machines: Machines, name: str, *needs: str) -> dict[str, object]:
    check = {"command": f"echo log of {name}; test $(wc -l < {name}.txt) -ge {machines.iterations}"}
    coder = {"promise": "DONE", "verification_method": "external", "verification_config": check}
    done = {"outcome": "there are enough lines", "acceptance_criteria": ["they are x"], "coder": coder}
    return {
        "id": name, "title": "Add lines", "spec_id": "s", "dependencies": list(needs), "completion": done,
    }  # fmt: skip


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


def test_a_limit_holds_for_the_agent_of_the_repositorys_settings_from_the_first_session_on(
    ralph: Typed, machines: Machines
) -> None:
    settings = json.dumps({"agent": {"command": str(machines.agent)}})
    script = f"""
        cd {machines.folder / "seed"} && echo '{settings}' > .ralph/settings.json
        git -c user.name=t -c user.email=t@localhost commit -qam agent && git push -q {machines.remote} main
    """
    subprocess.run(["sh", "-ec", script], check=True, timeout=60)
    held = machines.hold(1)
    machines.start("w1", "--slots", "2")
    assert ralph("limits", "--sessions", "claude=1").stdout == "claude: at most 1 session at a time; 0 now\n"
    for name in ("one", "two"):
        submitted = ralph(
            "submit", "--repo", str(machines.remote), "--name", name, "--", "run", "-f", "PROMPT.md"
        )
        assert submitted.returncode == 0, submitted.stderr

    wait_until(lambda: "the only place at claude is taken" in ralph("status").stdout, "one of them waits")
    assert "claude: at most 1 session at a time; 1 now" in ralph("limits").stdout
    assert len(machines.launches) == 1
    held.unlink()
    wait_until(lambda: {state(ralph, "one"), state(ralph, "two")} == {"completed"}, "both end")


def state(ralph: Typed, name: str = "count") -> str:
    found: str = json.loads(ralph("status", name, "--json").stdout)["jobs"][0]["state"]
    return found
