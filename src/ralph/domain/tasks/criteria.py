"""Which criteria hold for a task in a role: the task's own, else the role's, else the global ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ralph.domain.proof.verification_config import expand
from ralph.domain.tasks.completion import CompletionCriteria, VerificationMethod
from ralph.domain.tasks.roles import STAGE_COMPLETE, CompletionDefaults
from ralph.domain.tasks.task import Task

NO_SPEC = "has no completion spec: its promise is accepted without proof (string_match)"
WITHOUT_SPEC = "accepted on its promise alone, because it has no completion spec"
ALL_CRITERIA = "{{acceptance_criteria}}"


def criteria_for(task: Task, role: str, defaults: CompletionDefaults | None = None) -> CompletionCriteria:
    """Complete criteria: promise, description, method, its config and a limit are all there.

    Whatever cannot be run as asked falls back to what can: ``external`` without a command to ``semantic`` on the
    acceptance criteria, ``multi_stage`` without stages to a command, if there is one, and ``semantic``. A task
    without any spec is believed by its promise, as a prompt alone would be; ``concerns_about`` names it.
    """
    defaults = defaults or CompletionDefaults()
    row = defaults.of(role)
    spec = task.completion_spec
    own = (spec.criteria.get(role) if spec else None) or CompletionCriteria()
    usual = row.method or _implied_method(row.config)
    method = own.verification_method or _implied_method(own.verification_config) or usual or defaults.method
    # The role's config belongs to the role's method, and means nothing to another one.
    config = {**(row.config if method == usual else {}), **own.verification_config}
    if spec is None:
        method, config = VerificationMethod.STRING_MATCH, {}
    else:
        method, config = _make_runnable(method, config, task, defaults)
    limit = own.max_iterations or row.max_iterations or defaults.max_iterations
    return CompletionCriteria(
        promise=own.promise or row.promise or STAGE_COMPLETE,
        description=own.description or row.description or usual_description(task, role),
        verification_method=method,
        verification_config=config,
        max_iterations=limit if defaults.loops(role) else 1,
    )


def usual_description(task: Task, role: str) -> str:
    return f"Complete {role} stage for: {task.title}"


def describe_verification(criteria: CompletionCriteria) -> str:
    """One line, whatever the method: its command, how many criteria, or its stages."""
    return _describe(str(criteria.verification_method), criteria.verification_config)


_PLAIN = {
    VerificationMethod.EXTERNAL.value: "command",
    VerificationMethod.SEMANTIC.value: "judge",
    VerificationMethod.MULTI_STAGE.value: "checks",
}


def proof_words(criteria: CompletionCriteria) -> str:
    """What proves the work, as people read it: ``command: pytest -q``."""
    method, colon, what = describe_verification(criteria).partition(": ")
    return f"{_PLAIN.get(method, method.replace('_', ' '))}{colon}{what}"


def _describe(method: str, config: Mapping[str, Any]) -> str:
    match method:
        case VerificationMethod.EXTERNAL:
            return f"external: {config.get('command', '')}"
        case VerificationMethod.SEMANTIC:
            number = len(config.get("check_for", ()))
            return f"semantic: {number} {'criterion' if number == 1 else 'criteria'}"
        case VerificationMethod.MULTI_STAGE:
            return f"multi_stage: {', '.join(map(_describe_stage, config.get('stages', ())))}"
        case _:
            return method


def _describe_stage(stage: Mapping[str, Any]) -> str:
    command = (stage.get("config") or {}).get("command", "")
    optional = "" if stage.get("required", True) else " (optional)"
    return f"{stage.get('name') or stage.get('method')}{f' ({command})' if command else ''}{optional}"


def concerns_about(task: Task, defaults: CompletionDefaults | None = None) -> tuple[str, ...]:
    """What the user should know before the task is left to itself."""
    if task.completion_spec is None:
        return (f"{task.id} {NO_SPEC}",)
    return tuple(
        f"{task.id}: {role} is to be verified by external, but there is no command: a judge looks at the acceptance criteria"
        for role, own in task.completion_spec.criteria.items()
        if own.verification_method == VerificationMethod.EXTERNAL
        and criteria_for(task, role, defaults).verification_method != VerificationMethod.EXTERNAL
    )


def _implied_method(config: Mapping[str, Any]) -> str:
    """Whoever gives a command and no method wants it run."""
    if "stages" in config:
        return VerificationMethod.MULTI_STAGE
    if "command" in config or "template" in config:
        return VerificationMethod.EXTERNAL
    if "check_for" in config or "negative_patterns" in config:
        return VerificationMethod.SEMANTIC
    return ""


def _make_runnable(
    method: str, config: Mapping[str, Any], task: Task, defaults: CompletionDefaults
) -> tuple[str, dict[str, Any]]:
    criteria = list(task.acceptance_criteria)
    config = expand(config)
    if method == VerificationMethod.EXTERNAL and not config.get("command"):
        return VerificationMethod.SEMANTIC, {"check_for": criteria}
    if method == VerificationMethod.SEMANTIC:
        return method, {**config, "check_for": _fill_in(config.get("check_for", criteria), criteria)}
    if method == VerificationMethod.MULTI_STAGE:
        if config.get("stages") is None:  # an empty list is kept: it never passes
            config["stages"] = _usual_stages(task, defaults)
        config["stages"] = [_stage(stage, criteria) for stage in config["stages"]]
    return method, config


def _usual_stages(task: Task, defaults: CompletionDefaults) -> list[dict[str, Any]]:
    command = _command_of(task, defaults)
    judged = {"name": "acceptance_criteria", "method": "semantic", "config": {"check_for": ALL_CRITERIA}}
    return [*([{"name": "command", "method": "external", "config": command}] if command else []), judged]


def _command_of(task: Task, defaults: CompletionDefaults) -> dict[str, Any]:
    """The command that says most about the whole task: the tester's, else the coder's."""
    spec = task.completion_spec
    for role in ("tester", "coder"):
        own = spec.criteria.get(role) if spec else None
        for config in (own.verification_config if own else {}, defaults.of(role).config):
            found = expand(config)
            if found.get("command"):
                return found
    return {}


def _stage(stage: Mapping[str, Any], criteria: list[str]) -> dict[str, Any]:
    given = stage.get("config") or {}
    method = stage.get("method") or _implied_method(given) or VerificationMethod.STRING_MATCH
    config = expand(given)
    if method == VerificationMethod.SEMANTIC:
        config["check_for"] = _fill_in(config.get("check_for", criteria), criteria)
    return {**stage, "method": str(method), "config": config}


def _fill_in(check_for: object, criteria: list[str]) -> list[str]:
    """``{{acceptance_criteria}}`` stands for all of them, alone or as an entry of a list."""
    asked = [check_for] if isinstance(check_for, str) else check_for if isinstance(check_for, list) else []
    return [one for entry in asked for one in (criteria if entry.strip() == ALL_CRITERIA else [entry])]
