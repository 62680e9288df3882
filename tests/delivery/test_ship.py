"""`ralph ship` from end to end: a real git remote, a GitHub that remembers, real gh, and an agent that plays a script."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.acceptance.conftest import DONE

from .shipping import GREEN, RED, ShipProject, on_each_push, says, ship_project
from .world.forge import Forge


@pytest.fixture
def project(forge: Forge, tmp_path: Path) -> ShipProject:
    return ship_project(forge, tmp_path)


def test_a_green_branch_becomes_a_pull_request_with_its_receipt(project: ShipProject, forge: Forge) -> None:
    on_each_push(forge, [("build", GREEN)])

    shipped = project.ship(check=0)

    (pull,) = forge.pulls()
    assert (pull["title"], pull["head"]["ref"], pull["base"]["ref"]) == ("Add the work", "feature", "main")
    assert pull["head"]["sha"] == project.tip
    assert "test -f work.txt  →  exit code 0" in pull["body"]
    assert project.tip[:12] in pull["body"]
    assert "ready to be merged: every check passed" in shipped.stderr
    assert pull["state"] == "open", "merging is off unless the settings say otherwise"
    assert not project.prompts(), "no session is spent on a green branch"


def test_a_red_check_is_fixed_by_a_session_that_gets_its_log(project: ShipProject, forge: Forge) -> None:
    on_each_push(forge, [("build", RED), ("lint", GREEN)], [("build", GREEN), ("lint", GREEN)])
    project.agent(says(DONE, work__txt="2\n"))
    first = project.tip

    project.ship(check=0)

    (prompt,) = project.prompts()
    assert 'Check "build" failed, in step "Run tests"' in prompt
    assert "assert add(1, 1) == 2" in prompt
    assert "attempt 1" in prompt
    assert "lint" not in prompt
    (pull,) = forge.pulls()
    assert pull["head"]["sha"] == project.tip != first
    assert (project.root / "work.txt").read_text() == "2\n"
    assert "Fixed once after it was opened" in pull["body"]
    assert project.tip[:12] in pull["body"], "the receipt is of the commit that is there"
    assert len(forge.requested(r"POST .*/pulls$")) == 1


def test_green_is_merged_only_if_the_settings_say_so(project: ShipProject, forge: Forge) -> None:
    on_each_push(forge, [("build", GREEN)])

    project.ship("--merge", "squash", check=0)

    (pull,) = forge.pulls()
    assert pull["merged_at"]
    assert "work.txt" in forge.git("ls-tree", "--name-only", "main")
    (merge,) = forge.requested(r"PUT .*/merge$")
    assert project.tip in merge.body, "exactly the head that was judged"


def test_a_fix_that_breaks_the_guardrails_is_not_pushed(project: ShipProject, forge: Forge) -> None:
    project.setting(guardrails=["grep -q ok work.txt"], maximumIterations=2)
    project.commit({"work.txt": "ok\n"})
    on_each_push(forge, [("build", RED)])
    project.agent(says(DONE, work__txt="bad\n"))
    shipped = project.tip

    project.ship(check=1)

    assert forge.tip("feature") == shipped
    assert len(project.prompts()) == 2, "the second session was told what failed"
    assert 'Guardrail "grep -q ok work.txt" failed' in project.prompts()[1]
    assert 'Check "build" failed' in project.prompts()[1], "and what it was about"


def test_an_agent_cannot_make_ci_green_by_changing_ci(project: ShipProject, forge: Forge) -> None:
    project.setting(maximumIterations=1)
    project.commit({".github/workflows/ci.yml": "on: push\n"}, "CI")
    on_each_push(forge, [("build", RED)])
    workflow = {"write": {"path": ".github/workflows/other.yml", "content": "on: push\n"}}
    project.agent([workflow, {"say": DONE}])
    shipped = project.tip

    ran = project.ship(check=1)

    assert forge.tip("feature") == shipped
    assert ".github/workflows/other.yml" in ran.stderr


def test_the_agent_gets_no_token(project: ShipProject, forge: Forge, tmp_path: Path) -> None:
    on_each_push(forge, [("build", RED)], [("build", GREEN)])
    project.setting(guardrails=[f"env > {tmp_path}/check.env"])
    project.agent([{"run": f"env > {tmp_path}/agent.env"}, *says(DONE, work__txt="2\n")])

    project.ship(check=0)

    token = forge.token("owner")
    for name in ("agent.env", "check.env"):
        seen = (tmp_path / name).read_text()
        assert "RALPH_RUN_ID" in seen or "PATH" in seen
        assert token not in seen
        assert "GH_TOKEN" not in seen
    record = (path.read_bytes() for path in (project.root / ".ralph").rglob("*") if path.is_file())
    assert not any(token.encode() in data for data in record)


def test_it_is_opened_as_the_settings_say_and_every_face_has_it(project: ShipProject, forge: Forge) -> None:
    on_each_push(forge, [("build", GREEN)])
    project.setting(
        pullRequest={"labels": ["ralph"], "assignees": ["owner1"], "reviewers": ["colleague"]},
    )

    ran = project.ship("--draft", "--json", check=0)

    (pull,) = forge.pulls()
    assert pull["draft"]
    assert [label["name"] for label in pull["labels"]] == ["ralph"]
    (assigned,) = forge.requested(r"POST .*/issues/1/assignees$")  # which the emulator keeps for issues only
    assert json.loads(assigned.body) == {"assignees": ["owner1"]}
    assert [person["login"] for person in pull["requested_reviewers"]] == ["colleague"]
    events = [json.loads(line) for line in ran.stdout.splitlines()]
    seen = [event for event in events if event["type"] == "pull_request_seen"]
    assert (seen[-1]["number"], seen[-1]["step"], seen[-1]["head"]) == (1, "done", project.tip)
    assert [check["standing"] for check in seen[-1]["checks"]] == ["passed"]
    (run,) = json.loads(project.ralph("status", "--json", check=0).stdout)["runs"]
    assert (run["pull_request"]["number"], run["state"]) == (1, "completed")
    report = json.loads(project.ralph("report", "-o", "-", "--format", "json", check=0).stdout)
    assert [one["number"] for one in report["pull_requests"]] == [1]
