"""GitHub Copilot CLI: ``copilot --output-format json``, prompt on stdin, events as JSON lines."""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from ralph.adapters.agents import faults
from ralph.adapters.agents.arguments import program, value_of
from ralph.adapters.agents.copilot.session_record import used_by
from ralph.adapters.agents.copilot.stream import CopilotStreamParser
from ralph.adapters.agents.faults import Failure
from ralph.adapters.agents.final_words import FinalWordsParser
from ralph.adapters.agents.plain_text import PlainTextParser
from ralph.adapters.agents.structured import StructuredAdapter
from ralph.domain.agent.events import Usage
from ralph.domain.agent.facts import AgentFacts, AgentNeeds, Examination, KnownGood
from ralph.domain.agent.options import ALL_OPTIONS, Option
from ralph.domain.loop.session_report import Exhausted, Fatal, Fault
from ralph.engine.ports import AgentRequest, Command, OutputMode, StreamParser
from ralph.patterns import pattern

FACTS: Final = AgentFacts(
    name="copilot",
    install="npm install -g @github/copilot",
    login="`copilot login`, or set COPILOT_GITHUB_TOKEN",
    options=ALL_OPTIONS - {Option.MAX_TURNS},
    needs=AgentNeeds(
        state=(".copilot",),
        sessions=(".copilot/session-state",),
        scratch=(
            ".copilot/*.lock",
            ".copilot/command-history-state*",
            ".copilot/history-session-state",
            ".copilot/logs",
            ".copilot/session-store.db*",
        ),
        env=("COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN"),
        named=(("COPILOT_HOME", ".copilot"),),
        hosts=("api.github.com", "api.githubcopilot.com", "*.githubcopilot.com"),
    ),
    examination=Examination(
        KnownGood("1.0.100", "1.0.102"),
        flags=("--output-format", "--allow-all", "--no-ask-user", "--no-auto-update"),
        variables=("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_BASE_URL"),
        silent_seconds=60,
    ),
)

NO_WRITING: Final = ("--deny-tool=write", "--deny-tool=shell")
"""These outrank whatever else is allowed."""

_NOT_LOGGED_IN: Final = frozenset(("authentication", "authorization"))
_NO_LOGIN = pattern(r"^Error: (?:No authentication|Authentication)", re.IGNORECASE)


class CopilotAdapter(StructuredAdapter):
    facts = FACTS
    grants = ("--allow-all", "--yolo")
    chooses = ("--allow-all-tools", "--allow-tool", "--deny-tool", "--available-tools", "--excluded-tools")
    model_flags = ("--model",)

    @property
    def notes(self) -> tuple[str, ...]:
        cost = "copilot counts its tokens when a session is over: limits on cost or tokens end none under way"
        return (*super().notes, cost)

    def command(self, request: AgentRequest) -> Command:
        # Without -p it reads the prompt from stdin.
        argv = [program(self._command, request.cwd), *self._flags, *self._model()]
        if not self._gives("--output-format"):
            argv += ["--output-format", "json"]
        if self._adds_grant:
            argv.append(self.grants[0])
        if request.read_only:
            argv += NO_WRITING
        for flag in ("--no-ask-user", "--no-auto-update"):
            if not self._gives(flag):
                argv.append(flag)
        if request.continues:
            argv.append(f"--resume={request.continues}")
        return Command(tuple(argv), request.cwd, dict(request.environment), request.prompt_file)

    def parser(self, request: AgentRequest) -> StreamParser:
        if value_of(self._flags, "--output-format") == "text":
            return PlainTextParser()
        stream = CopilotStreamParser(partial(_used, request))
        return FinalWordsParser(stream) if request.mode is OutputMode.TEXT else stream

    def explain(self, failure: Failure) -> Fault | Exhausted | None:
        if failure.code in _NOT_LOGGED_IN and failure.status is None:
            return Fatal(failure.message, FACTS.login_hint)
        return faults.by_status(failure, FACTS)

    def explain_silence(self, stderr: str, code: int) -> Fault | Exhausted | None:
        lines = faults.plain_lines(stderr)
        for line in lines:
            if _NO_LOGIN.search(line):
                return Fatal(line, FACTS.login_hint)
        return faults.startup_error("\n".join(lines))


def _used(request: AgentRequest, session_id: str) -> Usage | None:
    used = used_by(session_id, request)
    return None if used is None else used.since(request.used_before)


ADAPTER: Final = CopilotAdapter
