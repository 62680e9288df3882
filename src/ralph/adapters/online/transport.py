"""How a service is asked: one request, one answer. What the answer means is not known here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ralph.values import dataclass, field

SECONDS = 30.0
"""What one request may take."""
MOST_BYTES = 20_000_000
"""What an answer may have. More than that is no list of checks, and no text that a person wrote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """``path``: below the API's address, with its query. ``body``: JSON, already encoded.

    ``is_log``: a long text, of which both ends will do.
    """

    path: str
    method: str = "GET"
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    is_log: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """Whatever came back, a refusal too. The names of ``headers`` are in lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


class Transport(Protocol):
    """Raises ServiceAway if no whole answer can be had, and ServiceRefused if nobody is logged in."""

    @property
    def cost(self) -> float:
        """Seconds of processor time for one request, roughly."""
        ...

    async def ask(self, request: Request) -> Answer: ...


class Ends:
    """Collects bytes as they come, and of a log that is too long its beginning and its end."""

    HEAD, TAIL = 1_000_000, 3_000_000
    GAP = b"\n... [truncated]\n"

    def __init__(self, *, is_log: bool, most: int = MOST_BYTES) -> None:
        self._most = self.HEAD + self.TAIL if is_log else most
        self._is_log = is_log
        self._bytes = bytearray()
        self._is_cut = False

    def add(self, chunk: bytes) -> None:
        self._bytes += chunk
        if len(self._bytes) > 2 * self._most and self._is_log:
            self._cut()

    @property
    def is_too_long(self) -> bool:
        """It cannot be taken: half of a list is worse than none."""
        return not self._is_log and len(self._bytes) > self._most

    def value(self) -> bytes:
        if self._is_log and len(self._bytes) > self._most:
            self._cut()
        if not self._is_cut:
            return bytes(self._bytes)
        return bytes(self._bytes[: self.HEAD]) + self.GAP + bytes(self._bytes[self.HEAD :])

    def _cut(self) -> None:
        del self._bytes[self.HEAD : -self.TAIL]
        self._is_cut = True
