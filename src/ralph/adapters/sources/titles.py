"""A ticket's title as people see it: one line, without letters that only a machine would read."""

from __future__ import annotations

from unicodedata import category

from ralph.domain.text.safe_text import clean_line

LONGEST_TITLE = 256
LONGEST_UNTRUSTED = 80
"""Characters of a title that only a list may show."""


def visible_title(text: str, longest: int = LONGEST_TITLE) -> str:
    whole = clean_line(text[: 4 * LONGEST_TITLE])
    line = " ".join("".join(one for one in whole if not _is_hidden(one)).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def _is_hidden(character: str) -> bool:
    return category(character) == "Cf" or "\U000e0000" <= character <= "\U000e0fff"
