"""What is kept of a session's stream: the assistant's words and tags, what it used, how it went."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from ralph.domain.agent.events import (
    NO_RESULT,
    AgentEvent,
    BackgroundChanged,
    ErrorReported,
    LimitReported,
    Noise,
    Reasoning,
    SessionStarted,
    Text,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    Unknown,
    Usage,
    UsageReported,
)  # fmt: skip
from ralph.domain.loop.claims import Tag, TagScanner
from ralph.domain.text.excerpt import Excerpt, Keep

TEXT_LIMIT = 400_000
"""Characters of assistant text kept for one-shot answers and reviews; tags are found in all of it."""

DECIDING_LIMIT = 200
"""Structured errors and limits kept to classify a fault."""

MOST_TOKENS = 2**53
MOST_USD = 1e6
"""Larger numbers are mistakes: do not add them up."""

PriceOf = Callable[[Usage, str], float | None]
"""What this usage of this model costs in USD; None: unknown."""

_NOTHING_USED: Final = Usage()


def unpriced(usage: Usage, model: str) -> None:
    """No price is known."""


class Transcript:
    """Takes events in order, in bounded memory whatever the agent prints.

    ``usage`` and ``cost_usd`` are what the agent has reported so far. ``price`` applies where it reports only tokens.
    """

    def __init__(self, tags: Iterable[str], *, price: PriceOf = unpriced) -> None:
        self._scanner = TagScanner(tags)
        self._text = Excerpt(TEXT_LIMIT, Keep.BOTH)
        self.has_ended_well = False  # the last turn, as the agent reports it
        self.turns = 0  # that ended
        self.is_turn_over = False  # and no other has begun
        self._background: tuple[str, ...] = ()  # what runs beside the turns
        self._left_running: tuple[str, ...] = ()  # by the last turn, as long as no other has begun
        self.model = ""
        self._price = price
        self._usage = Usage()  # of the turns that ended
        self._cost: float | None = None
        self._open_usage = _NOTHING_USED  # reported since; the end of the turn will include it
        self._open_cost: float | None = None
        self._is_retrying = False
        self.tools = 0
        self.tool_errors = 0
        self.noise_lines = 0
        self.unknown_events = 0
        self.unknown_type = ""  # the first of them
        self.has_unknown_words = False  # one of them holds prose
        self.is_understood = False  # it had an event that is known
        self.version = ""  # of the agent's program, if it says so
        self.denials: tuple[str, ...] = ()
        self._deciding: list[AgentEvent] = []

    def take(self, events: Sequence[AgentEvent]) -> None:
        heard: list[str] = []
        scanner = self._scanner
        started = failed = 0
        for event in events:
            if type(event) is Text:
                if not event.parent:
                    text = event.text
                    if "<" in text or scanner.is_inside:
                        scanner.feed(text)
                        if event.final:
                            scanner.end_block()
                    heard.append(text)
                    if event.final:
                        heard.append("\n")
            elif type(event) is ToolStarted:
                started += 1
            elif type(event) is ToolEnded:
                failed += event.is_error
            else:
                self._note(event)
        self.tools += started
        self.tool_errors += failed
        self._text.add("".join(heard))
        if not self.is_understood:
            self.is_understood = any(not isinstance(event, Unknown | Noise) for event in events)
        if self._is_retrying:
            self._forget_overcome(events)

    def _note(self, event: AgentEvent) -> None:
        match event:
            case TurnEnded():
                self._end_turn(event)
            case UsageReported():
                self._open_usage += _believable(event.usage)
                if _is_believable_cost(event.cost_usd):
                    self._open_cost = (self._open_cost or 0.0) + (event.cost_usd or 0.0)
            case LimitReported():
                self._keep(event)
            case ErrorReported():
                self._keep(event)
                self._is_retrying = not event.final
            case SessionStarted():
                self.is_turn_over = False
                self._left_running = ()
                self.model = event.model or self.model
                self.version = event.version or self.version
            case BackgroundChanged():
                self._background = event.tasks
                if self.is_turn_over:
                    self._left_running = self._left_running or event.tasks
            case Noise():
                self.noise_lines += 1
            case Unknown():
                if not self.unknown_events:
                    self.unknown_type = event.type
                self.unknown_events += 1
                self.has_unknown_words |= event.has_words
            case _:
                pass

    def _end_turn(self, turn: TurnEnded) -> None:
        self._keep(turn)
        self.turns += 1
        self.is_turn_over = True
        self._left_running = self._background
        self.has_ended_well = not turn.error
        self.denials = (*self.denials, *turn.denials)[:DECIDING_LIMIT]
        usage, cost = _believable(turn.usage), turn.cost_usd
        if not usage.total and not turn.cumulative:
            usage = self._open_usage  # not reported: earlier reports count
        if not _is_believable_cost(cost):
            cost = self._open_cost if self._open_cost is not None else self._price_of(usage)
        self._usage = usage if turn.cumulative else self._usage + usage
        if cost is not None:
            self._cost = cost if turn.cumulative else (self._cost or 0.0) + cost
        self._open_usage, self._open_cost = _NOTHING_USED, None

    def _price_of(self, usage: Usage) -> float | None:
        return self._price(usage, self.model) if usage.total else None

    def _forget_overcome(self, events: Sequence[AgentEvent]) -> None:
        """A retry followed by words or tool calls succeeded: it is not why the session ended."""
        for event in reversed(events):
            if isinstance(event, ErrorReported):
                return
            if isinstance(event, Text | Reasoning | ToolStarted | ToolEnded):
                self._is_retrying = False
                if _is_retry(self._deciding[-1]):
                    del self._deciding[-1]
                return

    def _keep(self, event: AgentEvent) -> None:
        if _is_retry(event) and self._deciding and _is_retry(self._deciding[-1]):
            del self._deciding[-1]  # one in a row is enough
        elif len(self._deciding) >= DECIDING_LIMIT:
            del self._deciding[0]
        self._deciding.append(event)

    @property
    def is_over(self) -> bool:
        """There is nothing that another turn could follow from."""
        return self.is_turn_over and not self._background

    @property
    def cut_off(self) -> tuple[str, ...]:
        """Work beside the turns that no turn has heard the end of, though its last words may be that it was ended."""
        return self._left_running or self._background

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
        """What was used so far, as far as reported."""
        return self._usage + self._open_usage

    @property
    def cost_usd(self) -> float | None:
        """What that cost; None if unknown."""
        open_cost = self._open_cost if self._open_cost is not None else self._price_of(self._open_usage)
        costs = [cost for cost in (self._cost, open_cost) if cost is not None]
        return sum(costs) if costs else None

    @property
    def has_failed(self) -> bool:
        """The agent reported an error that it did not overcome. A stream that just stops reports none."""
        return any(
            (isinstance(event, TurnEnded) and event.error)
            or (isinstance(event, ErrorReported) and event.code != NO_RESULT)
            for event in self._deciding
        )

    @property
    def is_empty(self) -> bool:
        """The session said nothing and did nothing."""
        return not self.tools and not self.text.strip()


def _believable(usage: Usage) -> Usage:
    counts = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    return usage if all(0 <= count < MOST_TOKENS for count in counts) else Usage()


def _is_believable_cost(cost: float | None) -> bool:
    return cost is not None and 0 <= cost < MOST_USD


def _is_retry(event: AgentEvent) -> bool:
    return isinstance(event, ErrorReported) and not event.final
