"""The flags that describe a task, and the entry that they make: as in a file, and judged the same way."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from ralph.domain.tasks.completion import VerificationMethod
from ralph.domain.tasks.roles import ROLES
from ralph.domain.text.reader import KeyPath, Problem
from ralph.domain.text.safe_text import clean_line, is_text
from ralph.errors import UsageError

_METHODS = "|".join(VerificationMethod)

# Flag of a role → its place in the role's criteria.
_OF_ROLE: Mapping[str, tuple[str, ...]] = {
    "promise": ("promise",),
    "description": ("description",),
    "verify": ("verification_method",),
    "verify-cmd": ("verification_config", "command"),
    "verify-template": ("verification_config", "template"),
    "verify-config": ("verification_config",),
    "max-iterations": ("max_iterations",),
}
_OF_TASK: Mapping[str, tuple[str, ...]] = {
    "outcome": ("completion", "outcome"),
    "acceptance": ("completion", "acceptance_criteria"),
    "description": ("description",),
    "priority": ("priority",),
    "depends-on": ("dependencies",),
    "assignee": ("assignee",),
    "max-cost": ("budget", "cost_usd"),
    "max-tokens": ("budget", "tokens"),
    "max-time": ("budget", "seconds"),
}


def description_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Everything that says what a task is, besides its id and title."""
    for option in reversed([*_task_options(), *_role_options()]):
        command = option(command)
    return command


def _task_options() -> list[Callable[[Any], Any]]:
    return [
        click.option("--outcome", metavar="TEXT", help="What is measurably different when the task is done."),
        click.option(
            "--acceptance", multiple=True, metavar="TEXT", help="An acceptance criterion; may be repeated."
        ),
        click.option("--description", metavar="TEXT", help="What to do."),
        click.option("--priority", type=int, metavar="N", help="Lower numbers come first.  [default: 5]"),
        click.option(
            "--depends-on",
            multiple=True,
            metavar="ID",
            help="A task that must be done first; may be repeated.",
        ),
        click.option("--assignee", metavar="NAME", help="Who owns it; only shown, not used."),
        click.option("--max-cost", type=float, metavar="USD", help="Most that the task may cost."),
        click.option("--max-tokens", type=int, metavar="N", help="Most tokens that the task may use."),
        click.option(
            "--max-time", type=float, metavar="SECONDS", help="Longest time that the task may take."
        ),
    ]


def _role_options() -> list[Callable[[Any], Any]]:
    found: list[Callable[[Any], Any]] = []
    for role in ROLES:
        found += [
            click.option(
                f"--{role}-promise",
                metavar="TEXT",
                help=f"What the {role} says in its promise tag when done.",
            ),
            click.option(f"--{role}-description", metavar="TEXT", help=f"What success means for the {role}."),
            click.option(
                f"--{role}-verify", metavar=f"[{_METHODS}]", help=f"How the {role}'s work is verified."
            ),
            click.option(f"--{role}-verify-cmd", metavar="COMMAND", help="The command that `external` runs."),
            click.option(
                f"--{role}-verify-template", metavar="NAME", help="A ready-made command, such as pytest."
            ),
            click.option(f"--{role}-verify-config", metavar="JSON", help="The whole verification config."),
            click.option(
                f"--{role}-max-iterations", type=int, metavar="N", help=f"Most iterations of the {role}."
            ),
        ]
    return found


def entry_from(flags: Mapping[str, Any], base: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The entry that the flags stand for, on top of ``base``. Flags that were not given say nothing."""
    entry = json.loads(json.dumps(base or {}))
    for flag, path in _OF_TASK.items():
        _put(entry, path, _given(flags, flag))
    for role in ROLES:
        # The whole config first: what has a flag of its own is then added to it.
        for flag in sorted(_OF_ROLE, key=lambda name: name != "verify-config"):
            value = _given(flags, f"{role}-{flag}")
            if flag == "verify-config" and value is not None:
                value = _parsed(value, f"--{role}-{flag}")
            if flag == "verify-cmd" and value and not _given(flags, f"{role}-verify"):
                _put(entry, ("completion", role, "verification_method"), VerificationMethod.EXTERNAL.value)
            _put(entry, ("completion", role, *_OF_ROLE[flag]), value)
    return _without_empty(entry)


def flag_of(path: KeyPath) -> str:
    """Which flag a problem of the entry is about; its last word if there is none."""
    where = tuple(step for step in path if isinstance(step, str))
    for flag, place in _OF_TASK.items():
        if where[: len(place)] == place:
            return f"--{flag}"
    if len(where) >= 2 and where[0] == "completion" and where[1] in ROLES:
        of_role = where[2:]
        best = [flag for flag, place in _OF_ROLE.items() if of_role[: len(place)] == place]
        if best:
            return f"--{where[1]}-{best[0]}"
    return {"id": "ID", "title": "TITLE", "spec_id": "SPEC"}.get(where[0], where[0]) if where else ""


def refuse(problems: Sequence[Problem]) -> None:
    """Raises UsageError with all of them, each by its flag."""
    if not problems:
        return
    lines = [_spelled(problem) for problem in problems]
    shown = (
        lines[0]
        if len(lines) == 1
        else "\n".join([f"{len(lines)} problems:", *(f"  {one}" for one in lines)])
    )
    raise UsageError(clean_lines(shown))


def clean_lines(text: str) -> str:
    return "\n".join(clean_line(line) for line in text.split("\n"))


def _spelled(problem: Problem) -> str:
    text = ": ".join(part for part in (flag_of(problem.path), problem.message) if part)
    return f"{text}; {problem.hint}" if problem.hint else text


def _given(flags: Mapping[str, Any], flag: str) -> Any:
    value = flags.get(flag.replace("-", "_"))
    for text in value if isinstance(value, tuple) else (value,):
        if isinstance(text, str) and not is_text(text):
            message = f"--{flag} is not UTF-8 text"
            raise UsageError(message)
    if isinstance(value, tuple):
        return [text for text in value if text] if value else None
    return value


def _put(entry: dict[str, Any], path: Sequence[str], value: Any) -> None:
    if value is None:
        return
    for step in path[:-1]:
        entry = entry.setdefault(step, {})
    entry[path[-1]] = value


def _parsed(text: str, flag: str) -> Any:
    from ralph.domain.text.strict_json import BadJson, parse_json

    try:
        return parse_json(text).value
    except BadJson as error:
        message = f"{flag}: {error}"
        raise UsageError(message, hint="""such as '{"command": "make test", "timeout": 600}'""") from None


def _without_empty(value: dict[str, Any]) -> dict[str, Any]:
    """An empty text clears a field: the default applies again."""
    kept = {
        key: _without_empty(inner) if isinstance(inner, dict) and key != "metadata" else inner
        for key, inner in value.items()
    }
    return {key: inner for key, inner in kept.items() if inner not in ("", None) and inner != {}}
