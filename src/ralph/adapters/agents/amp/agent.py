"""Amp: ``amp … -x PROMPT``. Written from its documented stream; never run against the real service."""

from __future__ import annotations

from typing import Final

from ralph.adapters.agents import faults
from ralph.adapters.agents.arguments import as_argument, program
from ralph.adapters.agents.claude.agent import USERS_LIMITS
from ralph.adapters.agents.claude.stream import ClaudeStreamParser
from ralph.adapters.agents.faults import Failure
from ralph.adapters.agents.plain_text import PlainTextParser
from ralph.adapters.agents.structured import StructuredAdapter
from ralph.domain.agent.facts import AgentFacts, AgentNeeds, Examination
from ralph.domain.loop.session_report import Exhausted, Fault, Transient
from ralph.engine.ports import AgentRequest, Command, OutputMode, StreamParser

FACTS: Final = AgentFacts(
    name="amp",
    install="npm install -g @sourcegraph/amp",
    login="`amp login`, or set AMP_API_KEY",
    needs=AgentNeeds(
        state=(".local/share/amp", ".cache/amp"),
        login=(".local/share/amp/secrets.json",),
        sessions=(".local/share/amp/threads",),
        scratch=(".cache/amp/logs", ".local/share/amp/history.jsonl", ".local/share/amp/logs"),
        readonly=(".config/amp",),
        env=("AMP_*",),
        hosts=("ampcode.com", "*.ampcode.com"),
    ),
    examination=Examination(
        known_good=None, variables=("AMP_API_KEY",), files=(".local/share/amp/secrets.json",)
    ),
)


class AmpAdapter(StructuredAdapter):
    facts = FACTS
    grants = ("--dangerously-allow-all",)

    @property
    def notes(self) -> tuple[str, ...]:
        return (
            *super().notes,
            "amp is unproven: tested with documented streams only, not with the real program",
        )

    def command(self, request: AgentRequest) -> Command:
        argv = [program(self._command, request.cwd), *self._flags]
        if request.mode is OutputMode.STREAM and not self._gives("--stream-json"):
            argv.append("--stream-json")
        if self._adds_grant:
            argv.append(self.grants[0])
        argv.append("-x")  # it and the prompt come last, together
        if as_argument(request.prompt) != request.prompt or request.prompt.startswith("-"):
            return Command(tuple(argv), request.cwd, dict(request.environment), request.prompt_file)
        return Command((*argv, request.prompt), request.cwd, dict(request.environment), None)

    def parser(self, request: AgentRequest) -> StreamParser:
        prints_text = request.mode is OutputMode.TEXT and not self._gives("--stream-json")
        return PlainTextParser() if prints_text else ClaudeStreamParser()

    def explain(self, failure: Failure) -> Fault | Exhausted | None:
        """Its errors are free text: nothing is known about them but that the session failed."""
        if failure.code in USERS_LIMITS:
            return USERS_LIMITS[failure.code]
        return Transient(failure.message) if failure.status is None else faults.by_status(failure, FACTS)

    def explain_silence(self, stderr: str, code: int) -> Fault | Exhausted | None:
        return faults.startup_error(stderr, hint=f"check agent.flags; {FACTS.login_hint}")


ADAPTER: Final = AmpAdapter
