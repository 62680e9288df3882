"""How full a session's context window is, and what to tell the agent about it (the context monitor).

No dataclasses here: a hook imports this after every tool call, and they cost more than the rest of it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable

from ralph.patterns import pattern

DEFAULT_WINDOW = 200_000
LARGE_WINDOW = 1_000_000
DEFAULT_DIVISOR = 4.0
"""Characters of the transcript for a token, where nothing better is known."""

LONGEST_LINE = 8_000_000
"""Bytes; a longer line of a transcript is no message of the model."""

NOTICE, WARNING, CRITICAL = "NOTICE", "WARNING", "CRITICAL"
THRESHOLDS = {50: NOTICE, 60: NOTICE, 70: WARNING, 80: WARNING, 90: CRITICAL}
"""Percent of the window → how serious it is."""

IN_A_PLAN = {
    NOTICE: "Be mindful of remaining space. Plan to finish your current task within this session. If you discover "
    "follow-up work, add new stories to tasks.json — the next iteration will pick them up.",
    WARNING: "Finish your current task and commit soon. Do not start additional tasks. If work remains, create new "
    "stories in tasks.json for the next iteration and capture any implementation details or insights in progress.txt "
    "so the next iteration has full context.",
    CRITICAL: "Wrap up immediately. Do NOT start new work. Instead: (1) create tasks in tasks.json for any remaining "
    "work, (2) write implementation details, insights, and handoff notes to progress.txt, (3) commit all changes, "
    "(4) stop. The next iteration will continue from where you left off.",
}
ELSEWHERE = {
    NOTICE: "Be mindful of remaining space. Plan to finish your current task within this session.",
    WARNING: "Finish your current task soon. Do not start additional tasks. If work remains, write down what it is, "
    "with the details that whoever continues it needs.",
    CRITICAL: "Wrap up immediately. Do NOT start new work. Instead: (1) leave the files in a working state, (2) write "
    "down what remains and what you learned, (3) stop.",
}
"""What to say: tasks.json and progress.txt are for sessions of `ralph plan run` only."""

Usage = tuple[int, str]
"""Tokens in the context at the model's last answer, and the model."""

AFTER_COMPACTION: Usage = (0, "")
"""What came before is no longer in the context; the next answer tells how much is left."""

_FAMILY = pattern(r"claude-[a-z]+-(\d{1,2})(?!\d)")
_FIRST_LARGE = 5
"""From this generation on, models have the large window."""

_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


def last_usage(newest_first: Iterable[bytes]) -> Usage | None:
    """The newest exact figure among a transcript's lines; None if there is none. Subagents have contexts of their own."""
    for line in newest_first:
        usage = usage_in(line)
        if usage is not None:
            return usage
    return None


def usage_in(line: bytes) -> Usage | None:
    """What one line of a transcript says about the context, if anything; foreign lines never raise."""
    if len(line) > LONGEST_LINE or (b'"usage"' not in line and b'"compact_boundary"' not in line):
        return None
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict) or entry.get("isSidechain") is True:
        return None
    if entry.get("type") == "system" and entry.get("subtype") == "compact_boundary":
        return AFTER_COMPACTION
    message = entry.get("message")
    if entry.get("type") != "assistant" or not isinstance(message, dict):
        return None
    usage, model = message.get("usage"), message.get("model")
    if not isinstance(usage, dict):
        return None
    counts = [usage.get(name) for name in _COUNTS]
    tokens = sum(count for count in counts if type(count) is int and count > 0)
    # An API error is written as a message without an author, with zeros.
    return (tokens, model if isinstance(model, str) else "") if tokens else None


def window_of(model: str) -> int:
    """Tokens that fit; of an unknown model the smaller window: better told too early than too late."""
    if "[1m]" in model.lower():
        return LARGE_WINDOW
    family = _FAMILY.search(model)
    return LARGE_WINDOW if family is not None and int(family[1]) >= _FIRST_LARGE else DEFAULT_WINDOW


def estimated_tokens(size: int, divisor: float = DEFAULT_DIVISOR) -> int:
    """From the size of the transcript. Runs high: it has more in it than the model sees."""
    return int(size / divisor)


def thresholds_due(percent: float, told: Collection[int]) -> tuple[int, ...]:
    """Those that are reached and were not told yet. The highest says it all; the others count as told with it."""
    return tuple(threshold for threshold in THRESHOLDS if threshold <= percent and threshold not in told)


def alert(threshold: int, *, tokens: int, window: int, is_exact: bool, in_plan: bool) -> str:
    severity = THRESHOLDS[threshold]
    message = (IN_A_PLAN if in_plan else ELSEWHERE)[severity]
    about = "" if is_exact else "about "
    return (
        f"[{severity}] Context usage: {about}{min(100, 100 * tokens / window):.0f}% "
        f"({about}{tokens:,} of {window:,} tokens). {message}"
    )
