"""What happened in each iteration, folded from the events of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ralph.domain.agent.events import AgentEvent, Text, ToolEnded, ToolStarted
from ralph.domain.loop.events import (
    ActionEnded,
    AgentActed,
    AgentEnded,
    AgentStarted,
    CheckEnded,
    ClaimsSought,
    IterationEnded,
    IterationStarted,
    LoopEvent,
    RunEnded,
)
from ralph.domain.loop.evidence import CheckResult
from ralph.domain.loop.session_report import Spend

WORDS_CHARS = 4000
"""The end of what an agent said last; a session may say megabytes."""
MAX_ERRORS = 20


@dataclass(frozen=True, slots=True)
class ToolError:
    """A tool call that went wrong, and how its output began."""

    tool: str
    output: str


@dataclass(slots=True)
class IterationView:
    """One attempt of one iteration; ``decision`` is empty while it is under way, or if it was interrupted."""

    iteration: int
    attempt: int
    started_at: float
    assignment: str = ""
    role: str = ""
    prompt: str = ""
    prompt_chars: int = 0
    prompt_file: str = ""
    command: str = ""
    tools: Counter[str] = field(default_factory=Counter)
    tool_errors: list[ToolError] = field(default_factory=list)
    tool_error_count: int = 0
    last_words: str = ""
    ending: str = ""
    exit_code: int | None = None
    fault: str = ""
    checks: list[CheckResult] = field(default_factory=list)
    claims: tuple[str, ...] = ()
    actions: list[ActionEnded] = field(default_factory=list)
    decision: str = ""
    reason: str = ""
    claimed: bool = False
    proven: bool = False
    spend: Spend = Spend()
    seconds: float = 0.0


def iterations_of(events: Iterable[tuple[LoopEvent, float]]) -> Iterator[IterationView]:
    """Each iteration when all of it has been read; at most one is held in memory."""
    fold: _Fold | None = None
    for event, at in events:
        if isinstance(event, IterationStarted):
            if fold is not None:
                yield fold.view
            fold = _Fold(event, at)
        elif isinstance(event, RunEnded):
            if fold is not None:
                yield fold.view
            fold = None
        elif fold is not None:
            fold.take(event)
    if fold is not None:
        yield fold.view


class _Fold:
    def __init__(self, event: IterationStarted, at: float) -> None:
        self.view = IterationView(
            event.iteration,
            event.attempt,
            at,
            assignment=event.assignment,
            role=event.role,
            prompt=event.prompt,
            prompt_chars=event.prompt_chars,
            prompt_file=event.prompt_file,
        )
        self._is_own_session = True  # not one that was asked for a commit message
        self._block_is_open = False
        self._names: dict[str, str] = {}

    def take(self, event: LoopEvent) -> None:
        view = self.view
        match event:
            case AgentStarted():
                self._is_own_session = event.purpose == "iteration"
                if self._is_own_session:
                    view.command = event.command
            case AgentActed() if self._is_own_session:
                for acted in event.events:
                    self._take_acted(acted)
            case AgentEnded() if event.purpose == "iteration":
                view.ending, view.exit_code = event.ending, event.exit_code
                view.fault = event.fault.reason if event.fault is not None else ""
            case CheckEnded():
                view.checks.append(event.result)
            case ClaimsSought():
                view.claims = event.found
            case ActionEnded():
                view.actions.append(event)
            case IterationEnded():
                view.decision, view.reason = event.decision, event.reason
                view.claimed, view.proven = event.claimed, event.proven
                view.spend, view.seconds = event.spend, event.seconds
            case _:
                pass

    def _take_acted(self, event: AgentEvent) -> None:
        view = self.view
        match event:
            case Text() if not event.parent:
                self._take_words(event)
            case ToolStarted():
                view.tools[event.name] += 1
                self._names[event.id] = event.name
            case ToolEnded():
                name = self._names.pop(event.id, event.name)
                if event.is_error:
                    view.tool_error_count += 1
                    if len(view.tool_errors) < MAX_ERRORS:
                        view.tool_errors.append(ToolError(name, event.output))
            case _:
                pass

    def _take_words(self, event: Text) -> None:
        if self._block_is_open:
            self.view.last_words = (self.view.last_words + event.text)[-WORDS_CHARS:]
        elif event.text.strip():
            self.view.last_words = event.text[-WORDS_CHARS:]
        self._block_is_open = not event.final
