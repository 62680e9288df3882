"""Signs, colours, words and small charts that all screens share. Colours are names of the theme: light and dark both work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, tzinfo

from textual.content import Content

from ralph.domain.agent.events import TodoStatus
from ralph.domain.fleet.board import JobState
from ralph.domain.loop.evidence import Verdict
from ralph.domain.text.safe_text import clean_line
from ralph.domain.views.decisions import Tone
from ralph.domain.views.runs import RunState, RunView, reason_of

DIM = "$foreground 60%"
STATE_MARKS = {
    RunState.RUNNING: ("●", "$text-success"),
    RunState.PAUSED: ("⏸", "$text-warning"),
    RunState.WAITING: ("◔", "$text-warning"),
    RunState.INTERRUPTED: ("◌", "$text-error"),
    RunState.COMPLETED: ("✔", "$text-success"),
    RunState.EXHAUSTED: ("■", "$text-warning"),
    RunState.CANCELLED: ("■", DIM),
    RunState.FAILED: ("✘", "$text-error"),
}
JOB_MARKS = {
    JobState.NEEDS: ("◌", DIM),
    JobState.QUEUED: ("○", DIM),
    JobState.RUNNING: ("●", "$text-success"),
    JobState.PAUSING: ("⏸", "$text-warning"),
    JobState.STOPPING: ("■", "$text-warning"),
    JobState.WAITING: ("◔", "$text-warning"),
    JobState.PAUSED: ("⏸", "$text-warning"),
    JobState.MERGING: ("⇢", "$text-primary"),
    JobState.COMPLETED: ("✔", "$text-success"),
    JobState.MERGED: ("✔", "$text-success"),
    JobState.EXHAUSTED: ("■", "$text-warning"),
    JobState.CANCELLED: ("■", DIM),
    JobState.FAILED: ("✘", "$text-error"),
    JobState.UNREADABLE: ("?", DIM),
}
VERDICT_MARKS = {
    Verdict.PASSED.value: ("✔", "$text-success"),
    Verdict.FAILED.value: ("✘", "$text-error"),
    Verdict.ERRORED.value: ("!", "$text-warning"),
    Verdict.SKIPPED.value: ("-", DIM),
}
TONE_STYLES = {
    Tone.GOOD: "$text-success",
    Tone.OPEN: "$text-primary",
    Tone.QUIET: DIM,
    Tone.WARNING: "$text-warning",
    Tone.BAD: "$text-error",
}
TONE_MARKS = {Tone.GOOD: "✔", Tone.OPEN: "◔", Tone.QUIET: "-", Tone.WARNING: "!", Tone.BAD: "✘"}
TODO_MARKS = {TodoStatus.DONE: "☑", TodoStatus.ACTIVE: "▸", TodoStatus.PENDING: "☐"}
LONGEST = 500
_STEPS = "▁▂▃▄▅▆▇█"
_EIGHTHS = " ▏▎▍▌▋▊▉"


def line(text: str) -> str:
    """Foreign text as one harmless, bounded line."""
    return clean_line(text[:LONGEST])


def verdict_mark(verdict: str) -> tuple[str, str]:
    return VERDICT_MARKS.get(verdict, ("?", DIM))


def reason_line(run: RunView) -> str:
    return line(reason_of(run))


def clock_time(at: float, zone: tzinfo | None) -> str:
    """The time of day; dashes for a number that is no time."""
    try:
        return datetime.fromtimestamp(at, UTC).astimezone(zone).strftime("%H:%M:%S")
    except (OverflowError, OSError, ValueError):
        return "--:--:--"


def dim(text: str) -> Content:
    return Content.styled(text, DIM)


def title(text: str) -> Content:
    return Content.styled(f"\n{text}", "bold $text-accent")


def field(name: str, text: str, style: str = "") -> Content:
    return Content.assemble((f"{name:<12}", DIM), (text, style))


def listed(name: str, texts: Sequence[str], style: str = "") -> Iterator[Content]:
    if texts:
        yield title(name)
        yield from (Content.assemble("• ", (line(text), style)) for text in texts)


def sparkline(values: Sequence[float], width: int) -> str:
    """The newest values, drawn in proportion to the greatest of them."""
    shown = [value if 0 <= value < 1e15 else 0.0 for value in values[-max(width, 0) :]]
    greatest = max(shown, default=0.0)
    if greatest <= 0:
        return _STEPS[0] * len(shown)
    return "".join(_STEPS[round(value / greatest * (len(_STEPS) - 1))] for value in shown)


def bar(share: float, width: int) -> tuple[str, str]:
    """The filled and the empty part of a gauge, ``width`` cells together."""
    if not share > 0:  # also NaN
        return "", "─" * width
    eighths = round(min(share, 1.0) * width * 8)
    whole, rest = divmod(eighths, 8)
    filled = "█" * whole + (_EIGHTHS[rest] if rest else "")
    return filled, "─" * (width - len(filled))
