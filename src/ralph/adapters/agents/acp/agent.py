"""ACP: any program that speaks the Agent Client Protocol on stdin and stdout, such as ``goose acp``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from ralph.adapters.agents import faults
from ralph.adapters.agents.acp.known import known_programs
from ralph.adapters.agents.arguments import program
from ralph.adapters.agents.faults import Failure
from ralph.adapters.agents.final_words import FinalWordsParser
from ralph.adapters.agents.isolation import isolation_notes
from ralph.adapters.agents.structured import LINGER_SECONDS
from ralph.domain.agent.events import NO_RESULT, AgentEvent, ErrorReported, TurnEnded
from ralph.domain.agent.facts import AgentFacts
from ralph.domain.agent.options import NO_OPTIONS, Option, Permissions, SessionOptions
from ralph.domain.loop.session_report import Ending, Exhausted, Fatal, Fault, Transient
from ralph.domain.text.safe_text import clean_line, is_text
from ralph.engine.ports import AgentRequest, Command, Exit, OutputMode, StreamParser
from ralph.errors import ConfigError
from ralph.values import replace

if TYPE_CHECKING:
    from ralph.adapters.agents.acp.conversation import AcpConversation

FACTS: Final = AgentFacts(
    name="acp",
    install="see its documentation, and which argument makes it speak ACP",
    login="as its documentation says",
    # READ_ONLY depends on the program: it must have a mode for it, or ask before it writes.
    options=frozenset({Option.MODEL, Option.CONTINUE_SESSION}),
)

_GRANTED: Final = {
    Permissions.ALLOW: "permissions are granted: {} may run any command",
    Permissions.READS: "{} may read: whatever else it asks for is denied",
    Permissions.NONE: "whatever {} asks for is denied",
}
_OWN_LIMITS: Final = {
    "max_tokens": Exhausted("it reached the limit of its model's tokens"),
    "max_turn_requests": faults.TURNS,
}


def facts_about(command: str) -> AgentFacts:
    """What is known of this program; or of all that speak ACP, if it is not known."""
    known = known_programs().get(PurePath(command).name)
    return (
        FACTS
        if known is None
        else replace(FACTS, name=known.program, install=known.install, login=known.login)
    )


class AcpAdapter:
    facts = FACTS
    linger: float | None = LINGER_SECONDS

    def __init__(
        self, *, command: str, flags: Sequence[str], as_root: bool, options: SessionOptions = NO_OPTIONS
    ) -> None:
        self._command = command
        self._options = options
        self._known = known_programs().get(self.name)
        self._facts = facts_about(command)
        self._flags = tuple(flags) if self._known is None else self._known.complete(flags)

    @property
    def name(self) -> str:
        return PurePath(self._command).name

    @property
    def notes(self) -> tuple[str, ...]:
        unknown = (
            f"what {self.name} used is known only if it says so: limits on cost or tokens may have no effect"
        )
        granted = _GRANTED[self._options.permissions].format(self.name)
        return (granted, unknown, *isolation_notes(self.name, self.facts.clean, self._options))

    def command(self, request: AgentRequest) -> Command:
        if not is_text(str(request.cwd)):
            message = f"ACP cannot name the folder {clean_line(str(request.cwd))}: its name is not UTF-8"
            raise ConfigError(message, hint="rename the folder, or use another agent")
        argv = (program(self._command, request.cwd), *self._flags)
        environment = dict(request.environment)
        if self._known is not None:
            environment = {**self._known.environment, **environment}
            if request.read_only:
                environment |= self._known.read_only_environment
        return Command(argv, request.cwd, environment, converses=True)

    def parser(self, request: AgentRequest) -> StreamParser:
        from ralph.adapters.agents.acp.conversation import AcpConversation, Wanted

        conversation = AcpConversation(
            Wanted(
                prompt=request.prompt,
                cwd=str(request.cwd),
                name=self.name,
                permissions=self._options.permissions,
                read_only=request.read_only,
                model=self._options.model,
                continues=request.continues,
                may_continue=self._options.continue_session,
                authenticate=self._known.authenticate if self._known is not None else "",
            )
        )
        return _FinalWords(conversation) if request.mode is OutputMode.TEXT else conversation

    def classify(
        self, exit_: Exit, events: Sequence[AgentEvent], *, stderr: str, is_empty: bool
    ) -> Fault | Exhausted | None:
        waiting = faults.last(events, ErrorReported)
        if _is_overdue(exit_, waiting):
            return self._no_answer()
        fault = faults.classify(
            exit_,
            events,
            stderr=stderr,
            is_empty=is_empty,
            command=self._command,
            facts=self._facts,
            explain=self._explain,
            explain_silence=self._explain_silence,
        )
        if fault is None and exit_.ending is Ending.IDLE and not _has_ended_well(events):
            # Agents are silent at a limit, too: that is not an answer to judge.
            why = f": it {waiting.message}" if waiting is not None and waiting.code == NO_RESULT else ""
            return Transient(f"silent past the idle timeout{why}")
        return fault

    def _explain(self, failure: Failure) -> Fault | Exhausted | None:
        from ralph.adapters.agents.acp.conversation import NO_ANSWER, UNSUITABLE

        if failure.code == UNSUITABLE:
            return Fatal(failure.message, "remove the setting, or use another agent or version")
        if failure.code == NO_RESULT and failure.message == NO_ANSWER:
            return self._no_answer()
        if failure.code in _OWN_LIMITS:
            return Transient(failure.message) if failure.is_empty else _OWN_LIMITS[failure.code]
        return faults.by_status(failure, self._facts)

    def _no_answer(self) -> Fatal:
        from ralph.adapters.agents.acp.conversation import NO_ANSWER

        hint = "check its command and flags: many need `acp` or `--acp`; if it just reads its prompt, set agent.adapter to plain"
        return Fatal(f"{self.name} {NO_ANSWER}", hint)

    def _explain_silence(self, stderr: str, code: int) -> Fault | None:
        return faults.startup_error("\n".join(faults.plain_lines(stderr)))


class _FinalWords(FinalWordsParser):
    """A conversation of which only the last words count."""

    def __init__(self, conversation: AcpConversation) -> None:
        super().__init__(conversation)
        self._conversation = conversation

    def outgoing(self) -> bytes:
        return self._conversation.outgoing()

    @property
    def is_over(self) -> bool:
        return self._conversation.is_over

    @property
    def patience(self) -> float | None:
        return self._conversation.patience

    def cancellation(self) -> bytes:
        return self._conversation.cancellation()


def _is_overdue(exit_: Exit, waiting: ErrorReported | None) -> bool:
    """It was ended, as if it had exited, because it had not answered in time."""
    if waiting is None or waiting.code != NO_RESULT or exit_.ending is not Ending.EXITED:
        return False
    from ralph.adapters.agents.acp.conversation import ANSWER_SECONDS, NO_ANSWER

    return waiting.message == NO_ANSWER and exit_.seconds >= ANSWER_SECONDS


def _has_ended_well(events: Sequence[AgentEvent]) -> bool:
    return any(isinstance(event, TurnEnded) and not event.error for event in events)


ADAPTER: Final = AcpAdapter
