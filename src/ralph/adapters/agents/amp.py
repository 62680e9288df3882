"""Amp: ``amp … -x PROMPT``. Written from its documented stream; never run against the real service."""

from __future__ import annotations

from typing import Final

from ralph.adapters.agents import claude, faults
from ralph.adapters.agents.arguments import fits_in_argument, program
from ralph.adapters.agents.claude_stream import ClaudeStreamParser
from ralph.adapters.agents.faults import Advice, Failure
from ralph.adapters.agents.plain_text import PlainTextParser
from ralph.adapters.agents.registry import KNOWN_AGENTS
from ralph.adapters.agents.structured import StructuredAdapter
from ralph.domain.loop.session_report import Fault, Transient
from ralph.engine.ports import AgentRequest, Command, OutputMode, StreamParser

ALLOW_ALL: Final = "--dangerously-allow-all"

ADVICE: Final = Advice(
    install=KNOWN_AGENTS["amp"],
    login="log in: `amp login`, or set AMP_API_KEY",
)


class AmpAdapter(StructuredAdapter):
    name = "amp"
    advice = ADVICE

    @property
    def notes(self) -> tuple[str, ...]:
        return (
            f"permissions are skipped ({ALLOW_ALL}): amp may run any command",
            "amp is unproven: tested with documented streams only, not with the real program",
        )

    def command(self, request: AgentRequest) -> Command:
        argv = [program(self._command, request.cwd), *self._flags]
        if request.mode is OutputMode.STREAM and not self._gives("--stream-json"):
            argv.append("--stream-json")
        if not self._gives(ALLOW_ALL):
            argv.append(ALLOW_ALL)
        argv.append("-x")  # it and the prompt must stand together at the end
        as_argument = fits_in_argument(request.prompt) and not request.prompt.startswith("-")
        if as_argument:
            argv.append(request.prompt)
        stdin = None if as_argument else request.prompt_file
        return Command(tuple(argv), request.cwd, dict(request.environment), stdin)

    def parser(self, request: AgentRequest) -> StreamParser:
        prints_text = request.mode is OutputMode.TEXT and not self._gives("--stream-json")
        return PlainTextParser() if prints_text else ClaudeStreamParser()

    def explain(self, failure: Failure) -> Fault | None:
        """Its errors are free text: nothing is known about them but that the session failed."""
        if failure.code in claude.USERS_LIMITS:
            return None
        return Transient(failure.message) if failure.status is None else faults.by_status(failure, ADVICE)

    def explain_silence(self, stderr: str, code: int) -> Fault | None:
        return faults.startup_error(stderr, hint=f"check agent.flags; {ADVICE.login}")
