"""A ticket's title as people see it: one line, without letters that only a machine would read."""

from __future__ import annotations

from ralph.domain.tickets.invisible import visible_line

LONGEST_TITLE = 256
LONGEST_UNTRUSTED = 80
"""Characters of a title that only a list may show."""


def visible_title(text: str, longest: int = LONGEST_TITLE) -> str:
    line = visible_line(text[: 4 * LONGEST_TITLE])
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
