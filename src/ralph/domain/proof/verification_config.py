"""The config of a verification: what it may hold, what is wrong with one, and which commands are in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ralph.domain.proof.required_command import RequiredCommand, is_outside
from ralph.domain.tasks.completion import CompletionCriteria, VerificationMethod
from ralph.domain.text.reader import Reader, closest, kind_of
from ralph.patterns import pattern

IsMethod = Callable[[str], bool]
"""Whether an installed package offers a method of this name (an entry point)."""

_DOTTED = pattern(r"[A-Za-z_]\w*(\.\w+)*(:[A-Za-z_]\w*|\.[A-Za-z_]\w*)")

# For every method: honest-proof settings that the checks read.
_COMMON = ("allow_empty", "allowEmpty", "may_change", "mayChange", "protect", "rerun")


def is_dotted(name: str) -> bool:
    """``package.module:Class`` or ``package.module.Class``: a method of the user's own."""
    return _DOTTED.fullmatch(name) is not None


def read_method(reader: Reader, key: str, is_method: IsMethod) -> str:
    """A method's name; empty if there is none, or an unknown one, which is noted."""
    name = reader.text(key, one_line=True)
    if not name or name in list(VerificationMethod) or is_dotted(name) or is_method(name):
        return name
    reader.wrong(key, f"unknown verification method {name!r}", closest(name, [*VerificationMethod]))
    return ""


def read_config(reader: Reader, method: str, is_method: IsMethod) -> None:
    """Note whatever is wrong with the config of ``method`` (empty: not said; then it must fit one of them)."""
    match method:
        case VerificationMethod.STRING_MATCH:
            pass
        case VerificationMethod.SEMANTIC:
            _semantic(reader)
        case VerificationMethod.EXTERNAL:
            _external(reader)
        case VerificationMethod.MULTI_STAGE:
            _multi_stage(reader, is_method)
        case "":
            _external(reader)
            _semantic(reader)
            _multi_stage(reader, is_method)
        case _:
            return  # a custom method knows its own config
    reader.allow(*_COMMON)
    reader.refuse_others("option of this verification")


def _external(reader: Reader) -> None:
    if not reader.text("command") and isinstance(reader.value.get("command"), str):
        reader.wrong("command", "is empty", "give a command, or leave it out: then the criteria are judged")
    if (template := reader.text("template")) and template not in TEMPLATES:
        reader.wrong("template", f"unknown template {template!r}", closest(template, TEMPLATES))
    reader.whole("success_exit_code", least=0, most=255)
    reader.text("output_contains")
    reader.text("output_not_contains")
    reader.amount("timeout")
    if is_outside(reader.text("working_dir")):
        reader.wrong("working_dir", "is outside the workspace", "a folder inside it, such as backend")


def _semantic(reader: Reader) -> None:
    if isinstance(reader.value.get("check_for"), str):
        reader.text("check_for")
    else:
        reader.texts("check_for")
    reader.texts("negative_patterns")
    reader.text("model", one_line=True)


def _multi_stage(reader: Reader, is_method: IsMethod) -> None:
    reader.flag("require_all")
    reader.flag("parallel")
    reader.allow("stages")
    stages = reader.value.get("stages")
    if stages is None:
        return
    if not isinstance(stages, list):
        reader.wrong("stages", f"expected a list, found {kind_of(stages)}")
        return
    if not stages:
        reader.wrong("stages", "is empty", "a verification without stages could never pass")
    names: set[str] = set()
    for index, stage in enumerate(stages):
        if not isinstance(stage, Mapping):
            reader.wrong("stages", f"stage {index + 1}: expected a mapping, found {kind_of(stage)}")
            continue
        _stage(Reader(stage, (*reader.path, "stages", index), reader.problems), names, is_method)


def _stage(reader: Reader, names: set[str], is_method: IsMethod) -> None:
    name = reader.text("name", one_line=True)
    if name in names:
        reader.wrong("name", f"two stages are named {name!r}")
    names.add(name or f"#{len(names)}")
    method = read_method(reader, "method", is_method)
    if method == VerificationMethod.MULTI_STAGE:
        reader.wrong("method", "a stage cannot have stages of its own")
    config = reader.inside("config")
    reader.flag("required")
    reader.refuse_others("key of a stage")
    if config is not None and method != VerificationMethod.MULTI_STAGE:
        read_config(config, method, is_method)
    if method == VerificationMethod.EXTERNAL and not (
        config and (config.value.get("command") or config.value.get("template"))
    ):
        reader.wrong(None, "this external stage has no command")


TEMPLATES: Mapping[str, Mapping[str, Any]] = {
    "pytest": {"command": "python -m pytest -q", "timeout": 900},
    "unittest": {"command": "python -m unittest", "timeout": 900},
    "ruff": {"command": "ruff check .", "timeout": 120},
    "mypy": {"command": "mypy .", "timeout": 600},
    "npm-test": {"command": "npm test --silent", "timeout": 900},
    "cargo": {"command": "cargo test --quiet", "timeout": 1800},
    "go-test": {"command": "go test ./...", "timeout": 900},
    "make": {"command": "make test", "timeout": 1800},
}


def expand(config: Mapping[str, Any]) -> dict[str, Any]:
    """The config with its template filled in; what the config itself says wins."""
    name = config.get("template")
    values = TEMPLATES.get(name, {}) if isinstance(name, str) else {}
    return {**values, **{key: value for key, value in config.items() if key != "template"}}


# --- the commands in it ---

EXTERNAL_SECONDS = 300.0
"""How long a command of the method ``external`` may take, unless its config says otherwise."""


def required_by(config: Mapping[str, Any]) -> RequiredCommand:
    """What the config of the method ``external`` requires."""
    rerun = config.get("rerun")
    return RequiredCommand(
        command=str(config.get("command") or ""),
        working_dir=str(config.get("working_dir") or "."),
        timeout=float(config.get("timeout") or EXTERNAL_SECONDS),
        success_exit_code=int(config.get("success_exit_code", 0)),
        output_contains=str(config.get("output_contains") or ""),
        output_not_contains=str(config.get("output_not_contains") or ""),
        allow_empty=config.get("allow_empty", config.get("allowEmpty", False)) is True,
        rerun=None if rerun is None else bool(rerun),
    )


def commands_in(criteria: CompletionCriteria) -> list[RequiredCommand]:
    """All commands that a role is verified by, those of its required stages included."""
    return [
        required_by(config) for config in _configs(criteria.verification_method, criteria.verification_config)
    ]


def _configs(method: str, config: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if method == VerificationMethod.EXTERNAL and config.get("command"):
        yield config
    elif method == VerificationMethod.MULTI_STAGE:
        for stage in config.get("stages") or ():
            if stage.get("required", True):
                yield from _configs(str(stage.get("method", "")), stage.get("config") or {})


def commands_of_merge(
    guardrails: Iterable[RequiredCommand], criteria: Iterable[CompletionCriteria]
) -> tuple[RequiredCommand, ...]:
    """What merged work must pass, in this order and each once: the guardrails, and every role's commands."""
    verified_by = (command for one in criteria for command in commands_in(one))
    return tuple(dict.fromkeys((*guardrails, *verified_by)))
