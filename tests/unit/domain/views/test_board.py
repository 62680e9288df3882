"""Which lanes a board has, what they are called, and which card is in which."""

from __future__ import annotations

import pytest

from ralph.domain.tasks.roles import ROLES, CompletionDefaults, Role
from ralph.domain.tasks.task import Task, TaskStatus, reopen
from ralph.domain.views.board import Board, HistoryEntry, story_board, task_board, task_card, task_detail
from ralph.domain.views.tasks import view_of

SECURITY = CompletionDefaults(
    roles={"coder": ROLES["coder"], "security-reviewer": Role(max_iterations=3), "qa": ROLES["qa"]}
)


def cards(board: Board) -> dict[str, list[str]]:
    return {lane.key: [card.id for card in lane.cards] for lane in board.lanes if lane.cards}


def task(name: str, **values: object) -> Task:
    return Task(id=name, title=f"Do {name}", **values)  # type: ignore[arg-type]


def test_tasks_have_a_lane_for_each_role_in_its_order_and_one_for_each_end() -> None:
    board = task_board([], SECURITY)
    assert [(lane.key, lane.title) for lane in board.lanes] == [
        ("coder", "Coder"),
        ("security-reviewer", "Security reviewer"),
        ("qa", "QA"),
        ("accepted", "Accepted"),
        ("done", "Done"),
        ("failed", "Failed"),
        ("cancelled", "Cancelled"),
    ]


@pytest.mark.parametrize(
    ("name", "title"),
    [("qa", "QA"), ("security-reviewer", "Security reviewer"), ("load_tester", "Load tester"), ("__", "__")],
)
def test_a_lane_is_titled_as_a_person_would_write_it(name: str, title: str) -> None:
    assert CompletionDefaults().title(name) == title


def test_a_task_is_in_the_lane_of_its_role_or_of_its_end() -> None:
    tasks = [
        task("NEW"),
        task("LATER", priority=9, stage="coder"),
        task("SAFE", stage="security-reviewer", used=2, remarks=("qa: slow",)),
        task("OLD", stage="tester"),  # a role that the settings no longer have
        task("OVER", status=TaskStatus.DONE),
    ]
    board = task_board([view_of(one, {}) for one in tasks], SECURITY, hidden=1200)
    assert cards(board) == {
        "coder": ["NEW", "LATER"],
        "security-reviewer": ["SAFE"],
        "done": ["OVER"],
        "tester": ["OLD"],
    }
    assert board.lanes[-1].title == "tester"
    assert board.problem == "1,200 more are not shown"
    (safe,) = board.lanes[1].cards
    assert (safe.iteration, safe.maximum, safe.note) == (2, 3, "qa: slow")


def test_a_task_shows_the_criteria_of_every_role() -> None:
    detail = task_detail(view_of(task("T"), {}), SECURITY)
    assert [(one.role, one.maximum) for one in detail.completion] == [
        ("coder", 15),
        ("security-reviewer", 3),
        ("qa", 5),
    ]


def test_stories_are_in_the_lane_of_their_review_whatever_else_is_in_the_document() -> None:
    stories: list[object] = [
        {"id": "B", "priority": 2},
        {"id": "A", "priority": 1, "reviewStatus": None},
        {"id": "C", "reviewStatus": "needs_review", "reviewCount": 2},
        {"id": "D", "passes": True},
        {"id": "E", "reviewStatus": "abandoned", "priority": True},
        "no story",
    ]
    board = story_board({"project": "Shop", "userStories": stories})
    assert (board.title, story_board({"userStories": "none"}).title) == ("Shop", "Plan")
    assert [(lane.key, lane.title) for lane in board.lanes] == [
        ("todo", "To do"),
        ("needs_review", "Needs review"),
        ("changes_requested", "Changes requested"),
        ("approved", "Approved"),
        ("abandoned", "abandoned"),
    ]
    assert cards(board) == {"todo": ["A", "B"], "needs_review": ["C"], "approved": ["D"], "abandoned": ["E"]}


def test_a_task_that_is_tried_again_no_longer_says_why_it_failed_before() -> None:
    why = "coder: limit of 15 iterations reached"
    failed = task("T", status=TaskStatus.FAILED, stage="coder", reason=why, remarks=("qa: no tests", why))
    assert task_card(view_of(failed, {}), SECURITY).note == why
    again = reopen(failed)
    assert task_card(view_of(again, {}), SECURITY).note == ""
    assert again.remarks == ("qa: no tests", f"an earlier attempt: {why}"), "the agent may learn from it"


def test_a_history_says_what_happens_again_and_again_once() -> None:
    entries = tuple(
        HistoryEntry(at=100.0 - number, role="coder", iteration=12 - number, what="external", reason=why)
        for number, why in enumerate(["passed", *["exit 1"] * 11])
    )
    shown = task_detail(view_of(task("T"), {}), SECURITY, entries).history
    assert [(each.reason, each.times, each.at) for each in shown] == [
        ("passed", 1, 100.0),
        ("exit 1", 11, 99.0),
    ]
