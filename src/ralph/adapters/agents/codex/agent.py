"""Codex: ``codex e --json``, prompt on stdin, events as JSON lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from ralph.adapters.agents import faults
from ralph.adapters.agents.arguments import program, value_of, without
from ralph.adapters.agents.codex.stream import CodexStreamParser, status_in
from ralph.adapters.agents.faults import Failure
from ralph.adapters.agents.plain_text import PlainTextParser
from ralph.adapters.agents.structured import StructuredAdapter
from ralph.domain.agent.events import AgentEvent
from ralph.domain.agent.facts import (
    AgentFacts,
    AgentNeeds,
    Clean,
    Examination,
    KnownGood,
    OwnProvider,
    by_exit_status,
)
from ralph.domain.agent.options import ALL_OPTIONS, Option
from ralph.domain.loop.session_report import Exhausted, Fatal, Fault
from ralph.engine.ports import AgentRequest, Command, Exit, OutputMode, StreamParser
from ralph.patterns import pattern
from ralph.values import replace

FACTS: Final = AgentFacts(
    name="codex",
    install="npm install -g @openai/codex",
    login="`codex login`, or set the API key that its configuration names",
    options=ALL_OPTIONS - {Option.MAX_TURNS},
    needs=AgentNeeds(
        state=(".codex",),
        login=(".codex/auth.json",),
        sessions=(".codex/archived_sessions", ".codex/sessions"),
        scratch=(
            ".codex/*.sqlite*",
            ".codex/.tmp",
            ".codex/cache",
            ".codex/history.jsonl",
            ".codex/log",
            ".codex/logs",
            ".codex/session_index.jsonl",
            ".codex/*-locks",
            ".codex/shell_snapshots",  # sourced before every command
            ".codex/tmp",
            ".codex/worktrees",
        ),
        env=("OPENAI_*", "CODEX_*"),
        named=(("CODEX_HOME", ".codex"),),
        hosts=("api.openai.com", "auth.openai.com", "chatgpt.com"),
    ),
    examination=Examination(
        KnownGood("0.160", "0.166.0"),
        help=("exec", "--help"),
        flags=("--json", "--dangerously-bypass-approvals-and-sandbox"),
        login=("login", "status"),
        is_logged_in=by_exit_status,
        own_provider=OwnProvider("CODEX_HOME", ".codex", "config.toml", "model_provider"),
        variables=("CODEX_API_KEY",),
    ),
    clean=Clean(
        ("--ignore-user-config", "-cfeatures.plugins=false", "-cfeatures.apps=false"),
        drops="your config.toml with its MCP servers, plugins, apps, and model and provider",
        keeps="your AGENTS.md and skills",
    ),
)

_RULES: Final = ("-s", "--sandbox", "-a", "--ask-for-approval", "--approval-policy")
_CONFIGURES_MODEL = pattern(r"(?:-c|--config)[ =]?model\s*=\s*[\"']?([^\"'\s]+)")
_CONFIGURES_PERMISSIONS = pattern(r"(?:-c|--config=)?(?:sandbox_mode|approval_policy)\s*=")

# Codex has hardly any error codes, but its error events hold nothing but the error.
_NO_KEY = pattern(r"^missing environment variable|not logged in|please (?:log|sign) in", re.IGNORECASE)
_BAD_REQUEST: Final = frozenset(("invalid_request_error", "model_not_found"))
BAD_REQUEST: Final = 400

USAGE_ERROR: Final = 2
_TALK = pattern(r"^(?:Reading (?:additional input|prompt) from stdin|WARNING:)")
_RUN_TIME_ERROR: Final = "ERROR: "

MAX_PROMPT_CHARS: Final = 1_048_576
"""Codex refuses a longer prompt."""


class CodexAdapter(StructuredAdapter):
    facts = FACTS
    grants = ("--dangerously-bypass-approvals-and-sandbox", "--yolo")
    grant_note = "approvals and sandbox are off"
    chooses = ("--full-auto", *_RULES)

    @property
    def _adds_grant(self) -> bool:
        return super()._adds_grant and not any(map(_CONFIGURES_PERMISSIONS.match, self._flags))

    def command(self, request: AgentRequest) -> Command:
        argv = [program(self._command, request.cwd), "e"]
        if request.mode is OutputMode.STREAM and not self._gives("--json", "--experimental-json"):
            argv.append("--json")
        flags = self._flags
        if request.read_only:
            flags = without(flags, *self.grants, "--full-auto", valued=_RULES)
            argv += ["--sandbox", "read-only"]  # it outranks what the configuration says
        elif self._adds_grant:
            argv.append(self.grants[0])
        argv += [*flags, *self._model()]
        if request.continues:
            argv += ["resume", request.continues]
        # "-" reads the prompt from stdin. Text mode needs no "-o FILE": the final message, and nothing else,
        # goes to stdout, while a file of an earlier call would be left as it was when codex fails.
        stdin: Path | None = request.prompt_file
        if len(request.prompt) > MAX_PROMPT_CHARS:
            argv.append(
                f"Your task is in the file {request.prompt_file}. Read all of it, then do what it says."
            )
            stdin = None
        else:
            argv.append("-")
        return Command(tuple(argv), request.cwd, dict(request.environment), stdin)

    def parser(self, request: AgentRequest) -> StreamParser:
        prints_text = request.mode is OutputMode.TEXT and not self._gives("--json", "--experimental-json")
        model = chosen_model(self._flags) or self._options.model
        return PlainTextParser() if prints_text else CodexStreamParser(model, request.used_before)

    def _model(self) -> list[str]:
        return [] if chosen_model(self._flags) else super()._model()

    def classify(
        self, exit_: Exit, events: Sequence[AgentEvent], *, stderr: str, is_empty: bool
    ) -> Fault | Exhausted | None:
        talk = stderr.splitlines(keepends=True)
        errors = "".join(line for line in talk if not _TALK.match(line))
        return super().classify(exit_, events, stderr=errors, is_empty=is_empty)

    def explain(self, failure: Failure) -> Fault | Exhausted | None:
        if _NO_KEY.search(failure.message):
            return Fatal(failure.message, FACTS.login_hint)
        is_refused = failure.code in _BAD_REQUEST and failure.status is None
        return faults.by_status(replace(failure, status=BAD_REQUEST) if is_refused else failure, FACTS)

    def explain_silence(self, stderr: str, code: int) -> Fault | Exhausted | None:
        lines = [line for line in stderr.splitlines() if line.strip()]
        if not lines:
            return None
        first, final = lines[0], lines[-1]
        if code == USAGE_ERROR:
            return faults.startup_error(stderr) or Fatal(first, "check agent.flags in the settings")
        if "--skip-git-repo-check" in final:
            return Fatal(final, "run in a git repository, or add --skip-git-repo-check to agent.flags")
        if final.startswith(_RUN_TIME_ERROR):
            # Text mode: the error is the last thing it prints, after the session's talk.
            message = final.removeprefix(_RUN_TIME_ERROR)
            return self.explain(Failure(message, status_in(message)))
        return (
            Fatal(first, "check agent.flags and codex's configuration") if first.startswith("Error") else None
        )


def chosen_model(flags: Sequence[str]) -> str:
    """The model that the user's flags name; empty if they leave it to codex's configuration."""
    model = value_of(flags, "--model") or ""
    for flag, value in pairwise((*flags, "")):
        if flag == "-m":
            model = value
        elif len(flag) > len("-m") and flag.startswith("-m"):
            model = flag[len("-m") :].removeprefix("=")
        elif setting := _CONFIGURES_MODEL.match(f"{flag} {value}" if flag in ("-c", "--config") else flag):
            model = setting[1]
    return model


ADAPTER: Final = CodexAdapter
