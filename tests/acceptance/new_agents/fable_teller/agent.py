"""A made-up agent, ``fable-teller``: everything that ralph has to be told about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.json import Decoder

from ralph.adapters.agents import faults
from ralph.adapters.agents.arguments import program
from ralph.adapters.agents.faults import Failure
from ralph.adapters.agents.json_lines import UNREADABLE, noise
from ralph.adapters.agents.structured import StructuredAdapter
from ralph.domain.agent.events import AgentEvent, ErrorReported, SessionStarted, Text, ToolEnded, TurnEnded
from ralph.domain.agent.facts import AgentFacts, AgentNeeds, Examination, KnownGood, by_exit_status
from ralph.domain.agent.options import Option
from ralph.domain.loop.session_report import Exhausted, Fault
from ralph.engine.ports import AgentRequest, Command, StreamParser

FACTS: Final = AgentFacts(
    name="fable-teller",
    install="pip install fable-teller",
    login="`fable-teller login`",
    options=frozenset({Option.MODEL}),
    needs=AgentNeeds(
        state=(".fable",), login=(".fable/token",), env=("FABLE_*",), hosts=("api.fable.example",)
    ),
    examination=Examination(
        KnownGood("3.1", "3.1.4"), flags=("--events",), login=("whoami",), is_logged_in=by_exit_status
    ),
)


class Line(Struct):
    begins: str = ""
    says: str = ""
    ran: str = ""
    fails: int = 0
    ends: bool = False


class FableParser:
    def __init__(self) -> None:
        self._decode = Decoder(Line).decode

    def parse(self, lines: Sequence[bytes]) -> list[AgentEvent]:
        return [event for line in lines for event in self._events(line)]

    def _events(self, line: bytes) -> Sequence[AgentEvent]:
        try:
            said = self._decode(line)
        except UNREADABLE:
            return (noise(line),)
        if said.begins:
            return (SessionStarted(said.begins),)
        if said.says:
            return (Text(said.says),)
        if said.ran:
            return (ToolEnded("1", "shell", said.ran, False),)
        if said.fails:
            return (ErrorReported("the muse is silent", said.fails, "", True),)
        return (TurnEnded(),) if said.ends else ()

    def finish(self) -> Sequence[AgentEvent]:
        return ()


class FableAdapter(StructuredAdapter):
    facts = FACTS
    grants = ("--trust-me",)

    def command(self, request: AgentRequest) -> Command:
        argv = [program(self._command, request.cwd), "--events", *self._flags, *self._model()]
        if self._adds_grant:
            argv.append(self.grants[0])
        return Command(tuple(argv), request.cwd, dict(request.environment), request.prompt_file)

    def parser(self, request: AgentRequest) -> StreamParser:
        return FableParser()

    def explain(self, failure: Failure) -> Fault | Exhausted | None:
        return faults.by_status(failure, FACTS)

    def explain_silence(self, stderr: str, code: int) -> Fault | None:
        return faults.startup_error(stderr)


ADAPTER: Final = FableAdapter
