"""The normalized stream: what any agent does, whatever dialect it speaks.

Parsers in ``adapters/agents`` create these from lines; the session, the journal and the faces read them. ``kind`` is
the name on the wire (journal, ``--json``). The classes are not frozen, though nothing changes one: a session may print
a hundred thousand, and a frozen dataclass costs three times as much to create.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from ralph.domain.agent.quota import Window
from ralph.values import dataclass, field


@dataclass(slots=True)
class SessionStarted:
    """The agent opened a session."""

    session_id: str = ""
    model: str = ""
    version: str = ""  # of its program, if it says so
    kind: str = field(default="session_started", init=False)


@dataclass(slots=True)
class Text:
    """Words of the assistant. Only these may contain a claim, and only if ``parent`` is empty.

    ``final`` is false when the next Text continues the same block (a delta, or a line of plain output):
    a tag may span such pieces, but never two blocks.
    """

    text: str
    final: bool = True
    parent: str = ""  # the tool call of a sub-agent, whose words are not the assistant's
    kind: str = field(default="text", init=False)


@dataclass(slots=True)
class Reasoning:
    """What the model thinks aloud; shown dimmed, never searched for claims."""

    text: str
    parent: str = ""
    kind: str = field(default="reasoning", init=False)


@dataclass(slots=True)
class ToolStarted:
    """A tool call began; ``summary`` is its input in one line (a path, a command, a pattern)."""

    id: str
    name: str
    summary: str = ""
    parent: str = ""
    kind: str = field(default="tool_started", init=False)


@dataclass(slots=True)
class ToolEnded:
    """A tool call ended. ``output`` is an excerpt; ``lines`` and ``chars`` count the whole."""

    id: str
    name: str = ""
    output: str = ""
    is_error: bool = False
    lines: int = 0
    chars: int = 0
    parent: str = ""
    kind: str = field(default="tool_ended", init=False)


class TodoStatus(StrEnum):
    PENDING = "pending"
    ACTIVE = "in_progress"
    DONE = "completed"


@dataclass(slots=True, frozen=True)
class TodoItem:
    """One entry of the agent's own task list."""

    text: str
    status: TodoStatus


@dataclass(slots=True)
class TodoChanged:
    """The agent's own task list, whole, after a change."""

    items: tuple[TodoItem, ...]
    kind: str = field(default="todo_changed", init=False)


@dataclass(slots=True, frozen=True)
class Usage:
    """Tokens of one turn. ``input_tokens`` excludes what came from the cache."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
        )

    def __sub__(self, other: Usage) -> Usage:
        negative = (
            -other.input_tokens,
            -other.output_tokens,
            -other.cache_read_tokens,
            -other.cache_write_tokens,
        )
        return self + Usage(*negative)

    def since(self, earlier: Usage) -> Usage:
        """What was added to an earlier count; all of it if the count has begun again."""
        added = self - earlier
        counts = (added.input_tokens, added.output_tokens, added.cache_read_tokens, added.cache_write_tokens)
        return added if min(counts) >= 0 else self

    @property
    def total(self) -> int:
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens


@dataclass(slots=True)
class UsageReported:
    """What the agent used since the last such report. The end of its turn reports everything, including this.

    A lower bound: claude counts an answer's tokens only when the turn is over.
    """

    usage: Usage
    cost_usd: float | None = None
    kind: str = field(default="usage_reported", init=False)


@dataclass(slots=True)
class TurnEnded:
    """The agent's turn is over (claude ``result``, codex ``turn.completed``/``turn.failed``).

    ``error`` is empty on success; ``code`` is the agent's name for it, if it has one that says more than its error
    events. ``text`` repeats what was said; anything new also comes as Text. ``usage`` and ``cost_usd`` are those of
    this turn unless ``cumulative``.
    """

    text: str = ""
    error: str = ""
    usage: Usage = Usage()
    cost_usd: float | None = None
    turns: int = 0
    seconds: float = 0.0
    denials: tuple[str, ...] = ()  # tools the agent was not permitted to use
    cumulative: bool = False
    code: str = ""
    kind: str = field(default="turn_ended", init=False)


@dataclass(slots=True)
class LimitReported:
    """A structured message about a usage limit. ``rejected``: the agent may not continue before ``resets_at``.

    ``windows``: what is left of the subscription, as far as it says so.
    """

    rejected: bool
    limit: str = ""
    resets_at: float | None = None
    windows: tuple[Window, ...] = ()
    kind: str = field(default="limit_reported", init=False)


NO_RESULT: Final = "no_result"
"""The code of an error that a parser adds when a stream just stops. It says something only if the program ended by
itself, as if all were well; else the way it ended says more."""


@dataclass(slots=True)
class ErrorReported:
    """A structured error event. ``status`` is the HTTP status, if known; ``final``: the agent gave up."""

    message: str
    status: int | None = None
    code: str = ""
    final: bool = False
    kind: str = field(default="error_reported", init=False)


@dataclass(slots=True)
class BackgroundChanged:
    """The work that the agent has running beside its turns, whole, after a change: its end may begin another turn."""

    tasks: tuple[str, ...] = ()
    kind: str = field(default="background_changed", init=False)


@dataclass(slots=True)
class Notice:
    """Anything worth a dim line: retries inside the agent, hooks, notifications."""

    text: str
    kind: str = field(default="notice", init=False)


@dataclass(slots=True)
class Unknown:
    """An event type that ralph does not know; the raw log has all of it. ``has_words``: it holds prose."""

    type: str
    has_words: bool = False
    kind: str = field(default="unknown", init=False)


@dataclass(slots=True)
class Noise:
    """A line that is not an event: other output, or (``torn``) an event cut in the middle."""

    text: str
    torn: bool = False
    kind: str = field(default="noise", init=False)


AgentEvent = (
    SessionStarted | Text | Reasoning | ToolStarted | ToolEnded | TodoChanged | UsageReported | TurnEnded
    | LimitReported | ErrorReported | BackgroundChanged | Notice | Unknown | Noise
)  # fmt: skip
