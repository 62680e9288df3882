"""`kill -9` at every step that the outside can see: the next process repeats nothing, and nothing is lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.conftest import DONE

from .killing import Gate, kill_at_gate, kill_at_request, without_gh
from .shipping import GREEN, RED, ShipProject, on_each_push, says, ship_project
from .world.forge import Forge

COMMIT = "git add --all && git commit -qm 'Fix it'"


@pytest.fixture
def project(forge: Forge, tmp_path: Path) -> ShipProject:
    return without_gh(ship_project(forge, tmp_path))


@pytest.fixture
def with_gh(forge: Forge, tmp_path: Path) -> ShipProject:
    return ship_project(forge, tmp_path)


@dataclass(frozen=True)
class Moment:
    """A request, and how to see that the forge has done it."""

    request: str
    done: Callable[[Forge], bool]


def answers(forge: Forge) -> list[dict[str, Any]]:
    return [each for each in forge.line_comments(1) if "ralph:answer" in each["body"]]


MOMENTS = {
    "open": Moment(r"POST .*/pulls$", lambda forge: len(forge.pulls()) == 1),
    "label": Moment(r"POST .*/issues/1/labels$", lambda forge: bool(forge.pull(1)["labels"])),
    "describe": Moment(r"PATCH .*/pulls/1$", lambda forge: "after it was opened" in forge.pull(1)["body"]),
    "answer": Moment(r"POST .*/comments/\d+/replies$", lambda forge: len(answers(forge)) == 1),
    "merge": Moment(r"PUT .*/pulls/1/merge$", lambda forge: forge.pull(1)["merged"]),
    "look": Moment(r"GET .*/check-runs", lambda forge: True),
}


def red_then_a_remark_then_green(project: ShipProject) -> None:
    """The whole way: a red check and a session, a remark by a colleague and another session, green, merged."""
    forge = project.forge
    project.setting(pullRequest={"wait": 0, "merge": "squash", "labels": ["ready"]})
    on_each_push(forge, [("build", RED)], [("build", GREEN)])
    pushed, seen = forge.github.on_push, set[str]()

    def push(branch: str, commit: str) -> None:
        assert pushed is not None
        pushed(branch, commit)
        if branch == "feature" and forge.tip(branch) == commit:
            seen.add(commit)
            if len(seen) == 2:
                forge.review("colleague", "COMMENTED", number=1, comments=[("work.txt", 1, "rename it")])

    forge.github.on_push = push
    project.agent(says(DONE, work__txt="2\n"), says(DONE, work__txt="renamed\n"))


@pytest.mark.parametrize("is_done", [False, True], ids=["before", "after"])
def test_killed_while_gh_asks(with_gh: ShipProject, is_done: bool) -> None:
    """A child of ralph's that may live a moment longer than ralph."""
    require_right_after_a_kill(with_gh, "open", is_done=is_done)


@pytest.mark.parametrize("is_done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("name", MOMENTS)
def test_killed_at_a_request(project: ShipProject, name: str, is_done: bool) -> None:
    require_right_after_a_kill(project, name, is_done=is_done)


def require_right_after_a_kill(project: ShipProject, name: str, *, is_done: bool) -> None:
    forge = project.forge
    moment = MOMENTS[name]
    red_then_a_remark_then_green(project)
    done = (lambda: moment.done(forge)) if is_done else None

    kill_at_request(project, moment.request, done=done)
    project.ralph("resume", check=0)

    (pull,) = forge.pulls()
    assert pull["merged_at"]
    assert [label["name"] for label in forge.pull(1)["labels"]] == ["ready"]
    assert len(project.prompts()) == 2, "no session was run twice"
    (answer,) = answers(forge)
    fix = project.git("log", "-1", "--format=%H", "feature").strip()
    assert f"addressed this in {fix}" in answer["body"]
    body = forge.pull(1)["body"]
    assert "Fixed 2 times after it was opened" in body
    assert body.count("<!-- ralph:receipt -->") == 1
    assert forge.git("show", "main:work.txt") == "renamed"
    assert forge.git("rev-list", "--count", "main") == "2", "merged once, squashed"


@pytest.mark.parametrize("is_done", [False, True], ids=["before", "after"])
def test_killed_at_a_rerun(project: ShipProject, forge: Forge, is_done: bool) -> None:
    """It passed and failed on one commit: it is run once more, not twice, and not silently green."""
    project.setting(pullRequest={"wait": 0})
    on_each_push(forge, [("build", RED), ("build", GREEN)])
    forge.on_rerun = lambda job: forge.finish(job.id, "success")
    commit = project.tip

    def runs() -> int:
        return len(forge.checks(commit, every=True))

    request = r"POST .*/(rerun|rerun-failed-jobs)$"
    kill_at_request(project, request, done=(lambda: runs() == 3) if is_done else None)
    first = project.ralph("resume")
    if not is_done:
        assert (first.returncode, runs()) == (5, 3), first.stderr
        first = project.ralph("resume")

    assert first.returncode == 0, first.stderr
    assert runs() == 3
    assert "build is flaky" in first.stderr
    assert not project.prompts()


def test_killed_while_the_guardrails_run(project: ShipProject, forge: Forge, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    project.setting(guardrails=[gate.script])
    on_each_push(forge, [("build", GREEN)])

    kill_at_gate(project, gate)
    assert forge.tip("feature") is None, "nothing is pushed that is not proven"
    project.ralph("resume", check=0)

    (pull,) = forge.pulls()
    assert pull["head"]["sha"] == project.tip


@pytest.mark.parametrize("hook", ["pre-receive", "post-receive"])
@pytest.mark.parametrize("again", ["resume", "ship"])
def test_killed_in_a_push(project: ShipProject, forge: Forge, tmp_path: Path, hook: str, again: str) -> None:
    """Before the remote has taken it; and after, when nobody has been told."""
    gate = Gate(tmp_path / "gate")
    at_push(forge, hook, gate.script)
    on_each_push(forge, [("build", GREEN)])

    kill_at_gate(project, gate)
    if hook == "post-receive":
        assert forge.tip("feature") == project.tip
    forge.sync()
    project.ralph(again, check=0)

    (pull,) = forge.pulls()
    assert pull["head"]["sha"] == project.tip == forge.tip("feature")
    assert len(forge.requested(r"POST .*/pulls$")) == 1


def test_killed_before_an_accepted_fix_is_pushed(project: ShipProject, forge: Forge, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    is_second = f'[ -z "$(git for-each-ref refs/heads/feature)" ] || {{ {gate.script}; }}'
    at_push(forge, "pre-receive", is_second)
    on_each_push(forge, [("build", RED)], [("build", GREEN)])
    project.agent(says(DONE, work__txt="2\n"))

    kill_at_gate(project, gate)
    fixed = project.tip
    project.ralph("resume", check=0)

    assert forge.tip("feature") == fixed == project.tip, "the accepted commit, and no other"
    assert len(project.prompts()) == 1, "what was accepted is not worked on again"
    assert "Fixed once after it was opened" in forge.pull(1)["body"]


@pytest.mark.parametrize("commits", [True, False], ids=["committed", "uncommitted"])
def test_killed_in_a_fix_session(project: ShipProject, forge: Forge, tmp_path: Path, commits: bool) -> None:
    """What an unjudged session has committed is not pushed, although every guardrail passes."""
    gate = Gate(tmp_path / "gate")
    on_each_push(forge, [("build", RED)], [("build", GREEN)])
    edit = [{"write": {"path": ".github/workflows/ci.yml", "content": "on: never\n"}}]
    commit = [{"run": COMMIT}] if commits else []
    undo = {"run": "git rm -q --cached -r --ignore-unmatch .github; rm -rf .github; git add --all"}
    project.agent(
        [*edit, *commit, {"run": gate.script}, {"say": DONE}],
        [undo, *says(work__txt="2\n"), {"run": COMMIT}, {"say": DONE}],
    )
    shipped = project.tip

    kill_at_gate(project, gate)
    assert forge.tip("feature") == shipped
    run = project.rows("SELECT id FROM runs")[0][0]
    if commits:
        asked = project.ship(check=5).stderr
        assert "of a session that was not accepted" in asked
        assert f"ralph resume {run}" in asked
    else:
        assert "ci.yml" in project.ship(check=2).stderr, "what is not committed is not the branch's"
    assert forge.tip("feature") == shipped
    project.ralph("resume", run, check=0)

    assert len(project.prompts()) == 2
    assert forge.tip("feature") == project.tip != shipped
    assert "ci.yml" not in forge.git("ls-tree", "-r", "--name-only", "feature")
    assert len(forge.pulls()) == 1


def test_a_denied_commit_is_never_pushed(project: ShipProject, forge: Forge) -> None:
    """Nobody is killed: the session commits a weaker CI, is denied, and the limit is reached; not by `ralph ship` either."""
    project.setting(maximumIterations=1)
    project.commit({".github/workflows/ci.yml": "on: push\n"}, "CI")
    on_each_push(forge, [("build", RED)])
    on_each_push(forge, [("build", GREEN)], branch="mine")
    weaker = {"write": {"path": ".github/workflows/ci.yml", "content": "on: never\n"}}
    project.agent([weaker, {"run": COMMIT}, {"say": DONE}])
    shipped = project.tip

    project.ship(check=1)
    assert forge.tip("feature") == shipped != project.tip
    project.ship(check=5)
    project.ralph("resume", project.rows("SELECT id FROM runs")[0][0], "-m", "2", check=1)

    assert forge.tip("feature") == shipped != project.tip
    assert len(project.prompts()) == 2
    project.git("switch", "-q", "-c", "mine")
    project.ship(check=0)
    assert forge.tip("mine") == project.tip, "a person may say that it is theirs"


@pytest.mark.parametrize("commits", [True, False], ids=["committed", "uncommitted"])
def test_killed_while_a_session_resolves_a_conflict(
    project: ShipProject, forge: Forge, tmp_path: Path, commits: bool
) -> None:
    gate = Gate(tmp_path / "gate")
    on_each_push(forge, [("build", GREEN)])
    project.ship(check=0)
    theirs = forge.push_as_someone_else("main", {"work.txt": "theirs\n"})
    resolve: list[dict[str, Any]] = [{"write": {"path": "work.txt", "content": "both\n"}}, {"run": COMMIT}]
    project.agent([*(resolve if commits else ()), {"run": gate.script}], [*resolve, {"say": DONE}])

    kill_at_gate(project, gate, "ship")
    assert not project.git("status", "--porcelain") if commits else project.git("rev-parse", "MERGE_HEAD")
    project.ralph("resume", check=0)

    tip = project.tip
    assert forge.tip("feature") == tip
    assert project.git("rev-list", "--count", "--merges", "main..feature").strip() == "1"
    assert project.git("merge-base", "feature", theirs).strip() == theirs
    assert project.git("show", "feature:work.txt") == "both\n"
    assert "<<<<" in project.prompts()[-1] or "these files conflict" in project.prompts()[-1]


def at_push(forge: Forge, hook: str, script: str) -> None:
    """Run a script of ours when a push arrives, before what the forge does then."""
    path = Path(forge.remote) / "hooks" / hook
    known = path.with_suffix(".world")
    if path.exists():
        path.rename(known)
    rest = f'exec "{known}"' if known.exists() else "exit 0"
    path.write_text(f"#!/bin/sh\n{script}\n{rest}\n")
    path.chmod(0o755)
