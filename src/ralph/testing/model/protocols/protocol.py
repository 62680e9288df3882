"""What a protocol has to know; the server does the rest."""

from __future__ import annotations

import json
import typing
from collections.abc import Sequence

from ralph.testing.model.script import Record, Step, Usage
from ralph.testing.model.tools import Call, Tool
from ralph.values import dataclass


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model says to one request; ``number`` makes identifiers that differ."""

    number: int
    model: str
    text: str
    thinking: str
    call: Call | None
    usage: Usage


Frames = list[bytes]


class Protocol(typing.Protocol):
    """One API: which requests are its own, and how an answer looks, whole or as a stream of events."""

    @property
    def name(self) -> str: ...

    def speaks(self, path: str) -> bool: ...

    def counted(self, path: str, size: int) -> Record | None:
        """The answer to a question how many tokens something has; None: it is not such a question."""

    def model(self, path: str, body: Record) -> str: ...

    def tools(self, body: Record) -> list[Tool]: ...

    def streams(self, path: str, body: Record) -> bool: ...

    def side_text(self, body: Record) -> str | None:
        """What a request beside the work wants to hear, if plain words do not do."""

    def whole(self, answer: Answer) -> Record: ...

    def stream(self, answer: Answer) -> Frames: ...

    def failing_stream(self, answer: Answer, code: str, message: str) -> Frames: ...

    def error(self, step: Step, status: int) -> Record: ...


def sse(data: Record | str, event: str = "") -> bytes:
    """One server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data)
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {text}\n\n".encode()


def halves(text: str) -> Sequence[str]:
    """Text comes in pieces, so that there is a middle to be cut in."""
    middle = (len(text) + 1) // 2
    return [piece for piece in (text[:middle], text[middle:]) if piece]


def estimated_tokens(size: int) -> int:
    return max(1, size // 4)
