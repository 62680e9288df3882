"""What a tool answers: the same facts as text and as data, foreign text made harmless, masked, and bounded as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec.json

from ralph.domain.text.masking import mask_text
from ralph.domain.text.safe_text import clean, clean_line

ROOM = 14_000
"""Bytes of foreign text in an answer as JSON. It is told twice, as text and as data: 50 kB with the words around it."""

T = TypeVar("T")


class Answer(NamedTuple):
    """A client passes on the text, the data or both."""

    text: str
    data: dict[str, Any]


def make_answer(lines: Sequence[str], data: dict[str, Any]) -> Answer:
    return Answer("\n".join(lines), data)


class Room:
    """For the foreign text of one answer; what comes first gets what it needs."""

    def __init__(self, most: int = ROOM) -> None:
        self._left = most

    @property
    def is_full(self) -> bool:
        return self._left <= 0

    def line(self, text: str, longest: int = 300) -> str:
        return self._take(clean_line(mask_text(text[: 4 * longest])), longest)

    def block(self, text: str, longest: int = 2_000) -> str:
        return self._take(clean(mask_text(text[: 4 * longest])), longest)

    def rows(self, items: Sequence[T], show: Callable[[T], dict[str, Any]]) -> list[dict[str, Any]]:
        """As many as fit whole: half a row has no name to ask for."""
        shown: list[dict[str, Any]] = []
        for item in items:
            row = show(item)
            if self.is_full:
                break
            shown.append(row)
        return shown

    def _take(self, text: str, longest: int) -> str:
        shown = text if len(text) <= longest else f"{text[: longest - 1]}…"
        size = len(msgspec.json.encode(shown)) - 2  # its quotes
        if size > self._left:
            self._left = 0
            return "…"
        self._left -= size
        return shown
