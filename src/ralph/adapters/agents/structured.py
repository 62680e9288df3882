"""What all agents with a structured stream have in common: how they are made, and the order of judgement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from ralph.adapters.agents import faults
from ralph.adapters.agents.arguments import gives
from ralph.adapters.agents.faults import Failure
from ralph.adapters.agents.isolation import isolation_notes
from ralph.domain.agent.events import AgentEvent
from ralph.domain.agent.facts import AgentFacts
from ralph.domain.agent.options import NO_OPTIONS, Isolation, SessionOptions
from ralph.domain.loop.session_report import Exhausted, Fault
from ralph.engine.ports import AgentRequest, Command, Exit, StreamParser

LINGER_SECONDS = 10.0
"""How long an agent may stay after it ended its turn; a new session event lifts the limit."""


class StructuredAdapter(ABC):
    """An agent is its facts, its command line, its parser, and its own table of faults.

    ``grants`` are the flags that let it run any command; ralph gives the first of them, unless the user's flags have
    one, or one of those that ``choose`` permissions in another way.
    """

    facts: ClassVar[AgentFacts]
    grants: ClassVar[tuple[str, ...]]
    chooses: ClassVar[tuple[str, ...]] = ()
    grant_note: ClassVar[str] = "permissions are skipped"
    model_flags: ClassVar[tuple[str, ...]] = ("--model", "-m")
    turns_flag: ClassVar[str] = ""
    linger: float | None = LINGER_SECONDS

    def __init__(
        self, *, command: str, flags: Sequence[str], as_root: bool, options: SessionOptions = NO_OPTIONS
    ) -> None:
        self._command = command
        self._as_root = as_root
        self._options = options
        clean = self.facts.clean if options.isolation is Isolation.CLEAN else None
        added = (
            ()
            if clean is None
            else (flag for flag in clean.flags if not gives(flags, flag.partition("=")[0]))
        )
        self._flags = (*added, *flags)
        self._environment = {} if clean is None else dict(clean.environment)

    @property
    def name(self) -> str:
        return self.facts.name

    @property
    def notes(self) -> tuple[str, ...]:
        if self._adds_grant or self._gives(*self.grants):
            granted = f"{self.grant_note} ({self.grants[0]}): {self.name} may run any command"
            return (granted, *self._isolation_notes)
        return self._isolation_notes

    @property
    def _isolation_notes(self) -> tuple[str, ...]:
        return isolation_notes(self.name, self.facts.clean, self._options)

    @abstractmethod
    def command(self, request: AgentRequest) -> Command: ...

    @abstractmethod
    def parser(self, request: AgentRequest) -> StreamParser: ...

    @abstractmethod
    def explain(self, failure: Failure) -> Fault | Exhausted | None:
        """What a failure that the agent reported means."""

    @abstractmethod
    def explain_silence(self, stderr: str, code: int) -> Fault | Exhausted | None:
        """What an error exit without any event means."""

    def classify(
        self, exit_: Exit, events: Sequence[AgentEvent], *, stderr: str, is_empty: bool
    ) -> Fault | Exhausted | None:
        return faults.classify(
            exit_,
            events,
            stderr=stderr,
            is_empty=is_empty,
            command=self._command,
            facts=self.facts,
            explain=self.explain,
            explain_silence=self.explain_silence,
        )

    @property
    def _adds_grant(self) -> bool:
        return not self._gives(*self.grants, *self.chooses)

    def _gives(self, *flags: str) -> bool:
        return gives(self._flags, *flags)

    def _model(self) -> list[str]:
        """``agent.model`` as arguments; the user's own flag outranks it."""
        if not self._options.model or self._gives(*self.model_flags):
            return []
        return [f"{self.model_flags[0]}={self._options.model}"]

    def _max_turns(self) -> list[str]:
        turns = self._options.max_turns
        return [] if turns is None or self._gives(self.turns_flag) else [f"{self.turns_flag}={turns}"]
