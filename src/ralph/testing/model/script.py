"""What the model says: steps, in Python or as JSON."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from ralph.errors import UsageError
from ralph.values import dataclass, field, fields, replace

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that an answer is said to have taken."""

    input: int = 1000
    output: int = 50
    cache_read: int = 800
    cache_write: int = 0


@dataclass(frozen=True, slots=True)
class WriteFile:
    """A file to write, with whichever tool the agent has for that."""

    path: str
    content: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool by the name that the agent gave it. An input that is text is for a tool without a schema."""

    name: str
    input: Mapping[str, Any] | str


@dataclass(frozen=True, slots=True)
class StreamError:
    """An error that comes after the status 200."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Step:
    """The answer to one request, or to ``times`` of them in a row.

    At most one of ``shell``, ``write`` and ``tool``; ``text`` comes before it. ``error`` is an HTTP status. ``cut``
    breaks the connection in the middle of the answer; ``hang`` falls silent there, or before anything if there is
    nothing to say, until the model is closed. ``quotes`` is a pattern: what its last match in the request says stands
    for ``{quoted}`` in ``text``.
    """

    text: str = ""
    thinking: str = ""
    shell: str | None = None
    write: WriteFile | None = None
    tool: ToolCall | None = None
    error: int | None = None
    message: str = ""
    code: str = ""
    body: Mapping[str, Any] | None = None
    stream_error: StreamError | None = None
    cut: bool = False
    hang: bool = False
    delay: float = 0.0
    headers: Mapping[str, str] = field(default_factory=dict)
    usage: Usage = Usage()
    times: int = 1
    quotes: str = ""

    def __post_init__(self) -> None:
        if sum(call is not None for call in (self.shell, self.write, self.tool)) > 1:
            message = "a step has at most one of shell, write and tool"
            raise UsageError(message, hint="make two steps of it")
        if self.times < 1 or self.delay < 0:
            message = "times is at least 1 and delay not negative"
            raise UsageError(message)
        if self.error is not None and not FIRST_ERROR <= self.error <= LAST_ERROR:
            message = f"error is an HTTP status from {FIRST_ERROR} to {LAST_ERROR}, not {self.error}"
            raise UsageError(message)
        try:
            re.compile(self.quotes)
        except re.error as error:
            message = f"quotes is not a pattern: {error}"
            raise UsageError(message) from error

    def said_to(self, request: str) -> str:
        """Its text, as an answer to this request."""
        if not self.quotes:
            return self.text
        found = [match[match.lastindex or 0] for match in re.finditer(self.quotes, request)]
        return self.text.replace("{quoted}", found[-1] if found else "")

    def hurried(self) -> Step:
        """A refusal that asks to be tried again at once, unless it says when; some agents listen."""
        if self.error is None or "retry-after" in self.headers:
            return self
        return replace(self, headers={"retry-after-ms": "1", **self.headers})

    @property
    def calls_a_tool(self) -> bool:
        return self.shell is not None or self.write is not None or self.tool is not None

    @property
    def says_something(self) -> bool:
        return bool(self.text or self.thinking or self.calls_a_tool)


FIRST_ERROR: Final = 400
LAST_ERROR: Final = 599

SIDE_ANSWER: Final = Step(text="side answer", usage=Usage(10, 3, 0, 0))
"""For requests beside the work, such as a title for the session: they offer no tools and take no step."""


class Script:
    """Steps in order; the last one again and again. Many requests may ask at once."""

    def __init__(self, steps: Sequence[Step]) -> None:
        if not steps:
            message = "a script needs at least one step"
            raise UsageError(message, hint='for example [{"text": "done"}]')
        self._steps = tuple(steps)
        self._lock = threading.Lock()
        self._at = 0
        self._played = 0

    def next(self) -> Step:
        with self._lock:
            step = self._steps[self._at]
            self._played += 1
            if self._played >= step.times and self._at < len(self._steps) - 1:
                self._at += 1
                self._played = 0
            return step


def steps_from_json(text: str) -> list[Step]:
    """A list of steps, each an object with the fields of ``Step``; or ``{"steps": [...]}``."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        message = f"the script is not JSON: {error}"
        raise UsageError(message) from error
    listed = document.get("steps") if isinstance(document, dict) else document
    if not isinstance(listed, list):
        message = "the script is not a list of steps"
        raise UsageError(message, hint='for example [{"shell": "make"}, {"text": "done"}]')
    return [_step(value, f"step {number}") for number, value in enumerate(listed, 1)]


def _step(value: object, where: str) -> Step:
    _refuse_unknown(value, Step, where)
    for key, kind in _PARTS.items():
        if isinstance(value, dict) and key in value:
            _refuse_unknown(value[key], kind, f"{where}, {key}")
    try:
        return msgspec.convert(value, Step)
    except msgspec.ValidationError as error:
        message = f"{where}: {error}"
        raise UsageError(message, hint="the fields of ralph.testing.model.Step say what fits") from error
    except UsageError as error:
        message = f"{where}: {error.message}"
        raise UsageError(message, hint=error.hint) from error


_PARTS: Final[Mapping[str, type]] = {
    "usage": Usage,
    "write": WriteFile,
    "tool": ToolCall,
    "stream_error": StreamError,
}


def _refuse_unknown(value: object, kind: type, where: str) -> None:
    known = [each.name for each in fields(kind)]
    unknown = [key for key in value if key not in known] if isinstance(value, dict) else []
    if unknown:
        message = f"{where}: unknown key {unknown[0]!r}"
        raise UsageError(message, hint=f"known keys: {', '.join(known)}")
