"""The options that describe a task, and the task they make: the same rules as for a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ralph.domain.tasks.completion import VerificationMethod
from ralph.domain.tasks.criteria import concerns_about
from ralph.domain.tasks.entry import Known, read_entries
from ralph.domain.tasks.roles import ROLES, CompletionDefaults
from ralph.domain.tasks.task import Task
from ralph.domain.text.reader import KeyPath, Problem
from ralph.domain.text.safe_text import clean_line, is_text
from ralph.errors import RalphError, UsageError
from ralph.interfaces.cli.options import all_of, state_folder

_Flags = Mapping[str, tuple[tuple[str, ...], Mapping[str, Any]]]
"""Flag → its place in the entry of the task, and how the option is declared."""

_OF_TASK: _Flags = {
    "outcome": (
        ("completion", "outcome"),
        {"metavar": "TEXT", "help": "What is measurably different when the task is done."},
    ),
    "acceptance": (
        ("completion", "acceptance_criteria"),
        {"metavar": "TEXT", "multiple": True, "help": "An acceptance criterion; may be repeated."},
    ),
    "description": (("description",), {"metavar": "TEXT", "help": "What to do."}),
    "priority": (
        ("priority",),
        {"metavar": "N", "type": int, "help": "Lower numbers come first.  [default: 5]"},
    ),
    "depends-on": (
        ("dependencies",),
        {"metavar": "ID", "multiple": True, "help": "A task that must be done first; may be repeated."},
    ),
    "assignee": (("assignee",), {"metavar": "NAME", "help": "Who owns it; only shown, not used."}),
    "base": (("base",), {"metavar": "BRANCH", "help": "The branch that its pull request is for."}),
    "max-cost": (
        ("budget", "cost_usd"),
        {"metavar": "USD", "type": float, "help": "Most that the task may cost."},
    ),
    "max-tokens": (
        ("budget", "tokens"),
        {"metavar": "N", "type": int, "help": "Most tokens that the task may use."},
    ),
    "max-time": (
        ("budget", "seconds"),
        {"metavar": "SECONDS", "type": float, "help": "Longest time that the task may take."},
    ),
}
# Places are in the role's criteria.
_OF_ROLE: _Flags = {
    "promise": (
        ("promise",),
        {"metavar": "TEXT", "help": "What the {role} says in its promise tag when done."},
    ),
    "description": (("description",), {"metavar": "TEXT", "help": "What success means for the {role}."}),
    "verify": (
        ("verification_method",),
        {"metavar": f"[{'|'.join(VerificationMethod)}]", "help": "How the {role}'s work is verified."},
    ),
    "verify-cmd": (
        ("verification_config", "command"),
        {"metavar": "COMMAND", "help": "The command that `external` runs."},
    ),
    "verify-template": (
        ("verification_config", "template"),
        {"metavar": "NAME", "help": "A ready-made command, such as pytest."},
    ),
    "verify-config": (
        ("verification_config",),
        {"metavar": "JSON", "help": "The whole verification config."},
    ),
    "max-iterations": (
        ("max_iterations",),
        {"metavar": "N", "type": int, "help": "Most iterations of the {role}."},
    ),
}

description_options = all_of(*(click.option(f"--{flag}", **how) for flag, (_, how) in _OF_TASK.items()))
"""Everything that says what a task is, besides its id, its title, and what each role must show."""

_ROLES = "ralph.roles"


class TaskCommand(click.Command):
    """A command with options for each role that this project's settings have."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_ROLES] = _known_roles(args)
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        params = super().get_params(ctx)
        of_roles = [
            click.Option(
                [f"--{role}-{flag}", _name(role, flag)],
                **{**how, "help": how["help"].format(role=role)},
            )
            for role in ctx.meta.get(_ROLES, ROLES)
            for flag, (_, how) in _OF_ROLE.items()
        ]
        place = next((place for place, param in enumerate(params) if param.name == "as_json"), len(params))
        return [*params[:place], *of_roles, *params[place:]]


def _known_roles(args: Sequence[str]) -> Sequence[str]:
    """The settings' own; the usual ones too, except in the help: what is wrong with one is told with its reason."""
    from ralph.operations.tasks import known_names

    place: str | None = None
    for before, arg in zip(["", *args], args, strict=False):
        if before == "--project-dir":
            place = arg
        elif arg.startswith("--project-dir="):
            place = arg.partition("=")[2]
    try:
        known, _ = known_names(state_folder(None if place is None else Path(place)))
    except RalphError:  # told by the command itself
        return tuple(ROLES)
    return tuple(known.roles) if "--help" in args else tuple(dict.fromkeys([*known.roles, *ROLES]))


def _roles() -> Sequence[str]:
    roles: Sequence[str] = click.get_current_context().meta.get(_ROLES, tuple(ROLES))
    return roles


def _name(role: str, flag: str) -> str:
    return f"of_{role}_{flag}".replace("-", "_")


def make_task(entry: Mapping[str, Any], known: Known) -> Task:
    """Raises UsageError with every problem, each by its flag."""
    entries = read_entries({"id": "", "title": "", "completion": {}, **entry}, known)
    lines = [clean_line(_describe(problem)) for problem in entries.problems]
    if len(lines) == 1:
        raise UsageError(lines[0])
    if lines:
        raise UsageError("\n".join([f"{len(lines)} problems:", *(f"  {line}" for line in lines)]))
    ((_, task),) = entries.tasks
    return task


def print_concerns(tasks: Sequence[Task], defaults: CompletionDefaults) -> None:
    """What the user may not have meant."""
    for concern in (one for task in tasks for one in concerns_about(task, defaults)):
        print(f"ralph: {clean_line(concern)}", file=sys.stderr)


def entry_from(flags: Mapping[str, Any], base: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The entry that the given flags make, on top of ``base``."""
    entry = json.loads(json.dumps(base or {}))
    for flag, (path, _) in _OF_TASK.items():
        _put(entry, path, _given(flags, flag))
    for role in _roles():
        # The whole config first: the other flags add to it.
        for flag in sorted(_OF_ROLE, key=lambda name: name != "verify-config"):
            value = _given(flags, f"{role}-{flag}", _name(role, flag))
            if flag == "verify-config" and value is not None:
                value = _parse(value, f"--{role}-{flag}")
            if flag == "verify-cmd" and value and not _given(flags, f"{role}-verify", _name(role, "verify")):
                _put(entry, ("completion", role, "verification_method"), VerificationMethod.EXTERNAL.value)
            _put(entry, ("completion", role, *_OF_ROLE[flag][0]), value)
    return _without_empty(entry)


def _flag_of(path: KeyPath) -> str:
    """The flag that a problem of the entry is about; its first key if there is none."""
    where = tuple(step for step in path if isinstance(step, str))
    for flag, (place, _) in _OF_TASK.items():
        if where[: len(place)] == place:
            return f"--{flag}"
    if len(where) >= 2 and where[0] == "completion" and where[1] in _roles():
        of_role = where[2:]
        best = [flag for flag, (place, _) in _OF_ROLE.items() if of_role[: len(place)] == place]
        if best:
            return f"--{where[1]}-{best[0]}"
    return {"id": "ID", "title": "TITLE", "spec_id": "SPEC"}.get(where[0], where[0]) if where else ""


def _describe(problem: Problem) -> str:
    text = ": ".join(part for part in (_flag_of(problem.path), problem.message) if part)
    return f"{text}; {problem.hint}" if problem.hint else text


def _given(flags: Mapping[str, Any], flag: str, name: str = "") -> Any:
    value = flags.get(name or flag.replace("-", "_"))
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


def _parse(text: str, flag: str) -> Any:
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
