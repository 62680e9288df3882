"""A line for each task that is at work, within the terminal."""

from __future__ import annotations

import io

import pytest

from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import IterationStarted, RunEnded, StopRequested, TaskReported
from ralph.domain.loop.session_report import Spend
from ralph.domain.views.runs import RunLabel
from ralph.interfaces.cli.console.live_lines import LiveLines
from ralph.interfaces.cli.terminal import Look

LOOK = Look(max_lines=None, max_chars=None, emoji=False, width=40, live=True)
ENDED = RunEnded(Outcome.COMPLETED, "accepted", 1, Spend(), 1.0)


def live(tasks: int, *, height: int) -> tuple[LiveLines, io.StringIO]:
    screen = io.StringIO()
    lines = LiveLines(screen, LOOK, height=lambda: height)
    for number in range(1, tasks + 1):
        part = lines.part(RunLabel(f"Write sum number {number}", f"T-{number}"))
        part.observe(IterationStarted(1, 1, None, "T/coder", role="coder", used=2, limit=15), 0.0)
    return lines, screen


def test_each_task_has_its_own_line_until_it_is_reported() -> None:
    lines, _ = live(3, height=24)

    shown = lines.lines()
    assert [line.split()[1] for line in shown] == ["[T-1]", "[T-2]", "[T-3]"]
    assert all("coder 2 of 15" in line and len(line) < LOOK.width for line in shown)

    lines.observe(TaskReported("T-2", "", Outcome.COMPLETED, "done", "merged"), 1.0)
    assert [line.split()[1] for line in lines.lines()] == ["[T-1]", "[T-3]"]

    lines.observe(StopRequested(now=False), 2.0)
    assert lines.lines()[-1].endswith("stopping after this step")


def test_a_task_that_is_accepted_says_so() -> None:
    lines, _ = live(0, height=24)
    part = lines.part(RunLabel("Add a sum", "T-1"))
    assert "[T-1] starting" in lines.text()
    part.observe(ENDED, 1.0)
    assert "[T-1] accepted" in lines.text()


@pytest.mark.parametrize("height", [4, 5, 8])
def test_there_are_never_more_lines_than_the_terminal_has_room_for(height: int) -> None:
    lines, _ = live(20, height=height)

    assert len(lines.lines()) == max(1, height - 3)
    assert lines.lines()[-1].endswith(f"{20 - max(1, height - 3) + 1} more at work")


def test_exactly_what_was_drawn_is_erased_before_anything_else_is_written() -> None:
    lines, screen = live(3, height=24)
    lines.tick()
    drawn = screen.getvalue()
    assert drawn.count("\n") == 2

    lines.clear()

    assert screen.getvalue()[len(drawn) :] == "\r\x1b[2A\x1b[J"
    lines.clear()
    assert screen.getvalue().count("\x1b[J") == 1
