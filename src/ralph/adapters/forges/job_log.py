"""Reduces the log of a GitHub Actions job to what its failed step printed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ralph.adapters.online.shape import Shape, moment_of
from ralph.domain.text.excerpt import Keep, truncate
from ralph.domain.text.safe_text import clean, clean_line
from ralph.patterns import pattern
from ralph.values import dataclass

MOST_CHARS = 400_000
_TIME = pattern(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?Z ?")
_NOISE = ("##[endgroup]", "##[debug]")
_MARKS = ("##[group]", "##[command]", "[command]", "##[section]")
_BAD = frozenset({"failure", "timed_out", "cancelled", "startup_failure"})


@dataclass(frozen=True, slots=True)
class Step:
    """``begin`` and ``end`` are whole seconds; 0.0: not known."""

    name: str
    begin: float = 0.0
    end: float = 0.0


def failed_step(job: Shape) -> Step | None:
    """The first that failed; a step that was cancelled counts only if none did."""
    bad = [step for step in job["steps"] if step["conclusion"].text in _BAD]
    bad.sort(key=lambda step: step["conclusion"].text == "cancelled")
    if not bad:
        return None
    step = bad[0]
    return Step(clean_line(step["name"].text), step["started_at"].moment, step["completed_at"].moment)


def cut_log(text: str, step: Step | None) -> str:
    """The lines of the step, if their times tell, without times and marks; both ends if it is long."""
    lines = list(_timed(text.lstrip("\ufeff").splitlines()))
    if step is not None and step.begin:
        lines = _within(lines, step.begin, step.end) or lines
    return truncate(clean("\n".join(_plain(line for _, line in lines))), MOST_CHARS, Keep.BOTH)


def _timed(lines: Iterable[str]) -> Iterator[tuple[float, str]]:
    """A line without a time belongs to the line before it."""
    at, seen = 0.0, ""
    for line in lines:
        found = _TIME.match(line)
        if found is None:
            yield at, line
            continue
        if found[1] != seen:  # thousands of lines have the same second
            seen, at = found[1], moment_of(f"{found[1]}Z")
        yield at, line[found.end() :]


def _within(lines: list[tuple[float, str]], begin: float, end: float) -> list[tuple[float, str]]:
    """Steps begin and end in the middle of a second: the one that both have is taken whole."""
    return [(at, line) for at, line in lines if begin <= at and (not end or at <= end)]


def _plain(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if line.startswith(_NOISE):
            continue
        mark = next((mark for mark in _MARKS if line.startswith(mark)), "")
        yield line.removeprefix(mark)
