"""Which run a command means when none is named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ralph.domain.loop.asks import Ask
from ralph.domain.views import runs as run_choice
from ralph.domain.views.runs import RunState, RunView

HERE, THERE = "/project", "/project-worktree"


def run(
    name: str, state: RunState, *, at: float, root: str = HERE, live: bool = False, parent: str = ""
) -> RunView:
    return RunView(
        id=name,
        profile="basic",
        agent="claude",
        root=root,
        state=state,
        live=live,
        iteration=1,
        maximum=10,
        cost_usd=None,
        tokens=0,
        last_check=None,
        started_at=at,
        active_at=at,
        ended_at=None,
        waits_until=None,
        reason="",
        parent_id=parent,
    )


def test_runs_of_another_working_tree_and_child_runs_are_not_meant() -> None:
    own = run("own", RunState.RUNNING, at=1, live=True)
    child = run("child", RunState.RUNNING, at=2, live=True, parent="own")
    other = run("other", RunState.RUNNING, at=3, live=True, root=THERE)
    assert run_choice.live_runs([own, child, other], HERE) == [own]
    assert run_choice.live_runs([own, child, other], THERE) == [other]


def test_a_run_whose_parent_is_in_another_record_is_its_own_here() -> None:
    orphan = run("orphan", RunState.RUNNING, at=1, live=True, parent="elsewhere")
    assert run_choice.live_runs([orphan], HERE) == [orphan]


@pytest.mark.parametrize(
    ("states", "extended", "chosen"),
    [
        ([], False, None),
        ([RunState.COMPLETED], False, None),
        ([RunState.INTERRUPTED], False, 0),
        ([RunState.INTERRUPTED, RunState.COMPLETED], False, 0),
        ([RunState.INTERRUPTED, RunState.INTERRUPTED], False, 1),
        ([RunState.CANCELLED], False, 0),
        ([RunState.WAITING], False, 0),
        ([RunState.CANCELLED, RunState.COMPLETED], False, None),
        ([RunState.INTERRUPTED, RunState.CANCELLED], False, 1),
        ([RunState.INTERRUPTED, RunState.CANCELLED, RunState.COMPLETED], False, 0),
        ([RunState.EXHAUSTED, RunState.CANCELLED], True, 1),
        ([RunState.EXHAUSTED], False, None),
        ([RunState.EXHAUSTED], True, 0),
        ([RunState.FAILED], False, None),
    ],
)
def test_what_resume_takes_without_a_name(states: list[RunState], extended: bool, chosen: int | None) -> None:
    """The newest of all, if it was stopped or waits; else the newest interrupted run."""
    runs = [run(f"r{at}", state, at=at) for at, state in enumerate(states)]
    expected = None if chosen is None else runs[chosen]
    assert run_choice.run_to_resume(runs[::-1], HERE, extended=extended) == expected
    assert (
        run_choice.run_to_resume([replace(one, root=THERE) for one in runs], HERE, extended=extended) is None
    )


def test_a_live_run_is_neither_resumed_nor_waited_for() -> None:
    waits = run("waits", RunState.WAITING, at=1)
    live = run("live", RunState.WAITING, at=2, live=True)
    assert run_choice.waiting_run([waits], HERE) == waits
    assert run_choice.waiting_run([live, waits], HERE) is None
    assert run_choice.run_to_resume([live], HERE, extended=False) is None


@pytest.mark.parametrize(
    ("state", "live", "asks"),
    [
        (RunState.RUNNING, True, {Ask.PAUSE, Ask.STEER, Ask.STOP, Ask.STOP_NOW}),
        (RunState.WAITING, True, {Ask.PAUSE, Ask.STEER, Ask.STOP, Ask.STOP_NOW}),
        (RunState.PAUSED, True, {Ask.UNPAUSE, Ask.STEER, Ask.STOP, Ask.STOP_NOW}),
        (RunState.WAITING, False, {Ask.STOP}),
        (RunState.INTERRUPTED, False, set()),
        (RunState.COMPLETED, False, set()),
        (RunState.CANCELLED, False, set()),
    ],
)
def test_only_what_makes_sense_may_be_asked_of_a_run(state: RunState, live: bool, asks: set[Ask]) -> None:
    assert set(run_choice.possible_asks(run("one", state, at=1, live=live))) == asks


def test_a_run_that_was_cut_off_says_what_to_do_about_it() -> None:
    cut_off = replace(run("one", RunState.INTERRUPTED, at=1), reason="")
    assert "ralph resume" in run_choice.reason_of(cut_off)
    assert run_choice.reason_of(replace(cut_off, state=RunState.FAILED, reason="no disk")) == "no disk"
