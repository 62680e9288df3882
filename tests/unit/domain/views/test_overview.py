"""Several projects folded into one view: who waits for a person, what it costs, and one board."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.tasks.task import TaskStatus
from ralph.domain.views.board import Board, Card, CardKind, Lane
from ralph.domain.views.next_steps import can_resume_apart, next_steps, words_to_resume
from ralph.domain.views.overview import (
    MOST_CARDS,
    ProjectLook,
    Totals,
    WaitKind,
    distinguish,
    fold_projects,
    merge_boards,
    ready_tasks,
    runs_for_person,
    total_of,
)
from ralph.domain.views.pull_request import PullRequestView
from ralph.domain.views.runs import RunState, RunView

RUN = RunView(
    id="r",
    profile="basic",
    agent="claude",
    root="/project",
    state=RunState.COMPLETED,
    live=False,
    iteration=3,
    maximum=10,
    cost_usd=None,
    tokens=0,
    last_check=None,
    started_at=10.0,
    active_at=20.0,
    ended_at=20.0,
    waits_until=None,
    reason="",
)
PULL = PullRequestView(
    number=12,
    url="https://forge.invalid/12",
    title="Totals",
    branch="b",
    base="main",
    head="c0ffee",
    state="open",
    step="wait",
    reason="waits for build",
)


def over(state: RunState, name: str = "r", **more: object) -> RunView:
    return replace(RUN, id=name, state=state, **more)  # type: ignore[arg-type]


def live(state: RunState = RunState.RUNNING, name: str = "r", **more: object) -> RunView:
    return replace(RUN, id=name, state=state, live=True, ended_at=None, **more)  # type: ignore[arg-type]


def card(name: str, lane: str = "coder", status: str = "ready", priority: int = 0) -> Card:
    return Card(kind=CardKind.TASK, id=name, title=f"Do {name}", lane=lane, status=status, priority=priority)


def board(*cards: Card, lanes: str = "coder accepted done failed cancelled") -> Board:
    held = tuple(Lane(key, key.title(), tuple(c for c in cards if c.lane == key)) for key in lanes.split())
    return Board(CardKind.TASK, "Tasks", held)


def look(
    name: str = "shop", *runs: RunView, boards: tuple[Board, ...] = (), problem: str = ""
) -> ProjectLook:
    return ProjectLook(key=name, name=name, runs=runs, boards=boards, problem=problem)


# --- what waits ---


@pytest.mark.parametrize(
    ("runs", "waiting"),
    [
        ([live()], []),
        ([live(RunState.WAITING)], []),  # for a limit or a delay: it continues by itself
        ([live(RunState.PAUSED)], ["r"]),
        ([live(RunState.PAUSED, "whole"), live(RunState.PAUSED, "part", parent_id="whole")], ["whole"]),
        ([over(RunState.COMPLETED)], []),
        ([over(RunState.CANCELLED)], []),  # a person did that
        ([over(RunState.WAITING)], ["r"]),
        ([over(RunState.FAILED)], ["r"]),
        ([over(RunState.EXHAUSTED)], ["r"]),
        ([over(RunState.INTERRUPTED)], ["r"]),
        ([over(RunState.FAILED), over(RunState.COMPLETED, "later", started_at=11.0)], []),
        ([over(RunState.FAILED), live(name="later", started_at=11.0)], []),
        (
            [over(RunState.FAILED), over(RunState.COMPLETED, "elsewhere", started_at=11.0, root="/other")],
            ["r"],
        ),
        ([over(RunState.FAILED), over(RunState.FAILED, "part", parent_id="r", started_at=11.0)], ["r"]),
        ([live(pull_request=PULL)], []),
        ([live(pull_request=replace(PULL, for_people=True))], ["r"]),
        ([live(pull_request=replace(PULL, step="ask"))], ["r"]),
        ([live(pull_request=replace(PULL, step="ask", state="merged"))], []),
        ([over(RunState.COMPLETED, pull_request=replace(PULL, step="ask"))], []),  # nobody looks any more
        ([live(name="w"), live(name="p", parent_id="w", pull_request=replace(PULL, step="ask"))], ["p"]),
    ],
)
def test_which_runs_wait_for_a_person(runs: list[RunView], waiting: list[str]) -> None:
    assert [run.id for run in runs_for_person(runs)] == waiting


def test_what_is_told_of_each_that_waits() -> None:
    failed = card("T-1", lane=TaskStatus.FAILED, status="failed")
    looks = [
        look("old", over(RunState.FAILED, active_at=1.0, ended_at=1.0, reason="no agent")),
        look("new", live(pull_request=replace(PULL, for_people=True), active_at=9.0)),
        look("bad", problem="it is damaged"),
        look("tasks", boards=(board(replace(failed, note="never passed")),)),
    ]
    looks[0] = replace(looks[0], titles={"r": "Faster"})
    found = fold_projects(looks).waiting
    assert [(each.kind, each.project, each.title, each.words, each.reason) for each in found] == [
        (WaitKind.PROJECT, "bad", "bad", "cannot be read", "it is damaged"),
        (WaitKind.PULL_REQUEST, "new", "r", "pull request #12 waits for people", "waits for build"),
        (WaitKind.RUN, "old", "Faster", "failed", "no agent"),
        (WaitKind.TASK, "tasks", "T-1 Do T-1", "failed", "never passed"),
    ]
    assert found[-1].task == "T-1"
    assert found[1].run_id == "r"


WORK = live(name="w", profile="verified")


@pytest.mark.parametrize(
    ("cards", "runs", "ready", "waiting"),
    [
        ([], [], 0, []),
        ([card("T-1"), card("T-2", status="waiting")], [], 1, []),
        ([card("T-1", "accepted", "accepted")], [], 1, ["T-1"]),
        ([card("T-1"), card("T-2", "accepted", "accepted")], [WORK], 0, []),  # it does all of that
        ([card("T-1")], [live()], 1, []),
        ([card("T-1", "failed", "failed")], [WORK], 0, ["T-1"]),
        ([card("T-1", "done", "done"), card("T-2", "cancelled", "cancelled")], [], 0, []),
    ],
)
def test_which_tasks_can_start_and_which_wait(
    cards: list[Card], runs: list[RunView], ready: int, waiting: list[str]
) -> None:
    assert ready_tasks(runs, [board(*cards)]) == ready
    folded = fold_projects([look("shop", *runs, boards=(board(*cards),))])
    assert folded.projects[0].ready == ready
    assert [each.task for each in folded.waiting] == waiting


# --- what it costs ---


def spent(name: str, cost: float | None, tokens: int = 0, **more: object) -> RunView:
    return over(RunState.COMPLETED, name, cost_usd=cost, tokens=tokens, **more)


@pytest.mark.parametrize(
    ("runs", "cost", "tokens", "partial"),
    [
        ([], None, 0, False),
        ([spent("a", None, 5)], None, 5, False),
        ([spent("a", 1.0, 5), spent("b", 2.0, 5), spent("c", None)], 3.0, 10, False),
        ([spent("a", 1.0, cost_is_partial=True)], 1.0, 0, True),
        # `ralph work` counts its tasks itself; a run that an agent started does not.
        ([spent("w", 3.0, 9, profile="verified"), spent("t", 2.0, 7, parent_id="w")], 3.0, 9, False),
        ([spent("w", None, 0, profile="verified"), spent("t", 2.0, 7, parent_id="w")], 2.0, 7, False),
        ([spent("s", 3.0, 9), spent("t", 2.0, 7, parent_id="s")], 5.0, 16, False),
    ],
)
def test_everything_is_counted_once(
    runs: list[RunView], cost: float | None, tokens: int, partial: bool
) -> None:
    found = total_of(runs)
    assert (found.cost_usd, found.tokens, found.is_partial) == (cost, tokens, partial)


def test_runs_that_were_not_read_make_it_at_least_that() -> None:
    folded = fold_projects([replace(look("a", spent("r", 1.0)), is_cut=True), look("b", spent("r", 2.0))])
    assert folded.totals == Totals(cost_usd=3.0, is_partial=True, runs=2)
    assert [each.totals.is_partial for each in folded.projects] == [True, False]


def test_what_runs_is_told_with_its_project_and_without_its_parts() -> None:
    runs = (live(name="w", started_at=5.0), live(name="t", parent_id="w"))
    folded = fold_projects([look("one", *runs), look("two", live(name="x", started_at=7.0))])
    assert [(each.project, each.run.id) for each in folded.live] == [("two", "x"), ("one", "w")]
    assert folded.totals.live == 3


# --- one board ---


def test_one_board_has_the_cards_of_all_by_priority() -> None:
    merged = merge_boards(
        [
            look("one", boards=(board(card("T-1", priority=2)),)),
            look("two", boards=(board(card("T-1", priority=1), card("T-2", "done", "done")),)),
        ]
    )
    (only,) = merged
    assert [(lane.key, [(c.project, c.id) for c in lane.cards]) for lane in only.lanes if lane.cards] == [
        ("coder", [("two", "T-1"), ("one", "T-1")]),
        ("done", [("two", "T-2")]),
    ]


@pytest.mark.parametrize(
    ("lanes", "merged"),
    [
        (["coder done", "coder done"], "coder done"),
        (["coder done", "coder qa done"], "coder qa done"),
        (["coder done", "writer coder done failed"], "writer coder done failed"),
        (["coder qa done", "coder reviewer done"], "coder reviewer qa done"),
        (["coder done", "other"], "other coder done"),
    ],
)
def test_lanes_of_all_projects_keep_their_order(lanes: list[str], merged: str) -> None:
    looks = [look(str(number), boards=(board(lanes=each),)) for number, each in enumerate(lanes)]
    (found,) = merge_boards(looks)
    assert " ".join(lane.key for lane in found.lanes) == merged


def test_a_lane_has_an_end_and_problems_say_whose_they_are() -> None:
    many = board(*(card(f"T-{number}", "done", "done") for number in range(MOST_CARDS + 5)))
    (found,) = merge_boards([look("shop", boards=(replace(many, problem="2 more are not shown"),))])
    assert len(found.cards) == MOST_CARDS
    assert found.problem == "shop: 2 more are not shown; 5 more cards not shown"


# --- names ---


@pytest.mark.parametrize(
    ("places", "names"),
    [
        (["/home/me/shop"], ["shop"]),
        (["/a/shop", "/a/api"], ["shop", "api"]),
        (["/a/shop", "/b/shop", "/b/api"], ["a/shop", "b/shop", "api"]),
        (["/x/a/shop", "/y/a/shop"], ["x/a/shop", "y/a/shop"]),
        (["/shop", "/a/shop"], ["shop", "a/shop"]),
        (["/"], ["/"]),
    ],
)
def test_projects_of_one_name_are_told_apart(places: list[str], names: list[str]) -> None:
    assert distinguish(places) == names


@given(st.lists(st.lists(st.sampled_from("ab"), min_size=1, max_size=4).map("/".join), unique=True))
def test_no_two_projects_share_a_name(places: list[str]) -> None:
    names = distinguish([f"/{place}" for place in places])
    assert len(set(names)) == len(places)


# --- how a run is continued ---


@pytest.mark.parametrize(
    ("run", "words", "apart"),
    [
        (live(), "", False),
        (over(RunState.COMPLETED), "", False),
        (over(RunState.INTERRUPTED), "resume r", True),
        (over(RunState.FAILED), "resume r", True),
        (over(RunState.EXHAUSTED, iteration=10), "resume r -m 20", True),
        (over(RunState.EXHAUSTED, iteration=3), "", False),  # of another limit
        (over(RunState.CANCELLED, profile="verified"), "resume r", True),  # with its options
        (over(RunState.EXHAUSTED, profile="verified"), "work", True),
        (over(RunState.CANCELLED, profile="draft"), "plan draft", False),  # it asks its user
    ],
)
def test_what_continues_a_run(run: RunView, words: str, apart: bool) -> None:
    assert " ".join(words_to_resume(run)) == words
    assert can_resume_apart(run) is apart
    assert (f"to continue: ralph {words}" in next_steps(run)) is bool(words)
