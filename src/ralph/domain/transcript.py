"""What remains of a session's stream: the assistant's words and tags, what it used, how it went."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ralph.domain.agent_events import (
    AgentEvent,
    ErrorReported,
    LimitReported,
    Noise,
    Text,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    Unknown,
    Usage,
)
from ralph.domain.excerpt import Excerpt, Keep
from ralph.domain.signals import Tag, TagScanner

TEXT_LIMIT = 400_000
"""Characters of assistant text kept for one-shot answers and reviews; tags are found in all of it."""

DECIDING_LIMIT = 200
"""Structured errors and limits kept for the fault classification."""


MOST_TOKENS = 2**53
MOST_USD = 1e6
"""Numbers beyond these are mistakes, and would be our mistake if we added them up."""


class Transcript:
    """Takes events in order, in bounded memory whatever the agent prints."""

    def __init__(self, tags: Iterable[str]) -> None:
        self._scanner = TagScanner(tags)
        self._text = Excerpt(TEXT_LIMIT, Keep.BOTH)
        self.has_ended_well = False  # the last turn did, in the agent's own words
        self._usage = Usage()
        self._cost: float | None = None
        self.tools = 0
        self.tool_errors = 0
        self.noise_lines = 0
        self.unknown_events = 0
        self.denials: tuple[str, ...] = ()
        self._deciding: list[AgentEvent] = []

    def take(self, events: Sequence[AgentEvent]) -> None:
        heard: list[str] = []
        scanner = self._scanner
        for event in events:
            if isinstance(event, Text):
                if not event.parent:
                    text = event.text
                    if "<" in text or scanner.is_inside:
                        scanner.feed(text)
                    heard.append(text)
                    if event.final:
                        heard.append("\n")
                        scanner.end_block()
            elif isinstance(event, ToolStarted):
                self.tools += 1
            elif isinstance(event, ToolEnded):
                self.tool_errors += event.is_error
            else:
                self._note(event)
        self._text.add("".join(heard))

    def _note(self, event: AgentEvent) -> None:
        match event:
            case TurnEnded():
                self._end_turn(event)
            case LimitReported() | ErrorReported():
                self._keep(event)
            case Noise():
                self.noise_lines += 1
            case Unknown():
                self.unknown_events += 1
            case _:
                pass

    def _end_turn(self, turn: TurnEnded) -> None:
        self._keep(turn)
        self.has_ended_well = not turn.error
        self.denials = (*self.denials, *turn.denials)[:DECIDING_LIMIT]
        usage = _believable(turn.usage)
        self._usage = usage if turn.cumulative else self._usage + usage
        if turn.cost_usd is not None and 0 <= turn.cost_usd < MOST_USD:
            self._cost = turn.cost_usd if turn.cumulative else (self._cost or 0.0) + turn.cost_usd

    def _keep(self, event: AgentEvent) -> None:
        if len(self._deciding) >= DECIDING_LIMIT:
            del self._deciding[0]
        self._deciding.append(event)

    @property
    def deciding(self) -> tuple[AgentEvent, ...]:
        return tuple(self._deciding)

    @property
    def text(self) -> str:
        return self._text.text().rstrip("\n")

    @property
    def tags(self) -> tuple[Tag, ...]:
        return tuple(self._scanner.tags)

    @property
    def usage(self) -> Usage:
        return self._usage

    @property
    def cost_usd(self) -> float | None:
        return self._cost

    @property
    def is_empty(self) -> bool:
        """The session said nothing and did nothing."""
        return not self.tools and not self.text.strip()


def _believable(usage: Usage) -> Usage:
    counts = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    return usage if all(0 <= count < MOST_TOKENS for count in counts) else Usage()
