"""Tasks as columns that fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.tasks.task import Task, TaskStatus
from ralph.domain.views.tasks import TaskView, view_of
from ralph.interfaces.cli.table import render_table
from ralph.interfaces.cli.tasks.list import COLUMNS, row_of
from ralph.interfaces.cli.terminal import Look, display_width

LOOK = Look(max_lines=None, max_chars=None)
VIEWS = st.builds(
    view_of,
    st.builds(
        Task,
        id=st.text("abcT-019", min_size=1, max_size=64),
        title=st.text(),
        stage=st.sampled_from(["", "coder", "a_role_with_a_long_name"]),
        dependencies=st.lists(st.sampled_from(["A", "B", "x" * 64]), unique=True).map(tuple),
        priority=st.integers(-(10**9), 10**9),
        status=st.sampled_from(TaskStatus),
    ),
    st.just({"A": TaskStatus.OPEN, "x" * 64: TaskStatus.FAILED}),
)


def task_lines(views: list[TaskView], *, look: Look, width: int | None) -> list[str]:
    return render_table(COLUMNS, [row_of(view) for view in views], look=look, width=width)


@given(st.lists(VIEWS, max_size=5), st.integers(40, 200))
def test_no_line_is_wider_than_the_terminal(views: list[TaskView], width: int) -> None:
    lines = task_lines(views, look=LOOK, width=width)
    assert len(lines) == len(views) + 1
    assert all(display_width(line) < width for line in lines)


def test_the_title_is_cut_and_the_rest_stays() -> None:
    view = view_of(Task(id="T-1", title="a long title " * 20), {})
    (head, line) = task_lines([view], look=LOOK, width=80)
    assert head.split() == ["task", "state", "stage", "iterations", "priority", "waits", "for", "title"]
    assert line.startswith("T-1   ready")
    assert line.endswith("…")


@pytest.mark.parametrize(
    ("width", "gone"),
    [
        (80, []),
        (66, ["priority"]),
        (55, ["priority", "waits for"]),
        (44, ["priority", "waits for", "iterations"]),
    ],
)
def test_columns_give_way_before_the_title_does(width: int, gone: list[str]) -> None:
    view = view_of(Task(id="T-1", title="a long title " * 20), {})
    head = task_lines([view], look=LOOK, width=width)[0]
    assert [name for name in ("priority", "waits for", "iterations", "stage") if name not in head] == gone


def test_in_a_pipe_nothing_is_cut() -> None:
    title = "a long title " * 20
    line = task_lines([view_of(Task(id="T-1", title=title), {})], look=LOOK, width=None)[1]
    assert line.endswith(title.strip())


def test_the_state_alone_is_coloured() -> None:
    look = Look(max_lines=None, max_chars=None, color=True)
    view = view_of(Task(id="T-1", title="failed", status=TaskStatus.FAILED), {})
    line = task_lines([view], look=look, width=80)[1]
    assert line.count("\x1b[31m") == 1
    assert "\x1b[31mfailed\x1b[0m" in line
