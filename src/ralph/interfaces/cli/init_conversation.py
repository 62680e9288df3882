"""The questions of ``ralph init``. Their wording is part of the interface: scripts answer them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ralph.config.kinds import Kind, Reading, Table
from ralph.config.schema import SETTINGS, GuardrailSettings, Settings
from ralph.domain.text.reader import Problem

Ask = Callable[[str], str]
"""Shows a question and gives the line that was typed."""
Say = Callable[[str], None]

_DEFAULTS = Settings()
_GUARDRAIL = Table(GuardrailSettings)


def converse(ask: Ask, say: Say, *, found: Sequence[str] = ()) -> dict[str, object]:
    """Asks everything; the result is what belongs into the settings file. ``found``: likely guardrails."""
    command = _required(
        ask, say, "Agent command (e.g., claude, codex, amp, or other LLM CLI): ", "an agent command is needed"
    )
    flags = split_commas(ask("Agent flags (comma-separated, optional): "))
    iterations = _checked(
        ask,
        say,
        f"Maximum iterations [{_DEFAULTS.maximum_iterations}]: ",
        SETTINGS.kind_of("maximum_iterations"),
        default=_DEFAULTS.maximum_iterations,
    )
    completion = ask(f"Completion response [{_DEFAULTS.completion_response}]: ").strip()
    guardrails = _guardrails(ask, say, found)
    scm = _scm(ask, say)
    return settings_document(
        command=command,
        flags=flags,
        maximum_iterations=iterations,
        completion_response=completion or _DEFAULTS.completion_response,
        guardrails=guardrails,
        scm=scm,
    )


def confirmed(answer: str) -> bool:
    """``(y/N)``: only a clear yes is one."""
    return answer.strip().lower() in ("y", "yes")


def split_commas(answer: str) -> list[str]:
    return [part.strip() for part in answer.split(",") if part.strip()]


def settings_document(
    *,
    command: str,
    flags: Sequence[str],
    maximum_iterations: object,
    completion_response: str,
    guardrails: Sequence[dict[str, object]],
    scm: dict[str, object] | None,
) -> dict[str, object]:
    """A settings file's content, keys in the order that the documentation shows."""
    document: dict[str, object] = {
        "maximumIterations": maximum_iterations,
        "completionResponse": completion_response,
        "outputTruncateChars": _DEFAULTS.output_truncate_chars,
        "streamAgentOutput": _DEFAULTS.stream_agent_output,
        "includeIterationCountInPrompt": _DEFAULTS.include_iteration_count_in_prompt,
        "agent": {"command": command, "flags": list(flags)},
        "guardrails": list(guardrails),
    }
    if scm is not None:
        document["scm"] = scm
    return document


def _guardrails(ask: Ask, say: Say, found: Sequence[str]) -> list[dict[str, object]]:
    if found:
        say(f"Found in this project: {', '.join(found)}")
    guardrails: list[dict[str, object]] = []
    while command := ask("Add guardrail command (leave blank to finish): ").strip():
        fail_action = _checked(
            ask,
            say,
            "  Fail action (APPEND|PREPEND|REPLACE): ",
            _GUARDRAIL.kind_of("fail_action"),
            indent="  ",
        )
        guardrail: dict[str, object] = {"command": command, "failAction": str(fail_action)}
        if hint := ask("  Hint (optional, guidance for agent on failure): ").strip():
            guardrail["hint"] = hint
        guardrails.append(guardrail)
    return guardrails


def _scm(ask: Ask, say: Say) -> dict[str, object] | None:
    if not confirmed(ask("Configure SCM? (y/N): ")):
        return None
    command = _required(ask, say, "  SCM command (e.g., git): ", "  an SCM command is needed")
    tasks: list[str] = []
    while not tasks:
        tasks = split_commas(ask("  SCM tasks (comma-separated, e.g., commit,push): "))
        if not tasks:
            say("  at least one task is needed")
    return {"command": command, "tasks": tasks}


def _required(ask: Ask, say: Say, question: str, reason: str) -> str:
    while True:
        if answer := ask(question).strip():
            return answer
        say(reason)


def _checked(
    ask: Ask, say: Say, question: str, kind: Kind[Any], *, default: object = None, indent: str = ""
) -> object:
    """Asks until the schema takes the answer; blank is the default if there is one."""
    while True:
        answer = ask(question).strip()
        if not answer and default is not None:
            return default
        problems: list[Problem] = []
        value: object = kind.read(kind.parse(answer), Reading(lambda _: "", problems, []))
        if not problems:
            return value
        say(indent + str(problems[0]))
