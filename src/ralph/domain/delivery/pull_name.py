"""How people name a pull request: by its number, or by its address."""

from __future__ import annotations

from typing import NamedTuple

from ralph.patterns import pattern

_NAME = pattern(r"#?(\d{1,18})|https?://([^/\s]+)/(\S+?)/(?:pull|pulls)/(\d{1,18})(?:[/?#]\S*)?")


class PullName(NamedTuple):
    """``host`` and ``repository`` are empty for a number; ``text``: as it was written."""

    number: int
    text: str
    host: str = ""
    repository: str = ""


def parse_pull(text: str) -> PullName | None:
    """None: it is no such name."""
    found = _NAME.fullmatch(text)
    if found is None:
        return None
    return PullName(int(found[1] or found[4]), text, found[2] or "", found[3] or "")
