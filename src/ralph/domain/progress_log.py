"""progress.txt as far as a prompt can hold it: the patterns whole, of the entries the newest."""

from __future__ import annotations

import re

from ralph.domain.excerpt import Keep, truncate

ENTRIES_CHARS = 6_000
PATTERNS_CHARS = 40_000
"""Nobody curates more than this; beyond it the section is no longer one."""

_END_OF_PATTERNS = re.compile(r"^---[ \t]*$", re.MULTILINE)
_START_OF_ENTRY = re.compile(r"^## ", re.MULTILINE)


def bounded_progress(text: str, *, entries_chars: int = ENTRIES_CHARS) -> str:
    """Everything above the first ``---`` line, and as many of the newest entries below it as there is room for."""
    text = text.replace("\r\n", "\n")
    end = _END_OF_PATTERNS.search(text)
    patterns, rest = (text, "") if end is None else (text[: end.start()], text[end.end() :])
    kept = truncate(patterns.strip(), PATTERNS_CHARS, Keep.BOTH)
    entries = _newest(_entries(rest.strip()), entries_chars)
    return "\n\n---\n\n".join(part for part in (kept, entries) if part)


def _entries(text: str) -> list[str]:
    starts = [found.start() for found in _START_OF_ENTRY.finditer(text)]
    if not starts or starts[0] > 0:
        starts = [0, *starts]
    return [
        text[start:stop].strip()
        for start, stop in zip(starts, [*starts[1:], len(text)], strict=True)
        if text[start:stop].strip()
    ]


def _newest(entries: list[str], limit: int) -> str:
    kept: list[str] = []
    room = limit
    for entry in reversed(entries):
        if len(entry) > room:
            break
        kept.insert(0, entry)
        room -= len(entry)
    left_out = len(entries) - len(kept)
    if entries and not kept:  # the newest alone is too long: its end is the newest of it
        return truncate(entries[-1], limit, Keep.TAIL)
    note = [f"[{left_out} earlier entr{'y' if left_out == 1 else 'ies'} left out]"] if left_out else []
    return "\n\n".join([*note, *kept])
