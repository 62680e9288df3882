"""Gemini CLI: ``gemini --output-format stream-json``, prompt on stdin, events as JSON lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ralph.adapters.agents import faults
from ralph.adapters.agents.arguments import program
from ralph.adapters.agents.faults import Failure
from ralph.adapters.agents.gemini.stream import GeminiStreamParser, status_in
from ralph.adapters.agents.gemini_family import PERMITS, GeminiFamilyAdapter
from ralph.domain.agent.events import NO_RESULT, AgentEvent, ErrorReported, TurnEnded
from ralph.domain.agent.facts import AgentFacts, AgentNeeds, Clean, Examination, KnownGood
from ralph.domain.agent.options import ALL_OPTIONS, Option
from ralph.domain.loop.session_report import Ending, Exhausted, Fatal, Fault, RateLimited
from ralph.engine.ports import AgentRequest, Command, Exit, StreamParser
from ralph.patterns import pattern

FACTS: Final = AgentFacts(
    name="gemini",
    install="npm install -g @google/gemini-cli",
    login="start `gemini` once and choose how to sign in, or set GEMINI_API_KEY",
    options=ALL_OPTIONS - {Option.MAX_TURNS},
    needs=AgentNeeds(
        state=(".gemini",),
        login=(".gemini/gemini-credentials.json", ".gemini/oauth_creds.json"),
        sessions=(".gemini/history", ".gemini/tmp"),  # chats; memories and programs that it fetches too
        scratch=(".gemini/*.lock", ".gemini/*.log"),
        env=("GEMINI_*", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_GENAI_*"),
        named=(
            ("GEMINI_CLI_SYSTEM_DEFAULTS_PATH", ""),
            ("GEMINI_CLI_SYSTEM_SETTINGS_PATH", ""),
            ("GEMINI_SYSTEM_MD", ""),
        ),
        hosts=(
            "generativelanguage.googleapis.com",
            "cloudcode-pa.googleapis.com",
            "oauth2.googleapis.com",
            "aiplatform.googleapis.com",
        ),
    ),
    examination=Examination(
        KnownGood("0.60", "0.61.0"),
        flags=("--output-format", "--yolo", "--skip-trust"),
        variables=("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA"),
        files=(".gemini/oauth_creds.json",),
        silent_seconds=290,
    ),
    clean=Clean(("--extensions=none", "--allowed-mcp-server-names=none"), keeps="your GEMINI.md and skills"),
)

# The exit status is the HTTP status, of which eight bits are left.
_BY_EXIT_CODE: Final = {
    status % 256: status for status in (400, 401, 403, 404, 408, 413, 429, 500, 502, 503, 504)
}
_BAD_KEY = pattern(r"API key (?:not valid|expired|not found)", re.IGNORECASE)
_EXHAUSTED = pattern(r"\bresource (?:has been )?exhausted\b|\bexceeded your current quota\b", re.IGNORECASE)
_TALK = pattern(
    r"^(?:Warning:|\(node:|\(Use `node|YOLO mode|Loaded cached|\[STARTUP\]|Approval mode overridden|\s+at )"
)
_RETRY = pattern(r"^Attempt \d+ failed(?: with status (\d{3}))?[.:].*", re.MULTILINE)


class GeminiAdapter(GeminiFamilyAdapter):
    facts = FACTS
    chooses = (*PERMITS, "--policy", "--admin-policy")

    def stream(self, request: AgentRequest) -> StreamParser:
        return GeminiStreamParser()

    def command(self, request: AgentRequest) -> Command:
        argv = [program(self._command, request.cwd), *self._arguments(request)]
        if not self._gives("--skip-trust"):
            argv.append("--skip-trust")  # it does not start in a folder that nobody has trusted yet
        if request.continues:
            argv.append(f"--resume={request.continues}")
        # Its relauncher ignores signals, and the agent behind it is only reached through the group.
        environment = {"GEMINI_CLI_NO_RELAUNCH": "true", **request.environment}
        return Command(tuple(argv), request.cwd, environment, request.prompt_file)

    def classify(
        self, exit_: Exit, events: Sequence[AgentEvent], *, stderr: str, is_empty: bool
    ) -> Fault | Exhausted | None:
        said = [event for event in events if isinstance(event, TurnEnded | ErrorReported)]
        if exit_.ending in (Ending.IDLE, Ending.TIMED_OUT) and is_empty:
            # It retries for minutes what failed, and says so on stderr only.
            retry = _last_retry(stderr) if all(_is_lack_of_result(event) for event in said) else None
            if retry is not None:
                return self.explain(retry)
        if exit_.code in _BY_EXIT_CODE and not any(_has_status(event) for event in said):
            events = [_with_status(event, _BY_EXIT_CODE[exit_.code]) for event in events]
        return super().classify(exit_, events, stderr=stderr, is_empty=is_empty)

    def explain(self, failure: Failure) -> Fault | Exhausted | None:
        if _BAD_KEY.search(failure.message):
            return Fatal(failure.message, FACTS.login_hint)
        if _EXHAUSTED.search(failure.message):
            return RateLimited(failure.message)
        return faults.by_status(failure, FACTS)

    def explain_silence(self, stderr: str, code: int) -> Fault | Exhausted | None:
        lines = [line for line in _without_talk(stderr) if line.strip()]
        # What is wrong comes first; what to do about it, in an open gemini, follows.
        why = faults.first_words(lines, "Error") or (lines[0] if lines else "")
        match code:
            case 41:
                return Fatal(why or "not logged in", FACTS.login_hint)
            case 42 | 52:
                return Fatal(why or "bad input", "check agent.flags and gemini's settings")
            case 53:
                return faults.TURNS
            case 55:
                return Fatal(why or "the folder is not trusted", "add --skip-trust to agent.flags")
            case _:
                pass
        for line in lines:
            if line.startswith("Unknown argument"):
                return Fatal(line, "check agent.flags in the settings")
        status = status_in(stderr)
        if status is not None:
            return self.explain(Failure(why, status))
        return None


def _without_talk(stderr: str) -> list[str]:
    return [line for line in faults.plain_lines(stderr) if not _TALK.match(line)]


def _last_retry(stderr: str) -> Failure | None:
    found = list(_RETRY.finditer(stderr))
    if not found:
        return None
    status = int(found[-1][1]) if found[-1][1] else None
    return Failure(faults.shorten(found[-1][0].partition(" _ApiError")[0]), status)


def _has_status(event: AgentEvent) -> bool:
    return isinstance(event, ErrorReported) and event.status is not None


def _is_lack_of_result(event: AgentEvent) -> bool:
    return isinstance(event, ErrorReported) and event.code == NO_RESULT


def _with_status(event: AgentEvent, status: int) -> AgentEvent:
    if isinstance(event, ErrorReported) and event.code != NO_RESULT:
        return ErrorReported(event.message, status, event.code, event.final)
    return event


ADAPTER: Final = GeminiAdapter
