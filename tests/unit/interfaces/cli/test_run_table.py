"""Columns that align, give way on narrow terminals, and never let a terminal be taken over."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ralph.domain.views.runs import LastCheck, RunState, RunView
from ralph.interfaces.cli.commands.status import COLUMNS, row_of, why
from ralph.interfaces.cli.table import render_table
from ralph.interfaces.cli.terminal import Look, display_width

NOW = 1_000_000.0
PLAIN = Look(max_lines=None, max_chars=None)
RUN = RunView(
    id="20250101-120000-ab12",
    profile="basic",
    agent="claude",
    root="/project",
    state=RunState.EXHAUSTED,
    live=False,
    iteration=10,
    maximum=10,
    cost_usd=1.5,
    tokens=12_345,
    last_check=LastCheck("unit tests", "failed"),
    started_at=NOW - 100,
    active_at=NOW - 75,
    ended_at=NOW - 75,
    waits_until=None,
    reason="limit of 10 iterations reached",
)


def table(*runs: RunView, width: int | None = None, look: Look = PLAIN) -> list[str]:
    return render_table(COLUMNS, [row_of(run, NOW) for run in runs], look=look, width=width)


def test_a_pipe_gets_every_column_whole() -> None:
    long = replace(RUN, last_check=LastCheck("x" * 80, "failed"), reason="y" * 200)
    head, first, second = table(RUN, long)
    assert head.split() == (
        ["run", "state", "iteration", "spent", "last", "check", "active", "profile", "agent", "why"]
    )
    for said in ("limit reached", "10/10", "$1.50, 12.3K tokens", "failed: unit tests", "1m ago", RUN.reason):
        assert said in first
    assert "x" * 80 in second
    assert "y" * 200 in second
    assert first.index("1m ago") == second.index("1m ago") == head.index("active")


@pytest.mark.parametrize("width", [200, 120, 100, 80, 60, 40, 20, 5])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    wide = replace(RUN, reason="理由" * 100)
    for line in table(RUN, wide, width=width):
        assert display_width(line) < width


def test_the_least_important_columns_give_way_first() -> None:
    assert "agent" not in table(RUN, width=110)[0]
    narrow = table(RUN, width=60)
    assert "profile" not in narrow[0]
    assert "20250101-120000-ab12  limit reached" in narrow[1]
    assert "limit of 10" in narrow[1]


@pytest.mark.parametrize("width", [None, 120, 60])
def test_the_task_and_its_role_are_shown_where_there_are_some(width: int | None) -> None:
    head, first, second = table(RUN, replace(RUN, task="T-1", role="coder"), width=width)
    assert "task" in head
    assert "T-1 coder" in second
    assert first[head.index("task")] == "-"
    assert "task" not in table(replace(RUN, role="worker"), width=width)[0]


def test_stored_text_cannot_take_over_the_terminal() -> None:
    evil = "\x1b]0;title\x07\x1b[2Jwiped\nsecond line\u202e"
    hostile = replace(
        RUN, profile=evil, agent=evil, reason=evil, last_check=LastCheck(evil, "failed"), id=f"a{evil}"
    )
    lines = table(hostile)
    assert len(lines) == 2
    assert "\x1b" not in lines[1]
    assert "\u202e" not in lines[1]
    assert "wiped second line" in lines[1]


def test_colour_marks_the_state_only() -> None:
    line = table(RUN, look=replace(PLAIN, color=True))[1]
    assert line.count("\x1b[31m") == 1
    assert "  \x1b[31mlimit reached\x1b[0m  " in line


def test_a_live_run_that_waits_says_how_long_and_for_what() -> None:
    waiting = replace(
        RUN, state=RunState.WAITING, live=True, waits_until=NOW + 7_300, reason="usage limit", ended_at=None
    )
    assert why(waiting, NOW) == "2h left: usage limit"


def test_an_interrupted_run_says_that_its_process_is_gone() -> None:
    assert why(replace(RUN, state=RunState.INTERRUPTED, reason=""), NOW) == (
        "its process ended unexpectedly; `ralph resume` continues it"
    )


def test_concerns_are_counted() -> None:
    done = replace(RUN, state=RunState.COMPLETED, reason="done", concerns=("a", "b"))
    assert why(done, NOW) == "done (with 2 warnings)"
