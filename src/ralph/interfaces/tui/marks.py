"""Signs, colours and words that all screens share. Colours are names of the theme, so light and dark both work."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from ralph.domain.loop.evidence import Verdict
from ralph.domain.text.safe_text import clean_line
from ralph.domain.views.decisions import Tone
from ralph.domain.views.runs import RunState, RunView, reason_of

STATE_MARKS = {
    RunState.RUNNING: ("●", "$text-success"),
    RunState.PAUSED: ("⏸", "$text-warning"),
    RunState.WAITING: ("◔", "$text-warning"),
    RunState.INTERRUPTED: ("◌", "$text-error"),
    RunState.COMPLETED: ("✔", "$text-success"),
    RunState.EXHAUSTED: ("■", "$text-warning"),
    RunState.CANCELLED: ("■", "$foreground 60%"),
    RunState.FAILED: ("✘", "$text-error"),
}
VERDICT_MARKS = {
    Verdict.PASSED.value: ("✔", "$text-success"),
    Verdict.FAILED.value: ("✘", "$text-error"),
    Verdict.ERRORED.value: ("!", "$text-warning"),
    Verdict.SKIPPED.value: ("-", "$foreground 60%"),
}
TONE_STYLES = {
    Tone.GOOD: "$text-success",
    Tone.OPEN: "$text-primary",
    Tone.QUIET: "$foreground 60%",
    Tone.WARNING: "$text-warning",
    Tone.BAD: "$text-error",
}
LONGEST = 500


def line(text: str) -> str:
    """Foreign text as one harmless, bounded line."""
    return clean_line(text[:LONGEST])


def verdict_mark(verdict: str) -> tuple[str, str]:
    return VERDICT_MARKS.get(verdict, ("?", "$foreground 60%"))


def reason_line(run: RunView) -> str:
    return line(reason_of(run))


def clock_time(at: float, zone: tzinfo | None) -> str:
    """The time of day there; a number that is no time is shown as such."""
    try:
        return datetime.fromtimestamp(at, UTC).astimezone(zone).strftime("%H:%M:%S")
    except (OverflowError, OSError, ValueError):
        return "--:--:--"
