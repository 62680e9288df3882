"""The review cycle over a real repository: what is enforced, whatever a session does."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from tests.plan_documents import story_json

from ralph.adapters.documents.plan_files import PlanFiles
from ralph.adapters.workspace.plan_repository import GitPlanRepository
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import CheckEnded, CheckStarted, IterationEnded
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.session_report import Hindrance, Obstacle, Spend, Transient
from ralph.domain.plan.correction import AT_CAP
from ralph.engine.ports import AgentRequest, Judging, When
from ralph.testing.scripted_agent import Turn

from .plan_project import PlanProject

NEEDED: dict[str, Any] = {"reviewStatus": "needs_review", "notes": "built", "reviewFeedback": ""}
CHANGES: dict[str, Any] = {
    "reviewStatus": "changes_requested",
    "reviewCount": 1,
    "reviewFeedback": "handle empty input",
}
APPROVED: dict[str, Any] = {"reviewStatus": "approved", "passes": True, "notes": "built"}


def modes(planned: PlanProject) -> list[str]:
    return [prompt.split("Mode: **")[1].split("**")[0] for prompt in planned.prompts]


def test_a_story_goes_through_implement_review_fix_and_re_review(planned: PlanProject) -> None:
    planned.plan(story_json("A"), verifyCommands=["test -f code.py"])

    result = planned.run(
        planned.changes(files={"code.py": "1"}, **NEEDED),
        planned.changes(**CHANGES),
        planned.changes(files={"code.py": "2"}, **NEEDED),
        planned.changes(**APPROVED, reviewCount=2),
    )

    assert (result.outcome, result.iterations) == (Outcome.COMPLETED, 4)
    assert result.reason == "1 story approved; reviews: A 2"
    assert modes(planned) == ["Implement", "Review", "Review-Fix", "Review"]
    assert "iteration 3 of 15" in planned.prompts[2]
    assert "handle empty input" in planned.prompts[2]
    assert "This is review 2 of at most 5: set `reviewCount` to 2." in planned.prompts[3]
    assert planned.verdicts[-2:] == ["test -f code.py: passed", "verifyCommands: passed"]
    ran, proven = [event.result for event in planned.events if isinstance(event, CheckEnded)][-2:]
    assert (proven.seconds, proven.contains) == (ran.seconds, 1)
    accepted = [event.reason for event in planned.events if isinstance(event, IterationEnded)][-1]
    assert accepted == "3 checks passed", "the audit, the command and the verifyCommands as a whole"
    assert planned.status() == ""
    assert result.concerns == ()


def test_two_stories_in_the_order_of_their_dependencies_end_with_the_right_figures(
    planned: PlanProject,
) -> None:
    planned.plan(story_json("A", dependsOn=["B"]), story_json("B"))

    result = planned.run(
        planned.changes("B", **NEEDED),
        planned.changes("B", **APPROVED, reviewCount=1),
        planned.changes("A", **NEEDED),
        planned.changes("A", **CHANGES),
        planned.changes("A", **NEEDED),
        planned.changes("A", **APPROVED, reviewCount=2),
    )

    assert (result.outcome, result.iterations) == (Outcome.COMPLETED, 6)
    assert result.reason == "2 stories approved; reviews: A 2, B 1"


def test_an_implementation_that_approves_itself_is_undone_committed_and_told(planned: PlanProject) -> None:
    planned.plan(story_json("A"))

    result = planned.run(
        planned.changes(files={"code.py": "1"}, **APPROVED, reviewCount=1),
        planned.changes(**NEEDED),
        planned.changes(**APPROVED, reviewCount=1),
    )

    assert (result.outcome, result.iterations) == (Outcome.COMPLETED, 3)
    assert "ralph: correct the plan after [A] implement" in planned.log()
    assert modes(planned) == ["Implement", "Implement", "Review"]
    assert "Only review iterations may approve. Story A had illegal transition" in planned.prompts[1]
    assert "Undone" not in planned.prompts[2]


def test_what_was_undone_is_told_to_the_next_session_even_if_it_is_about_another_story(
    planned: PlanProject,
) -> None:
    planned.plan(story_json("A"), story_json("B", acceptanceCriteria=["fast"]))

    def both(request: AgentRequest) -> None:
        planned.changes("B", acceptanceCriteria=["whatever"]).does(request)
        planned.changes("A", **NEEDED).does(request)

    planned.run(Turn("ok", does=both), Turn("looked"), maximum=2)

    assert modes(planned) == ["Implement", "Review"]
    assert "acceptance criteria of story B" in planned.prompts[1]
    assert planned.story("B")["acceptanceCriteria"] == ["fast", "whatever"]


def test_a_damaged_task_list_is_put_back_and_the_damage_is_kept(planned: PlanProject) -> None:
    planned.plan(story_json("A"))

    def damage(request: AgentRequest) -> None:
        planned.tasks.write_text('{"userStories": [')
        planned.git("commit", "-qam", "oops")

    planned.run(Turn("ok", does=damage), Turn("ok"), maximum=2)

    assert planned.story("A")["reviewStatus"] is None
    assert "tasks.json was damaged" in planned.prompts[1]
    (kept,) = planned.aside.glob("*_tasks.json")
    assert kept.read_text() == '{"userStories": ['
    assert planned.status() == ""


@pytest.mark.parametrize("how", ["removed", "link", "folder", "pipe", "bytes", "whole folder"])
def test_whatever_is_put_in_the_place_of_tasks_json_it_comes_back(planned: PlanProject, how: str) -> None:
    planned.plan(story_json("A"))

    def replace(request: AgentRequest) -> None:
        if how == "whole folder":
            (planned.root / "ralph").rename(planned.root / "elsewhere")
            (planned.root / "ralph").symlink_to(os.devnull)
            return
        planned.tasks.unlink()
        if how == "link":
            planned.tasks.symlink_to("/dev/zero")
        elif how == "folder":
            planned.tasks.mkdir()
        elif how == "pipe":
            os.mkfifo(planned.tasks)
        elif how == "bytes":
            planned.tasks.write_bytes(b"\xff\xfe{}")

    planned.run(Turn("ok", does=replace), maximum=1)

    assert planned.tasks.is_file()
    assert not planned.tasks.is_symlink()
    assert planned.story("A") == story_json("A")
    assert (planned.root / "ralph" / "prd.md").is_file()


def test_a_folder_that_was_made_read_only_is_no_way_out(planned: PlanProject) -> None:
    planned.plan(story_json("A"))

    def lock(request: AgentRequest) -> None:
        planned.tasks.write_text("{}")
        planned.tasks.chmod(0)
        planned.tasks.parent.chmod(0o500)

    planned.run(Turn("ok", does=lock), maximum=1)

    assert planned.story("A") == story_json("A")


def test_a_session_that_approves_a_thousand_stories_does_not_fill_the_next_prompt(
    planned: PlanProject,
) -> None:
    planned.plan(*(story_json(f"S{n}") for n in range(1000)))

    def approve_all(request: AgentRequest) -> None:
        raw = json.loads(planned.tasks.read_text())
        for story in raw["userStories"]:
            story.update(APPROVED, reviewCount=1)
        planned.tasks.write_text(json.dumps(raw))

    planned.run(Turn("ok", does=approve_all), Turn("ok"), maximum=2)

    assert "more changes were undone." in planned.prompts[1]
    assert len(planned.prompts[1]) < 20_000
    assert not any(story["passes"] for story in json.loads(planned.tasks.read_text())["userStories"])


def test_vanished_stories_are_restored(planned: PlanProject) -> None:
    planned.plan(story_json("A"), story_json("B"))

    def drop(request: AgentRequest) -> None:
        raw = json.loads(planned.tasks.read_text())
        raw["userStories"] = raw["userStories"][:1]
        planned.tasks.write_text(json.dumps(raw))

    planned.run(Turn("ok", does=drop), maximum=1)

    assert planned.story("B") == story_json("B")


def test_the_prd_and_the_prompt_are_read_only(planned: PlanProject) -> None:
    planned.plan(story_json("A"))
    prd = (planned.root / "ralph" / "prd.md").read_text()

    planned.run(
        planned.changes(files={"ralph/prd.md": "do less", "ralph/prompt.md": "approve all"}, **NEEDED),
        Turn("ok"),
        maximum=2,
    )

    assert (planned.root / "ralph" / "prd.md").read_text() == prd
    assert "prd.md is read-only" in planned.prompts[1]
    assert "Ralph Loop: iteration 2" in planned.prompts[1]
    assert {path.read_text() for path in planned.aside.glob("*_prd.md")} == {"do less"}
    assert planned.status() == ""


def test_a_review_that_fixes_code_is_put_back_and_its_approval_does_not_count(planned: PlanProject) -> None:
    planned.plan(story_json("A", **NEEDED))
    (planned.root / "old.py").write_text("old")
    planned.git("add", "-A")
    planned.git("commit", "-qm", "old")

    result = planned.run(
        planned.changes(
            files={"old.py": "new", "src/new.py": "x", "CLAUDE.md": "use bun", ".claude/rules/a.md": "b", "ralph/progress.txt": "p"},
            **APPROVED, reviewCount=1,
        ),
        planned.changes(**APPROVED, reviewCount=1),
    )  # fmt: skip

    assert (result.outcome, result.iterations) == (Outcome.COMPLETED, 2)
    assert (planned.root / "old.py").read_text() == "old"
    assert not (planned.root / "src").exists()
    assert (planned.root / "CLAUDE.md").read_text() == "use bun"
    assert (planned.root / ".claude/rules/a.md").exists()
    assert "Review iterations do not fix code" in planned.prompts[1]
    assert "old.py, src/new.py" in planned.prompts[1]
    assert sorted(path.read_text() for path in (planned.aside / "undone").iterdir()) == ["new", "x"]
    assert planned.status() == ""


def test_uncommitted_code_of_a_review_is_put_back_but_what_was_uncommitted_before_stays(
    planned: PlanProject,
) -> None:
    planned.plan(story_json("A", **NEEDED))
    (planned.root / "mine.txt").write_text("a person's own")

    planned.run(
        planned.changes(files={"junk.log": "x"}, commit=False, **CHANGES),
        Turn("ok"),
        maximum=2,
    )

    assert not (planned.root / "junk.log").exists()
    assert (planned.root / "mine.txt").read_text() == "a person's own"
    assert planned.status() == "?? mine.txt\n"
    assert planned.story("A")["reviewStatus"] == "changes_requested"


def test_what_a_session_forgot_to_commit_is_committed_and_nothing_else(planned: PlanProject) -> None:
    planned.plan(story_json("A"))
    (planned.root / "mine.txt").write_text("a person's own")

    planned.run(planned.changes(files={"code.py": "1"}, commit=False, **NEEDED), Turn("ok"), maximum=2)

    assert planned.status() == "?? mine.txt\n"
    assert planned.log()[0] == "chore: [A] - commit what the implement session left uncommitted"
    assert "left uncommitted changes" in planned.prompts[1]
    assert modes(planned) == ["Implement", "Review"]


def test_an_approval_with_failing_commands_becomes_changes_requested_with_their_output(
    planned: PlanProject,
) -> None:
    planned.plan(story_json("A", **NEEDED), verifyCommands=["echo all is lost; exit 3", "true"])

    result = planned.run(planned.changes(**APPROVED, reviewCount=1), Turn("ok"), maximum=2)

    assert result.outcome is Outcome.EXHAUSTED
    story = planned.story("A")
    assert (story["passes"], story["reviewStatus"], story["reviewCount"]) == (False, "changes_requested", 1)
    assert "all is lost" in story["reviewFeedback"]
    assert modes(planned) == ["Review", "Review-Fix"]
    assert "all is lost" in planned.prompts[1]
    assert planned.log()[0] == "ralph: refuse the approval of [A]"
    assert planned.status() == ""


def test_an_approval_needs_tests_that_ran(planned: PlanProject) -> None:
    planned.plan(story_json("A", **NEEDED), verifyCommands=["echo 'no tests ran in 0.01s'"])

    planned.run(planned.changes(**APPROVED, reviewCount=1), maximum=1)

    assert planned.story("A")["reviewStatus"] == "changes_requested"
    assert "pytest ran no test" in planned.story("A")["reviewFeedback"]


def test_the_users_guardrails_deny_an_approval_too(planned: PlanProject) -> None:
    planned.plan(story_json("A", **NEEDED))

    planned.run(planned.changes(**APPROVED, reviewCount=1), maximum=1, guardrails=("exit 7",))

    assert planned.story("A")["reviewStatus"] == "changes_requested"
    assert "exit code 7" in planned.story("A")["reviewFeedback"]


def test_added_verify_commands_count_and_removed_ones_come_back(planned: PlanProject) -> None:
    planned.plan(story_json("A", **NEEDED), verifyCommands=["exit 4"])

    def weaken(request: AgentRequest) -> None:
        raw = json.loads(planned.tasks.read_text())
        raw["verifyCommands"] = ["true"]
        planned.tasks.write_text(json.dumps(raw))
        planned.changes(**APPROVED, reviewCount=1).does(request)

    planned.run(Turn("ok", does=weaken), maximum=1)

    assert json.loads(planned.tasks.read_text())["verifyCommands"] == ["exit 4", "true"]
    assert not planned.story("A")["passes"]


def test_at_the_cap_a_story_is_approved_with_a_concern(planned: PlanProject) -> None:
    planned.plan(story_json("A"))

    result = planned.run(planned.changes(**NEEDED), planned.changes(**CHANGES), cap=1)

    assert (result.outcome, result.iterations) == (Outcome.COMPLETED, 2)
    assert result.concerns == (f"story A was approved at the cap: {AT_CAP} handle empty input",)
    assert result.reason == "1 story approved; reviews: A 1; approved at the cap: A"
    assert planned.story("A")["reviewFeedback"] == f"{AT_CAP} handle empty input"
    assert planned.story("A")["passes"] is True
    assert planned.status() == ""
    assert "The cap is reached" in planned.prompts[1]


def test_at_the_cap_with_failing_commands_the_run_is_blocked(planned: PlanProject) -> None:
    planned.plan(story_json("A", **NEEDED), verifyCommands=["exit 1"])

    result = planned.run(planned.changes(**CHANGES), cap=1)

    assert (result.outcome, result.iterations) == (Outcome.WAITING, 1)
    assert result.reason.startswith("story A has had 1 of 1 reviews and is not approved: ")
    assert not planned.story("A")["passes"]


def test_the_strict_choice_blocks_at_the_cap_and_a_person_may_ask_for_one_more_review(
    planned: PlanProject,
) -> None:
    planned.plan(story_json("A", **NEEDED))
    result = planned.run(planned.changes(**CHANGES), cap=1, block_at_cap=True)
    assert result.outcome is Outcome.WAITING

    planned.changes(**NEEDED).does(None)  # type: ignore[arg-type]
    for left in planned.aside.iterdir():
        left.unlink()
    result = planned.run(planned.changes(**APPROVED, reviewCount=2), cap=1, block_at_cap=True)
    assert result.outcome is Outcome.COMPLETED


def test_with_reviews_skipped_the_implementation_passes_itself_once_the_commands_agree(
    planned: PlanProject,
) -> None:
    planned.plan(story_json("A"), story_json("B"), verifyCommands=["test -f good"])

    result = planned.run(
        planned.changes("A", passes=True, notes="n"),
        planned.changes("A", files={"good": ""}, passes=True),
        planned.changes("B", passes=True, notes="n"),
        skip=True,
    )

    assert (result.outcome, result.iterations) == (Outcome.COMPLETED, 3)
    assert result.reason == "2 stories done, reviews skipped"
    assert "did not accept the approval" in planned.prompts[1]
    assert (planned.story("A")["reviewStatus"], planned.story("A")["reviewCount"]) == (None, 0)
    assert "Reviews are skipped in this run" in planned.prompts[0]


def test_an_iteration_that_moves_nothing_is_told_so_and_a_split_is_progress(planned: PlanProject) -> None:
    planned.plan(story_json("A"))

    def split(request: AgentRequest) -> None:
        raw = json.loads(planned.tasks.read_text())
        raw["userStories"][0]["dependsOn"] = ["A-1"]
        raw["userStories"].append(story_json("A-1", priority=5))
        planned.tasks.write_text(json.dumps(raw))
        planned.git("commit", "-qam", "split")

    planned.run(Turn("hm"), Turn("ok", does=split), Turn("ok"), maximum=3)

    assert planned.verdicts[::2] == ["plan: failed", "plan: passed", "plan: failed"]
    assert "The session left story A as it was" in planned.prompts[1]
    assert "Story: **A-1**" in planned.prompts[2]


def test_complete_is_not_believed_while_stories_are_left_and_not_needed_when_none_is(
    planned: PlanProject,
) -> None:
    planned.plan(story_json("A"))

    claiming = Turn("<promise>COMPLETE</promise>", does=planned.changes(**NEEDED).does)
    result = planned.run(claiming, planned.changes(**APPROVED, reviewCount=1))

    assert (result.outcome, result.iterations) == (Outcome.COMPLETED, 2)
    assert "was claimed, but these stories are not done: A" in planned.prompts[1]


def test_a_session_that_was_not_judged_moves_nothing(planned: PlanProject) -> None:
    planned.plan(story_json("A", **NEEDED))

    def approve(request: AgentRequest) -> None:
        planned.changes(files={"ralph/prd.md": "less"}, **APPROVED, reviewCount=1).does(request)

    planned.run(Turn(fault=Transient("overloaded"), does=approve), Turn("ok"), maximum=1)

    assert planned.story("A")["reviewStatus"] == "needs_review"
    assert "outside of a judged session" in planned.prompts[1]
    assert (planned.root / "ralph" / "prd.md").read_text() != "less"


def test_a_killed_session_moves_nothing_after_the_resume_either(planned: PlanProject) -> None:
    planned.plan(story_json("A", **NEEDED))

    def die(request: AgentRequest) -> None:
        planned.changes(files={"ralph/prd.md": "less"}, **APPROVED, reviewCount=1).does(request)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        planned.run(Turn(does=die))
    assert planned.story("A")["passes"]

    result = planned.run(Turn("ok"), planned.changes(**APPROVED, reviewCount=1))

    assert (result.outcome, result.iterations) == (Outcome.COMPLETED, 2)
    assert modes(planned) == ["Review", "Review"]
    assert (planned.root / "ralph" / "prd.md").read_text() != "less"


def test_a_crash_between_an_approval_and_its_proofs_forgets_the_approval(planned: PlanProject) -> None:
    planned.plan(story_json("A", **NEEDED), verifyCommands=["test -f proven"])

    class Killed(BaseException):
        pass

    class Events(list[Any]):
        def append(self, event: Any) -> None:
            if getattr(event, "name", "") == "test -f proven":
                raise Killed
            super().append(event)

    planned.events = Events()
    with pytest.raises(Killed):
        planned.run(planned.changes(**APPROVED, reviewCount=1))
    assert planned.story("A")["passes"]

    planned.events = []
    result = planned.run(Turn("ok"), maximum=1)

    assert result.outcome is Outcome.EXHAUSTED
    assert not planned.story("A")["passes"]


@pytest.mark.parametrize(
    ("before", "session", "command", "decision", "then"),
    [
        pytest.param({}, NEEDED, "false", "accept", "needs_review", id="built"),
        pytest.param(NEEDED, {}, "false", "continue", "needs_review", id="left as it was"),
        pytest.param(NEEDED, {**APPROVED, "reviewCount": 1}, "true", "accept", "approved", id="approved"),
        pytest.param(
            NEEDED, {**APPROVED, "reviewCount": 1}, "false", "continue", "changes_requested", id="refused"
        ),
    ],
)
def test_a_crash_after_the_last_word_on_a_story_counts_the_iteration(
    planned: PlanProject, before: Any, session: Any, command: str, decision: str, then: str
) -> None:
    planned.plan(story_json("A", **before), verifyCommands=[command])

    class Killed(BaseException):
        pass

    class Events(list[Any]):
        def append(self, event: Any) -> None:
            if isinstance(event, IterationEnded):
                raise Killed
            super().append(event)

    planned.events = Events()
    with pytest.raises(Killed):
        planned.run(Turn("ok", does=planned.changes(**session).does, spend=Spend(cost_usd=0.5)))

    planned.events = []
    result = planned.run(resume=planned.states[-1], maximum=1)

    (ended,) = [event for event in planned.events if isinstance(event, IterationEnded)]
    assert (ended.iteration, ended.attempt, ended.decision, ended.spend.cost_usd) == (1, 1, decision, 0.5)
    assert (result.iterations, planned.prompts) == (1, []), "it was not repeated"
    assert planned.story("A")["reviewStatus"] == then
    assert result.outcome is (Outcome.COMPLETED if then == "approved" else Outcome.EXHAUSTED)

    planned.run(maximum=0)
    assert len([event for event in planned.events if isinstance(event, IterationEnded)]) == 1, (
        "not by a new run"
    )


def test_a_stop_after_the_audit_is_on_record_once(planned: PlanProject) -> None:
    planned.plan(story_json("A"))

    class Events(list[Any]):
        def append(self, event: Any) -> None:
            super().append(event)
            if isinstance(event, CheckStarted) and event.name == "plan":
                planned.stop()

    planned.events = Events()
    assert planned.run(planned.changes(**NEEDED)).outcome is Outcome.CANCELLED

    planned.events = list(planned.events)
    planned.run(planned.changes(**APPROVED, reviewCount=1), resume=planned.states[-1])

    ended = [event for event in planned.events if isinstance(event, IterationEnded)]
    assert [(event.iteration, event.attempt, event.decision) for event in ended] == [
        (1, 1, "stop"),
        (1, 2, "accept"),
    ]


@pytest.mark.parametrize(
    ("owner", "name", "mark"),
    [(GitPlanRepository, "commit", "ralph: refuse"), (PlanFiles, "save_trusted", "changes_requested")],
    ids=["before it is committed", "before it is remembered"],
)
def test_a_crash_in_a_refusal_repeats_the_review_and_leaves_nothing_uncommitted(
    planned: PlanProject, monkeypatch: pytest.MonkeyPatch, owner: type, name: str, mark: str
) -> None:
    planned.plan(story_json("A", **NEEDED), verifyCommands=["false"])
    approves = planned.changes(**APPROVED, reviewCount=1)
    does = getattr(owner, name)

    def killed(*arguments: Any) -> Any:
        if mark in str(arguments[-1]):
            raise KeyboardInterrupt
        return does(*arguments)

    monkeypatch.setattr(owner, name, killed)
    with pytest.raises(KeyboardInterrupt):
        planned.run(approves)
    monkeypatch.setattr(owner, name, does)

    result = planned.run(approves, resume=planned.states[-1], maximum=1)

    assert (result.iterations, modes(planned), planned.status()) == (1, ["Review"], "")
    assert planned.story("A")["reviewCount"] == 1


class HinderedCheck:
    """Whoever should judge cannot."""

    name = command = "fresh eyes"
    when = When.ALWAYS

    async def run(self, judging: Judging) -> CheckResult:
        hindrance = Hindrance(Obstacle.FATAL, "not logged in")
        return CheckResult(self.name, Verdict.ERRORED, reason="not logged in", hindrance=hindrance)


def test_a_review_that_nobody_could_judge_is_repeated_after_the_resume_and_counts_once(
    planned: PlanProject,
) -> None:
    planned.plan(story_json("A", **NEEDED))
    approves = planned.changes(**APPROVED, reviewCount=1)
    result = planned.run(approves, layers=(HinderedCheck(),))
    assert (result.outcome, result.iterations) == (Outcome.FAILED, 0)

    result = planned.run(approves, resume=planned.states[-1])

    assert (result.outcome, result.iterations, modes(planned)) == (Outcome.COMPLETED, 1, ["Review"])


def test_a_person_may_add_stories_while_the_run_goes_on(planned: PlanProject) -> None:
    planned.plan(story_json("A"))

    class Events(list[Any]):
        added = False

        def append(self, event: Any) -> None:
            if type(event).__name__ == "IterationEnded" and not self.added:
                self.added = True
                raw = json.loads(planned.tasks.read_text())
                raw["userStories"].append(story_json("B"))
                planned.tasks.write_text(json.dumps(raw))
            super().append(event)

    planned.events = Events()
    result = planned.run(
        planned.changes("A", **NEEDED),
        planned.changes("A", **APPROVED, reviewCount=1),
        planned.changes("B", **NEEDED),
        planned.changes("B", **APPROVED, reviewCount=1),
    )

    assert (result.outcome, result.iterations) == (Outcome.COMPLETED, 4)


def test_a_plan_that_breaks_the_invariants_already_is_blocked_with_the_reason(planned: PlanProject) -> None:
    planned.plan(story_json("A", passes=True, notes="n"), story_json("B"))

    result = planned.run(Turn("ok"))

    assert (result.outcome, result.iterations) == (Outcome.WAITING, 0)
    assert "has passes=true but reviewStatus is 'null', not 'approved'" in result.reason


def test_without_git_the_plan_itself_is_enforced_all_the_same(planned: PlanProject) -> None:
    planned.plan(story_json("A"))
    planned.uses_git = False

    result = planned.run(
        planned.changes(files={"ralph/prd.md": "less"}, commit=False, **APPROVED, reviewCount=1),
        planned.changes(commit=False, **NEEDED),
        planned.changes(commit=False, **APPROVED, reviewCount=1),
    )

    assert (result.outcome, result.iterations) == (Outcome.COMPLETED, 3)
    assert "Only review iterations may approve" in planned.prompts[1]
    assert (planned.root / "ralph" / "prd.md").read_text() != "less"
