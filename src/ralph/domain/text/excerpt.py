"""Shortens long text, whole or as it streams in. Characters, never bytes."""

from __future__ import annotations

from collections import deque
from enum import StrEnum

TRUNCATION_MARK = "... [truncated]"


class Keep(StrEnum):
    """Which end of a long output to keep; of both, more of the end."""

    HEAD = "head"
    TAIL = "tail"
    BOTH = "both"


class Excerpt:
    """Takes text in pieces and keeps at most ``limit`` characters (plus one piece), however it was cut."""

    def __init__(self, limit: int, keep: Keep = Keep.HEAD) -> None:
        self._head_limit = {Keep.HEAD: limit, Keep.TAIL: 0, Keep.BOTH: (limit + 2) // 3}[keep]
        self._tail_limit = limit - self._head_limit
        self._limit = limit
        self._keep = keep
        self._head: list[str] = []
        self._head_size = 0
        self._tail: deque[str] = deque()
        self._tail_size = 0
        self.total = 0

    def add(self, text: str) -> None:
        self.total += len(text)
        room = self._head_limit - self._head_size
        if room > 0:
            piece = text[:room]
            self._head.append(piece)
            self._head_size += len(piece)
        # Only its end can count: do not copy a piece of 50 MB whole.
        text = text[max(room, len(text) - self._tail_limit, 0) :]
        if text and self._tail_limit:
            self._tail.append(text)
            self._tail_size += len(text)
            while self._tail_size - len(self._tail[0]) >= self._tail_limit:
                self._tail_size -= len(self._tail.popleft())

    @property
    def is_full(self) -> bool:
        """More text cannot change the result: a reader may stop decoding it."""
        return self._keep is Keep.HEAD and self.total > self._limit

    @property
    def truncated(self) -> bool:
        return self.total > self._limit

    def text(self) -> str:
        head, tail = "".join(self._head), "".join(self._tail)
        if len(tail) > self._tail_limit:
            tail = tail[-self._tail_limit :]
        if not self.truncated:
            return head + tail
        match self._keep:
            case Keep.HEAD:
                return head + TRUNCATION_MARK
            case Keep.TAIL:
                return TRUNCATION_MARK + "\n" + tail
            case Keep.BOTH:
                return head + "\n" + TRUNCATION_MARK + "\n" + tail


def truncate(text: str, limit: int, keep: Keep = Keep.HEAD) -> str:
    excerpt = Excerpt(limit, keep)
    excerpt.add(text)
    return excerpt.text()
