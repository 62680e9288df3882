"""Qwen Code: ``qwen --output-format stream-json``, prompt on stdin, events much like claude's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ralph.adapters.agents import faults
from ralph.adapters.agents.arguments import program, value_of, without
from ralph.adapters.agents.faults import Advice, Failure
from ralph.adapters.agents.final_words import FinalWordsParser
from ralph.adapters.agents.plain_text import PlainTextParser
from ralph.adapters.agents.qwen_stream import QwenStreamParser, status_in
from ralph.adapters.agents.registry import KNOWN_AGENTS
from ralph.adapters.agents.structured import StructuredAdapter
from ralph.domain.agent.events import AgentEvent, ErrorReported
from ralph.domain.loop.session_report import Fatal, Fault
from ralph.engine.ports import AgentRequest, Command, Exit, OutputMode, StreamParser

YOLO: Final = "--yolo"
_PERMITS: Final = ("--approval-mode", "--allowed-tools")
CHOOSES_PERMISSIONS: Final = ("-y", YOLO, *_PERMITS)

DEFAULTS: Final = Path(__file__).with_name("qwen_defaults.json")
"""What it remembers of one session it would tell the next, and ask the model in between what is worth it. There is no
flag against that; this file is the lowest layer of its settings, so that who wants it can have it. Its version is beyond
all that are: qwen writes to files of an older one than its own."""

ADVICE: Final = Advice(
    install=KNOWN_AGENTS["qwen"],
    login="log in: start `qwen` once and use /auth, or set OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL)",
)


class QwenAdapter(StructuredAdapter):
    name = "qwen"
    advice = ADVICE

    @property
    def _adds_yolo(self) -> bool:
        return not self._gives(*CHOOSES_PERMISSIONS)

    @property
    def notes(self) -> tuple[str, ...]:
        if self._adds_yolo or self._gives("-y", YOLO):
            return (f"permissions are skipped ({YOLO}): qwen may run any command",)
        return ()

    def command(self, request: AgentRequest) -> Command:
        flags = without(self._flags, "-y", YOLO, valued=_PERMITS) if request.read_only else self._flags
        argv = [program(self._command, request.cwd), *flags, *self._model()]
        if self._options.max_turns is not None and not self._gives("--max-session-turns"):
            argv.append(f"--max-session-turns={self._options.max_turns}")
        if not self._gives("-o", "--output-format"):
            argv += ["--output-format", "stream-json"]
        if request.read_only:
            argv += ["--approval-mode", "plan"]
        elif self._adds_yolo:
            argv.append(YOLO)
        if request.continues:
            argv.append(f"--resume={request.continues}")
        # Without its relauncher there is one process less that could die and leave the agent behind.
        environment = {
            "QWEN_CODE_NO_RELAUNCH": "true",
            "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1",
            "QWEN_CODE_SYSTEM_DEFAULTS_PATH": str(DEFAULTS),
            **request.environment,
        }
        return Command(tuple(argv), request.cwd, environment, request.prompt_file)

    def parser(self, request: AgentRequest) -> StreamParser:
        chosen = value_of(self._flags, "--output-format") or value_of(self._flags, "-o")
        if chosen is not None and chosen != "stream-json":
            return PlainTextParser()
        stream = QwenStreamParser()
        return FinalWordsParser(stream) if request.mode is OutputMode.TEXT else stream

    def classify(
        self, exit_: Exit, events: Sequence[AgentEvent], *, stderr: str, is_empty: bool
    ) -> Fault | None:
        if exit_.code in _USERS_LIMITS and not events:
            return None  # it was reached: the session is judged as it is
        retries = list(_RETRY.finditer(stderr))
        if retries:
            # What it is trying again is said on stderr only.
            status = status_in(retries[-1][1])
            events = [_explained(event, retries[-1][1], status) for event in events]
        return super().classify(exit_, events, stderr=stderr, is_empty=is_empty)

    def explain(self, failure: Failure) -> Fault | None:
        if _NO_KEY.search(failure.message):
            return Fatal(failure.message, ADVICE.login)
        if _TOO_LONG.search(failure.message):
            return faults.too_long(failure)
        return faults.by_status(failure, ADVICE)

    def explain_silence(self, stderr: str, code: int) -> Fault | None:
        lines = faults.plain_lines(stderr)
        for line in lines:
            if line.startswith("Unknown argument"):
                return Fatal(line, "check agent.flags in the settings")
        return faults.startup_error("\n".join(lines))


# --- faults ------------------------------------------------------------------------------------------------

_USERS_LIMITS: Final = (53, 55)  # turns; wall time or tool calls
_NO_KEY = re.compile(r"^Missing API key|no auth(?:entication)? (?:type|method) is selected", re.IGNORECASE)
_TOO_LONG = re.compile(r"\bcontext is too large to send\b", re.IGNORECASE)
_RETRY = re.compile(r"^Retrying in .*?: (\[API Error: .*\])$", re.MULTILINE)


def _explained(event: AgentEvent, message: str, status: int | None) -> AgentEvent:
    if isinstance(event, ErrorReported) and not event.final and event.status is None:
        return ErrorReported(f"{event.message}: {message}", status, event.code, False)
    return event
