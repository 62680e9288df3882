"""`ralph fleet submit` and `schedule` against a real server: what comes to be there, and what is refused before."""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.fleet.world.commands import Typed
from tests.fleet.world.server import Server, free_port

TASKS = """
- {id: A, title: First, completion: {outcome: a, acceptance_criteria: [x]}}
- {id: B, title: Second, dependencies: [A], completion: {outcome: b, acceptance_criteria: [x]}}
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    script = """
        git init -q --bare -b main shop.git && git init -q -b main here && cd here
        echo 'Do it.' > PROMPT.md && git add . && git -c user.name=t -c user.email=t@localhost commit -qm first
        git remote add origin ../shop.git && git push -q origin main
    """
    subprocess.run(["sh", "-ec", script], cwd=tmp_path, check=True, timeout=60)
    return tmp_path / "here"


@pytest.fixture
def ralph(server: Server, here: Path) -> Typed:
    return Typed(server, here)


@pytest.fixture
def offline(here: Path, tmp_path: Path) -> Typed:
    """There is no server: whoever asks it exits with 5."""
    return Typed(Server(folder=tmp_path, port=free_port()), here)


@pytest.fixture
def remote(tmp_path: Path) -> str:
    return str(tmp_path / "shop.git")


def test_a_command_is_there_when_it_was_submitted(ralph: Typed, remote: str) -> None:
    ran = ralph(
        "submit", "--repo", remote, "--name", "one", "--label", "gpu", "--",
        "run", "-f", "PROMPT.md", "--agent", "claude", "-m", "20",
    )  # fmt: skip

    assert (ran.returncode, ran.stdout) == (0, "one\n")
    assert "no worker with the label gpu has asked for jobs lately" in ran.stderr
    assert "ralph fleet logs -f one" in ran.stderr
    (job,) = json.loads(ralph("status", "--json").stdout)["jobs"]
    assert job["command"] == ["run", "-f", "PROMPT.md", "--agent", "claude", "-m", "20"]
    assert (job["id"], job["state"], job["labels"], job["repository"]) == ("one", "queued", ["gpu"], remote)


def test_two_submitters_of_one_file_make_one_set_of_jobs(ralph: Typed, remote: str) -> None:
    (ralph.here / "tasks.yaml").write_text(TASKS)

    def submit(_: int) -> dict[str, list[str]]:
        ran = ralph("submit", "--repo", remote, "--json", "tasks.yaml", "--", "--max-cost", "5")
        assert ran.returncode == 0, ran.stderr
        told: dict[str, list[str]] = json.loads(ran.stdout)
        return told

    with ThreadPoolExecutor(2) as pool:
        told = list(pool.map(submit, range(2)))

    assert sorted(name for one in told for name in one["submitted"]) == ["shop-A", "shop-B"]
    assert sorted(name for one in told for name in one["known"]) == ["shop-A", "shop-B"]
    jobs = {job["id"]: job for job in json.loads(ralph("status", "--json").stdout)["jobs"]}
    assert jobs["shop-B"]["needs"] == ["shop-A"]
    other = ralph("submit", "--repo", remote, "tasks.yaml", "--", "--max-cost", "6")
    assert other.returncode == 2
    assert "asks for something else" in other.stderr


def test_a_name_whose_record_another_job_has_left_is_refused_before_anything_is_submitted(
    ralph: Typed, remote: str
) -> None:
    """As after the server has forgotten that job, or on another server."""
    (ralph.here / "tasks.yaml").write_text(TASKS)
    record = "refs/ralph/records/shop-B"
    subprocess.run(["git", "push", "-q", remote, f"main:{record}"], cwd=ralph.here, check=True, timeout=60)

    ran = ralph("submit", "--repo", remote, "tasks.yaml")

    assert ran.returncode == 2
    assert "has the record of another job shop-B" in ran.stderr
    assert "--name" in ran.stderr
    assert f"git push {remote} --delete {record}" in ran.stderr
    assert json.loads(ralph("status", "--json").stdout)["jobs"] == []
    assert ralph("submit", "--repo", remote, "--name", "again", "tasks.yaml").returncode == 0
    own = "main:refs/ralph/records/again-B"  # a job that the server knows has its record there
    subprocess.run(["git", "push", "-q", remote, own], cwd=ralph.here, check=True, timeout=60)
    ran = ralph("submit", "--repo", remote, "--name", "again", "--json", "tasks.yaml")
    assert sorted(json.loads(ran.stdout)["known"]) == ["again-A", "again-B"]


def test_tickets_of_a_file_become_jobs(ralph: Typed, remote: str) -> None:
    (ralph.here / "TODO.md").write_text(
        "# Shop\n\n- [ ] T001 Sum the cart; verify: `make test`\n- [x] T002 Gone\n"
    )

    ran = ralph("submit", "--repo", remote, "--from", "TODO.md")

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("shop-")
    assert len(ran.stdout.splitlines()) == 1


def test_a_prompt_on_standard_input_goes_along(ralph: Typed, remote: str) -> None:
    ran = ralph("submit", "--repo", remote, "--name", "one", "--", "run", "-f", "-", stdin="Fix it\nall\n")

    assert ran.returncode == 0, ran.stderr
    (job,) = json.loads(ralph("status", "one", "--json").stdout)["jobs"]
    assert (job["command"], job["title"]) == (["run", "--prompt=Fix it\nall\n"], "Fix it")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--base", "nope", "--", "run", "x"), "has no branch nope"),
        (("none.yaml",), "there is no file none.yaml"),
        (("empty.yaml",), "the file is empty"),
        (("circle.yaml",), "wait for each other"),
        (("tasks.yaml", "other.yaml"), "one file of tasks"),
        (("run", "x"), "the command must follow `--`"),
        (("--name", "a/b", "--", "run", "x"), "a job cannot be called"),
        (("--", "run", "token ghp_abcdefghijklmnopqrstuvwxyz0123456789"), "there is a secret"),
        (("--from", "TODO.md"), "TODO.md"),
    ],
)
def test_what_cannot_be_submitted_is_told_before_anybody_is_asked(
    offline: Typed, remote: str, words: tuple[str, ...], said: str
) -> None:
    (offline.here / "empty.yaml").write_text("")
    (offline.here / "circle.yaml").write_text(TASKS.replace("First,", "First, dependencies: [B],"))

    ran = offline("submit", "--repo", remote, *words)

    assert ran.returncode == 2, ran.stderr
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr


def test_what_is_certainly_not_there_is_not_submitted(ralph: Typed, remote: str, tmp_path: Path) -> None:
    nowhere = ralph("submit", "--repo", str(tmp_path / "none.git"), "--", "run", "x")
    assert (nowhere.returncode, "there is no repository" in nowhere.stderr) == (2, True)
    missing = ralph("submit", "--repo", remote, "--", "run", "-f", "docs/nope.md")
    assert missing.returncode == 2
    assert "has no file docs/nope.md on its default branch" in missing.stderr
    assert "commit and push it first" in missing.stderr
    assert ralph("status").stdout.startswith("no jobs yet")


def test_a_repository_that_cannot_be_read_from_here_may_be_by_workers(ralph: Typed) -> None:
    ran = ralph("submit", "--repo", "https://127.0.0.1:1/none.git", "--", "run", "x")

    assert ran.returncode == 0
    assert "cannot read" in ran.stderr
    assert "the workers must be able to" in ran.stderr


def test_the_projects_own_remote_must_mean_the_same_elsewhere(ralph: Typed, remote: str) -> None:
    assert "relative path" in ralph("submit", "--", "run", "x").stderr
    subprocess.run(["git", "remote", "set-url", "origin", remote], cwd=ralph.here, check=True, timeout=60)
    (ralph.here / "PROMPT.md").write_text("Changed.\n")

    ran = ralph("submit", "--name", "one", "--", "run", "-f", "PROMPT.md")

    assert ran.returncode == 0, ran.stderr
    assert "PROMPT.md is not committed as it is here" in ran.stderr


def test_no_server(offline: Typed, remote: str) -> None:
    for words in (("submit", "--repo", remote, "--", "run", "x"), ("status",), ("show", "a"), ("stop", "a")):
        ran = offline(*words)
        assert ran.returncode == 5, ran.stderr
        assert "TEMPORAL_ADDRESS" in ran.stderr
        assert "Traceback" not in ran.stderr


def test_schedules(ralph: Typed, remote: str) -> None:
    add = ("schedule", "add", "nightly", "--repo", remote, "--cron")

    bad = ralph(*add, "61 * * * *", "--", "run", "x")
    assert (bad.returncode, "is no minute" in bad.stderr) == (2, True)
    assert ralph(*add, "0 3 * * *", "--", "run", "x").returncode == 0
    again = ralph(*add, "0 4 * * *", "--", "run", "x")
    assert (again.returncode, "already" in again.stderr) == (2, True)
    (one,) = json.loads(ralph("schedule", "list", "--json").stdout)["schedules"]
    assert (one["name"], one["cron"], one["command"]) == ("nightly", "0 3 * * *", ["run", "x"])
    assert ralph("schedule", "rm", "nightly").returncode == 0
    gone = ralph("schedule", "rm", "nightly")
    assert (gone.returncode, "no schedule" in gone.stderr) == (2, True)
