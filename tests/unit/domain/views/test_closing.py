"""The closing block of a run: what changed, and how to look, continue and undo."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ralph.domain.loop.budget import Budget
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import RunEnded, RunStarted
from ralph.domain.loop.session_report import Spend
from ralph.domain.loop.state import LoopState
from ralph.domain.loop.tree_change import TreeChange
from ralph.domain.tasks.task import Task, TaskStatus
from ralph.domain.views.closing import Closing, closing_figures

BEFORE = "0123456789abcdef0123456789abcdef01234567"


def closing(
    outcome: Outcome = Outcome.COMPLETED,
    *,
    profile: str = "basic",
    maximum: int | None = 10,
    iterations: int = 3,
    more: str = "",
    hint: str = "",
    tree: TreeChange | None = None,
    allows: bool = False,
    resumed: bool = False,
    place: str = "",
) -> Closing:
    started = RunStarted("r1", profile, "claude", "/work", maximum, resumed=resumed)
    ended = RunEnded(outcome, "", iterations, Spend(), 1.0, hint=hint, more=more, tree=tree)
    return Closing(started=started, ended=ended, allows=allows, place=place)


@pytest.mark.parametrize(
    ("profile", "maximum", "outcome", "iterations", "more", "command"),
    [
        ("basic", 10, Outcome.COMPLETED, 3, "", ""),
        ("basic", 10, Outcome.FAILED, 3, "", "ralph resume r1"),
        ("verified", None, Outcome.FAILED, 3, "", ""),
        ("basic", 10, Outcome.CANCELLED, 3, "", "ralph resume"),
        ("reviewed", 10, Outcome.WAITING, 10, "", "ralph resume"),
        ("basic", 10, Outcome.EXHAUSTED, 10, "-m 20", "ralph resume -m 20"),
        ("basic", 10, Outcome.EXHAUSTED, 3, "--max-cost 2.00", "ralph resume --max-cost 2.00"),
        ("supervised", 3, Outcome.EXHAUSTED, 3, "", "ralph resume -m 6"),
        ("supervised", 9, Outcome.EXHAUSTED, 3, "", "ralph resume -m 9"),
        ("verified", None, Outcome.EXHAUSTED, 3, "", "ralph work"),
        ("draft", 5, Outcome.EXHAUSTED, 5, "", "ralph plan draft"),
    ],
)
def test_a_run_that_is_not_done_says_how_to_continue(
    profile: str, maximum: int | None, outcome: Outcome, iterations: int, more: str, command: str
) -> None:
    def resume(*, allows: bool = False) -> str:
        return closing(
            outcome, profile=profile, maximum=maximum, iterations=iterations, more=more, allows=allows
        ).resume

    advice = f"To continue: `{command}`" if command else ""
    assert resume() == advice
    allowing = f"{advice}; to allow what was changed: add --allow-test-changes FILE" if advice else ""
    assert resume(allows=True) == allowing


def test_what_must_be_done_before_ralph_work_is_the_only_advice() -> None:
    assert closing(Outcome.EXHAUSTED, profile="verified", hint="`ralph task retry A` first").resume == ""


@pytest.mark.parametrize(
    ("budget", "state", "options"),
    [
        (Budget(iterations=10), LoopState(iteration=10), "-m 20"),
        (Budget(iterations=10), LoopState(iteration=3), ""),
        (Budget(iterations=10, stuck_after=3), LoopState(iteration=4, unchanged=3), "-m 10"),
        (Budget(stuck_after=3), LoopState(iteration=4, unchanged=3), "-m 14"),
        (Budget(cost_usd=1.5), LoopState(spend=Spend(1.6)), "--max-cost 3.20"),
        (Budget(seconds=60, iterations=2), LoopState(iteration=2, seconds=61), "-m 4 --max-time 122"),
    ],
)
def test_the_options_to_continue_raise_every_limit_that_is_reached(
    budget: Budget, state: LoopState, options: str
) -> None:
    assert bool(options) == (budget.exceeded(state) is not None)
    assert budget.raised(state) == options


@pytest.mark.parametrize(
    ("tree", "changed", "undo"),
    [
        (None, "", ""),
        (TreeChange(began_with=BEFORE), "no files changed", ""),
        (
            TreeChange(began_with=BEFORE, files=1, uncommitted=1, named=("a b.py",)),
            "1 file changed, uncommitted: see `git diff`",
            "To undo: `git stash push -u -- 'a b.py'` (`git stash pop` brings it back)",
        ),
        (
            TreeChange(began_with=BEFORE, files=9, uncommitted=9, new=9, named=("a.py",)),
            "9 files changed, uncommitted: see `git status`",
            "To undo: `git stash push -u -- . ':!.ralph'` (`git stash pop` brings it back)",
        ),
        (
            TreeChange(began_with=BEFORE, files=9, uncommitted=9, named=("a.py",), was_clean=False),
            "9 files changed, uncommitted: see `git diff`",
            "To undo: by hand; the commit before the run is 0123456789",
        ),
        (
            TreeChange(began_with=BEFORE, files=2, uncommitted=2, named=("a", "b"), mixed=1, was_clean=False),
            "2 files changed, uncommitted (1 with changes of yours from before the run): see `git diff`",
            "To undo: by hand; the commit before the run is 0123456789",
        ),
        (
            TreeChange(began_with=BEFORE, files=3, commits=2),
            "3 files changed, in 2 commits: see `git diff 0123456789`",
            "To undo: `git reset --keep 0123456789`",
        ),
        (
            TreeChange(began_with=BEFORE, files=3, commits=1, uncommitted=1, new=1, named=("new.py",)),
            "3 files changed, in 1 commit, 1 of them uncommitted: see `git diff 0123456789` and `git status`",
            (
                "To undo: `git stash push -u -- new.py && git reset --keep 0123456789` "
                "(`git stash pop` brings back what was uncommitted)"
            ),
        ),
        (
            TreeChange(began_with=BEFORE, files=3, commits=1, is_ahead=False),
            "3 files changed, in 1 commit: see `git diff 0123456789`",
            "To undo: by hand; the commit before the run is 0123456789",
        ),
        (
            TreeChange(began_with="", files=1, uncommitted=1, new=1, named=("a.py",)),
            "1 file changed, uncommitted: see `git status`",
            "To undo: by hand, there was no commit before the run",
        ),
    ],
)
def test_it_says_what_changed_and_how_to_undo_it(tree: TreeChange | None, changed: str, undo: str) -> None:
    end = closing(tree=tree)
    assert (end.changed, end.undo) == (changed, undo)


def test_commands_name_the_place_and_the_run_where_they_must() -> None:
    tree = TreeChange(began_with=BEFORE, files=1, uncommitted=1, named=("a.py",))
    end = closing(Outcome.CANCELLED, tree=tree, resumed=True, place="/my work")
    assert end.lines == [
        "1 file changed, uncommitted: see `git -C '/my work' diff`",
        "To look: `ralph report r1 --open --project-dir '/my work'`",
        "To continue: `ralph resume --project-dir '/my work'`",
        "To undo: `git -C '/my work' stash push -u -- a.py` (`git -C '/my work' stash pop` brings it back)",
    ]


def test_the_figures_tell_of_claims_that_were_denied() -> None:
    ended = RunEnded(Outcome.COMPLETED, "", 3, Spend(0.5), 6.0, denied=2)
    assert closing_figures(ended) == "iterations: 3, cost: $0.50, time: 6.0s, claims denied: 2"


@pytest.mark.parametrize(
    ("status", "worktree", "advice"),
    [
        (TaskStatus.FAILED, True, "To continue: `ralph task retry T-1`, then `ralph work`"),
        (TaskStatus.OPEN, True, "To continue: `ralph work`"),
        (TaskStatus.ACCEPTED, True, "To continue: `ralph work`"),
        (TaskStatus.DONE, False, ""),
    ],
)
def test_a_part_of_work_says_what_fits_its_task_and_its_worktree(
    status: TaskStatus, worktree: bool, advice: str
) -> None:
    tree = TreeChange(began_with=BEFORE, files=1, uncommitted=1, named=("app.py",), was_clean=True)
    whole = closing(Outcome.EXHAUSTED, profile="verified", tree=tree)
    lines = replace(whole, task=Task(id="T-1", title="Add", status=status)).lines

    assert ("its work so far: see `git -C /work status`" in lines) == worktree
    assert [line for line in lines if "continue" in line] == [advice] * bool(advice)
    assert "To look: `ralph report r1 --open`" in lines
    assert not any("stash" in line for line in lines), "there is nothing to undo in the user's checkout"
