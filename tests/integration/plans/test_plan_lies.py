"""Sessions that lie with git, or that nobody judged: what they did is noticed, undone or told."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.plan_documents import story_json

from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.session_report import Transient
from ralph.engine.ports import AgentRequest
from ralph.errors import StoreError
from ralph.testing.scripted_agent import Turn

from .plan_project import PlanProject

NEEDED: dict[str, Any] = {"reviewStatus": "needs_review", "notes": "built", "reviewFeedback": ""}
APPROVED: dict[str, Any] = {"reviewStatus": "approved", "passes": True, "notes": "built", "reviewCount": 1}


def head(planned: PlanProject) -> str:
    return planned.git("rev-parse", "HEAD").strip()


def branch(planned: PlanProject) -> str:
    return planned.git("branch", "--show-current").strip()


# --- branches and history ----------------------------------------------------------------------------------


def test_a_session_that_makes_a_branch_of_its_own_is_followed(planned: PlanProject) -> None:
    planned.plan(story_json("A"))

    def on_its_own(request: AgentRequest) -> None:
        planned.git("checkout", "-qb", "feature/a")
        planned.changes(files={"code.py": "1"}, **NEEDED).does(request)

    result = planned.run(Turn("ok", does=on_its_own), planned.changes(**APPROVED))

    assert (result.outcome, result.iterations) == (Outcome.COMPLETED, 2)
    assert branch(planned) == "main"
    assert planned.git("show", "main:code.py") == "1"
    assert "left the branch main for the branch feature/a" in planned.prompts[1]
    assert planned.status() == ""


@pytest.mark.parametrize("how", ["another branch", "an orphan", "detached", "with edits in the way"])
def test_a_session_that_goes_elsewhere_is_brought_back_and_what_it_did_there_does_not_count(
    planned: PlanProject, how: str
) -> None:
    planned.plan(story_json("A"))
    planned.git("branch", "old")
    (planned.root / "code.py").write_text("1")
    planned.git("add", "-A")
    planned.git("commit", "-qm", "work")
    before = head(planned)

    def elsewhere(request: AgentRequest) -> None:
        if how == "an orphan":
            planned.git("checkout", "-q", "--orphan", "new")
        else:
            planned.git("checkout", "-q", "old", *(("--detach",) if how == "detached" else ()))
        planned.changes(files={"code.py": "other"}, commit=how != "with edits in the way", **NEEDED).does(
            request
        )

    planned.run(Turn("ok", does=elsewhere), Turn("ok"), maximum=2)

    assert branch(planned) == "main"
    assert planned.git("merge-base", "--is-ancestor", before, "HEAD") == ""
    assert planned.story("A")["reviewStatus"] is None
    assert (planned.root / "code.py").read_text() == "1"
    assert "the branch main is checked out again" in planned.prompts[1]
    assert planned.status() == ""
    found = planned.git("log", "--all", "--format=%s").splitlines()
    assert any("session" in subject for subject in found), "nothing that was committed is lost"


def test_work_that_was_committed_before_the_session_went_elsewhere_counts(planned: PlanProject) -> None:
    planned.plan(story_json("A"))
    planned.git("branch", "old")
    planned.git("commit", "-q", "--allow-empty", "-m", "later")

    def then_leave(request: AgentRequest) -> None:
        planned.changes(**NEEDED).does(request)
        planned.git("checkout", "-q", "old")

    planned.run(Turn("ok", does=then_leave), Turn("ok"), maximum=2)

    assert planned.story("A")["reviewStatus"] == "needs_review"
    assert branch(planned) == "main"


@pytest.mark.parametrize("how", ["amended", "reset", "branch deleted"])
def test_history_that_a_session_rewrote_is_there_again_below_what_it_made_of_it(
    planned: PlanProject, how: str
) -> None:
    planned.plan(story_json("A"))
    (planned.root / "work.py").write_text("hours of it")
    planned.git("add", "-A")
    planned.git("commit", "-qm", "work")
    before = head(planned)

    def rewrite(request: AgentRequest) -> None:
        planned.changes(commit=False, **NEEDED).does(request)
        if how == "amended":
            planned.git("commit", "-qa", "--amend", "-m", "it was always so")
        elif how == "reset":
            planned.git("stash", "-q")
            planned.git("reset", "-q", "--hard", "HEAD~1")
            planned.git("stash", "pop", "-q")
            planned.git("commit", "-qam", "mine")
        else:
            planned.git("update-ref", "-d", "refs/heads/main")

    planned.run(Turn("ok", does=rewrite), Turn("ok"), maximum=2)

    assert before in planned.git("rev-list", "HEAD").split()
    assert planned.story("A")["reviewStatus"] == "needs_review"
    assert "rewrote the history of the branch main" in planned.prompts[1]
    assert planned.status() == ""
    assert (planned.root / "work.py").exists() is (how != "reset")


def test_a_review_that_resets_the_branch_has_its_changes_undone_too(planned: PlanProject) -> None:
    planned.plan(story_json("A", **NEEDED))
    (planned.root / "work.py").write_text("hours of it")
    planned.git("add", "-A")
    planned.git("commit", "-qm", "work")
    before = head(planned)

    def reset(request: AgentRequest) -> None:
        planned.git("reset", "-q", "--hard", "HEAD~1")
        planned.changes(**APPROVED).does(request)

    planned.run(Turn("ok", does=reset), maximum=1)

    assert (planned.root / "work.py").read_text() == "hours of it"
    assert before in planned.git("rev-list", "HEAD").split()
    assert not planned.story("A")["passes"]


def test_a_branch_to_which_git_cannot_go_back_blocks_the_run_and_nothing_is_judged(
    planned: PlanProject,
) -> None:
    planned.plan(story_json("A"))

    def lock(request: AgentRequest) -> None:
        planned.git("checkout", "-qb", "other", "HEAD~0")
        planned.changes(**NEEDED).does(request)
        (planned.root / ".git" / "index.lock").touch()
        (planned.root / ".git" / "HEAD.lock").touch()

    result = planned.run(Turn("ok", does=lock))
    assert (result.outcome, result.iterations) == (Outcome.WAITING, 1)
    assert "left the branch main for the branch other, and git cannot go back" in result.reason

    (planned.root / ".git" / "index.lock").unlink()
    (planned.root / ".git" / "HEAD.lock").unlink()
    planned.run(Turn("ok"), maximum=1)
    assert branch(planned) == "main"
    assert planned.story("A")["reviewStatus"] is None, "nobody judged it"


# --- hiding what was changed --------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["assume-unchanged", "skip-worktree", "exclude", "gitignore", "replace"])
def test_a_review_cannot_hide_from_git_what_it_changed(planned: PlanProject, how: str) -> None:
    planned.plan(story_json("A", **NEEDED))
    (planned.root / "code.py").write_text("old")
    planned.git("add", "-A")
    planned.git("commit", "-qm", "old")

    def hide(request: AgentRequest) -> None:
        if how in ("exclude", "gitignore"):
            ignored = ".git/info/exclude" if how == "exclude" else ".gitignore"
            (planned.root / ignored).write_text("hidden.py\n")
            (planned.root / "hidden.py").write_text("cheat")
        else:
            (planned.root / "code.py").write_text("new")
        if how == "replace":
            planned.git("commit", "-qam", "new")
            planned.git("replace", "HEAD~1", "HEAD")
        elif how not in ("exclude", "gitignore"):
            planned.git("update-index", f"--{how}", "code.py")
        planned.changes(**APPROVED).does(request)

    planned.run(Turn("ok", does=hide), Turn("ok"), maximum=2)

    assert (planned.root / "code.py").read_text() == "old"
    assert not (planned.root / "hidden.py").exists()
    assert not planned.story("A")["passes"]
    assert "Review iterations do not fix code" in planned.prompts[1]
    assert planned.status() == ""


def test_files_that_the_user_hid_from_git_stay_hidden_and_as_they_are(planned: PlanProject) -> None:
    planned.plan(story_json("A", **NEEDED))
    (planned.root / "local.ini").write_text("team")
    planned.git("add", "-A")
    planned.git("commit", "-qm", "old")
    planned.git("update-index", "--assume-unchanged", "local.ini")
    (planned.root / "local.ini").write_text("mine")

    result = planned.run(planned.changes(**APPROVED))

    assert result.outcome is Outcome.COMPLETED
    assert (planned.root / "local.ini").read_text() == "mine"
    assert planned.git("ls-files", "-v", "local.ini") == "h local.ini\n"


# --- sessions that nobody judged ---------------------------------------------------------------------------


def test_what_a_failed_session_left_uncommitted_is_committed_with_the_next(planned: PlanProject) -> None:
    planned.plan(story_json("A"))
    (planned.root / "mine.txt").write_text("a person's own")
    half = planned.changes(files={"half.py": "1"}, commit=False)

    planned.run(
        Turn(fault=Transient("overloaded"), does=half.does),
        planned.changes(commit=False, **NEEDED),
        maximum=1,
    )

    assert planned.git("show", "HEAD:half.py") == "1"
    assert planned.status() == "?? mine.txt\n"


def test_code_that_a_failed_review_changed_is_put_back_before_the_next_one_looks(
    planned: PlanProject,
) -> None:
    planned.plan(story_json("A", **NEEDED))
    (planned.root / "code.py").write_text("old")
    planned.git("add", "-A")
    planned.git("commit", "-qm", "old")
    seen: list[str] = []

    def look(request: AgentRequest) -> None:
        seen.append((planned.root / "code.py").read_text())

    meddling = planned.changes(files={"code.py": "new"})
    planned.run(Turn(fault=Transient("overloaded"), does=meddling.does), Turn("ok", does=look), maximum=1)

    assert seen == ["old"]
    assert "Review iterations do not fix code" in planned.prompts[1]


def test_a_run_that_ends_at_its_limit_leaves_the_files_to_the_user(planned: PlanProject) -> None:
    """Work is asked for before the limit is looked at: no session had begun, and what follows is a person's doing."""
    planned.plan(story_json("A"))
    assert planned.run(planned.changes(**NEEDED), maximum=1).outcome is Outcome.EXHAUSTED
    (planned.root / "ralph" / "prd.md").write_text("the user's new words")

    planned.run(planned.changes(**APPROVED), maximum=2)

    assert (planned.root / "ralph" / "prd.md").read_text() == "the user's new words"


def test_at_the_cap_a_person_asks_for_one_more_review_and_resumes(planned: PlanProject) -> None:
    changes: dict[str, Any] = {"reviewStatus": "changes_requested", "reviewCount": 1, "reviewFeedback": "bad"}
    planned.plan(story_json("A", **NEEDED))
    result = planned.run(planned.changes(**changes), cap=1, block_at_cap=True)
    assert result.outcome is Outcome.WAITING

    planned.changes(**NEEDED).does(None)  # type: ignore[arg-type]
    result = planned.run(planned.changes(**{**APPROVED, "reviewCount": 2}), cap=1, block_at_cap=True)

    assert result.outcome is Outcome.COMPLETED


def test_a_second_refusal_beyond_the_cap_says_what_really_helps(planned: PlanProject) -> None:
    def refused(count: int) -> Turn:
        return planned.changes(reviewStatus="changes_requested", reviewCount=count, reviewFeedback="bad")

    planned.plan(story_json("A", **NEEDED))
    assert "set its reviewStatus to needs_review" in planned.run(refused(1), cap=1, block_at_cap=True).hint
    planned.changes(**NEEDED).does(None)  # type: ignore[arg-type]
    result = planned.run(refused(2), cap=1, block_at_cap=True)
    assert result.hint == "to allow another review: `ralph plan run --review-cap 3`"

    result = planned.run(
        planned.changes(**NEEDED), planned.changes(**{**APPROVED, "reviewCount": 3}), cap=3, block_at_cap=True
    )
    assert result.outcome is Outcome.COMPLETED


def test_a_memory_of_the_plan_that_is_damaged_is_not_replaced_by_what_a_session_says(
    planned: PlanProject,
) -> None:
    planned.plan(story_json("A"))
    planned.run(Turn("ok"), maximum=1)
    (planned.aside / "plan.json").write_text("{")

    with pytest.raises(StoreError, match=r"plan\.json"):
        planned.run(Turn("ok"))


def test_a_command_that_is_put_before_the_plans_own_does_not_help_them_to_pass(planned: PlanProject) -> None:
    planned.plan(story_json("A", **NEEDED), verifyCommands=["test -f proven"])

    def help_it(request: AgentRequest) -> None:
        raw = json.loads(planned.tasks.read_text())
        raw["verifyCommands"].insert(0, "touch proven")
        planned.tasks.write_text(json.dumps(raw))
        planned.changes(**APPROVED).does(request)

    planned.run(Turn("ok", does=help_it), maximum=1)

    assert not planned.story("A")["passes"]
    assert json.loads(planned.tasks.read_text())["verifyCommands"] == ["test -f proven", "touch proven"]
