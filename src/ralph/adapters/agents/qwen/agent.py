"""Qwen Code: ``qwen --output-format stream-json``, prompt on stdin, events much like claude's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ralph.adapters.agents import faults
from ralph.adapters.agents.arguments import program
from ralph.adapters.agents.faults import Failure
from ralph.adapters.agents.gemini_family import GeminiFamilyAdapter
from ralph.adapters.agents.qwen.stream import QwenStreamParser, status_in
from ralph.domain.agent.events import AgentEvent, ErrorReported
from ralph.domain.agent.facts import AgentFacts, AgentNeeds, Clean, Examination, KnownGood
from ralph.domain.agent.options import ALL_OPTIONS
from ralph.domain.loop.session_report import Exhausted, Fatal, Fault
from ralph.engine.ports import AgentRequest, Command, Exit, StreamParser
from ralph.patterns import pattern

FACTS: Final = AgentFacts(
    name="qwen",
    install="npm install -g @qwen-code/qwen-code",
    login="start `qwen` once and use /auth, or set OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL)",
    options=ALL_OPTIONS,
    needs=AgentNeeds(
        state=(".qwen",),
        # No login: it also names the service that the user's sessions would talk to.
        sessions=(".qwen/projects", ".qwen/tmp", ".qwen/todos"),  # chats; memories too
        scratch=(
            ".qwen/*.lock",
            ".qwen/debug",
            ".qwen/extension-store",
            ".qwen/logs",
            ".qwen/usage_record.jsonl",
        ),
        env=("QWEN_*", "OPENAI_*", "DASHSCOPE_*"),
        named=(("QWEN_CODE_SYSTEM_SETTINGS_PATH", ""), ("QWEN_SYSTEM_MD", "")),
        hosts=("chat.qwen.ai", "dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com"),
    ),
    examination=Examination(
        KnownGood("0.24", "0.24.4"),
        flags=("--output-format", "--yolo"),
        variables=("OPENAI_API_KEY", "DASHSCOPE_API_KEY"),
        files=(".qwen/oauth_creds.json",),
        silent_seconds=110,
    ),
    clean=Clean(("--extensions=none", "--allowed-mcp-server-names=none"), keeps="your QWEN.md and skills"),
)

DEFAULTS: Final = Path(__file__).with_name("defaults.json")
"""It would tell the next session what it remembers of this one, and ask the model in between what is worth it. There is
no flag against that; this file is the lowest layer of its settings, so that whoever wants it can have it. Its version is
beyond all real ones: qwen writes to files of an older version than its own."""

_USERS_LIMITS: Final = {53: faults.TURNS, 55: faults.TIME}
_NO_KEY = pattern(r"^Missing API key|no auth(?:entication)? (?:type|method) is selected", re.IGNORECASE)
_RETRY = pattern(r"^Retrying in .*?: (\[API Error: .*\])$", re.MULTILINE)


class QwenAdapter(GeminiFamilyAdapter):
    facts = FACTS
    turns_flag = "--max-session-turns"

    def stream(self, request: AgentRequest) -> StreamParser:
        return QwenStreamParser(request.used_before)

    def command(self, request: AgentRequest) -> Command:
        argv = [program(self._command, request.cwd), *self._arguments(request)]
        if request.continues:
            argv.append(f"--resume={request.continues}")
        # Without its relauncher there is no second process that could die and leave the agent behind.
        environment = {
            "QWEN_CODE_NO_RELAUNCH": "true",
            "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1",
            "QWEN_CODE_SYSTEM_DEFAULTS_PATH": str(DEFAULTS),
            **request.environment,
        }
        return Command(tuple(argv), request.cwd, environment, request.prompt_file)

    def classify(
        self, exit_: Exit, events: Sequence[AgentEvent], *, stderr: str, is_empty: bool
    ) -> Fault | Exhausted | None:
        if exit_.code in _USERS_LIMITS and not events:
            return _USERS_LIMITS[exit_.code]
        retries = list(_RETRY.finditer(stderr))
        if retries:
            # What it is trying again is said on stderr only.
            status = status_in(retries[-1][1])
            events = [_explained(event, retries[-1][1], status) for event in events]
        return super().classify(exit_, events, stderr=stderr, is_empty=is_empty)

    def explain(self, failure: Failure) -> Fault | Exhausted | None:
        if _NO_KEY.search(failure.message):
            return Fatal(failure.message, FACTS.login_hint)
        return faults.by_status(failure, FACTS)

    def explain_silence(self, stderr: str, code: int) -> Fault | Exhausted | None:
        lines = faults.plain_lines(stderr)
        for line in lines:
            if line.startswith("Unknown argument"):
                return Fatal(line, "check agent.flags in the settings")
        return faults.startup_error("\n".join(lines))


def _explained(event: AgentEvent, message: str, status: int | None) -> AgentEvent:
    if isinstance(event, ErrorReported) and not event.final and event.status is None:
        return ErrorReported(f"{event.message}: {message}", status, event.code, False)
    return event


ADAPTER: Final = QwenAdapter
