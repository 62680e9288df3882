"""GitHub Copilot CLI: ``copilot --output-format json``, prompt on stdin, events as JSON lines."""

from __future__ import annotations

import re
from typing import Final

from ralph.adapters.agents import faults
from ralph.adapters.agents.arguments import program, value_of
from ralph.adapters.agents.copilot_stream import CopilotStreamParser
from ralph.adapters.agents.faults import Advice, Failure
from ralph.adapters.agents.final_words import FinalWordsParser
from ralph.adapters.agents.plain_text import PlainTextParser
from ralph.adapters.agents.registry import KNOWN_AGENTS
from ralph.adapters.agents.structured import StructuredAdapter
from ralph.domain.loop.session_report import Fatal, Fault
from ralph.engine.ports import AgentRequest, Command, OutputMode, StreamParser

ALLOW_ALL: Final = "--allow-all"
CHOOSES_PERMISSIONS: Final = (
    ALLOW_ALL,
    "--yolo",
    "--allow-all-tools",
    "--allow-tool",
    "--deny-tool",
    "--available-tools",
    "--excluded-tools",
)
NO_WRITING: Final = ("--deny-tool=write", "--deny-tool=shell")
"""These outrank whatever else is allowed."""

ADVICE: Final = Advice(
    install=KNOWN_AGENTS["copilot"],
    login="log in: `copilot login`, or set COPILOT_GITHUB_TOKEN",
)


class CopilotAdapter(StructuredAdapter):
    name = "copilot"
    advice = ADVICE
    model_flags = ("--model",)

    @property
    def _adds_allow_all(self) -> bool:
        return not self._gives(*CHOOSES_PERMISSIONS)

    @property
    def notes(self) -> tuple[str, ...]:
        cost = "copilot reports no tokens: what it costs is not known, and no limit of cost or tokens can hold it"
        if self._adds_allow_all or self._gives(ALLOW_ALL, "--yolo"):
            return (f"permissions are skipped ({ALLOW_ALL}): copilot may run any command", cost)
        return (cost,)

    def command(self, request: AgentRequest) -> Command:
        # Without -p it reads the prompt from stdin.
        argv = [program(self._command, request.cwd), *self._flags, *self._model()]
        if not self._gives("--output-format"):
            argv += ["--output-format", "json"]
        if self._adds_allow_all:
            argv.append(ALLOW_ALL)
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
        stream = CopilotStreamParser()
        return FinalWordsParser(stream) if request.mode is OutputMode.TEXT else stream

    def explain(self, failure: Failure) -> Fault | None:
        if failure.code in _NOT_LOGGED_IN and failure.status is None:
            return Fatal(failure.message, ADVICE.login)
        if failure.code == "context_limit" or _TOO_LONG.search(failure.message):
            return faults.too_long(failure)
        return faults.by_status(failure, ADVICE)

    def explain_silence(self, stderr: str, code: int) -> Fault | None:
        lines = faults.plain_lines(stderr)
        for line in lines:
            if _NO_LOGIN.search(line):
                return Fatal(line, ADVICE.login)
        return faults.startup_error("\n".join(lines))


_NOT_LOGGED_IN: Final = frozenset(("authentication", "authorization"))
_TOO_LONG = re.compile(r"\bexceeds the model's prompt budget\b", re.IGNORECASE)
_NO_LOGIN = re.compile(r"^Error: (?:No authentication|Authentication)", re.IGNORECASE)
