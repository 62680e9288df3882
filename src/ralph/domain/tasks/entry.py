"""Tasks as people and agents write them: a list, ``tasks:``, or a single ``task:``; and which ids a task may have."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from ralph.domain.proof.verification_config import IsMethod, read_config, read_method
from ralph.domain.tasks.completion import CompletionCriteria, TaskCompletionSpec
from ralph.domain.tasks.roles import ROLES
from ralph.domain.tasks.task import DEFAULT_PRIORITY, Task, TaskBudget
from ralph.domain.text.reader import LARGEST_NUMBER, KeyPath, Problem, Reader, kind_of, nearest
from ralph.patterns import pattern
from ralph.values import dataclass, field

# A task's state, as `to_dict` writes it: whoever imports a task starts it over.
STATE_KEYS = (
    "status", "stage", "used", "iteration", "iterations", "rejections", "remarks", "reason", "branch",
    "base_commit", "accepted_commit", "created_at", "updated_at",
)  # fmt: skip
_OUTCOME_HINT = "one sentence that says what is measurably different when the task is done"
_CRITERIA_HINT = "a list of things that can be checked"


def _no_method(name: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Known:
    """The names a task may use: roles of the settings, methods of installed packages."""

    roles: Collection[str] = tuple(ROLES)
    is_method: IsMethod = _no_method


@dataclass(slots=True)
class Entries:
    """Every task that could be read, with its place; use them only if there are no problems."""

    tasks: list[tuple[KeyPath, Task]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)


def read_entries(value: object, known: Known | None = None, *, spec_id: str = "") -> Entries:
    """All tasks of a document. ``spec_id`` is for those that name none."""
    known = known or Known()
    entries = Entries()
    path: KeyPath = ()
    if isinstance(value, Mapping) and not value.keys() & {"id", "title"}:
        value, path, spec_id = _unwrap(value, entries, spec_id)
    if isinstance(value, Mapping):
        _take(Reader(value, path, entries.problems), known, entries, spec_id)
    elif isinstance(value, list):
        if not value:
            entries.problems.append(Problem(path, "there is no task in it"))
        for index, entry in enumerate(value):
            _take_entry(entry, (*path, index), known, entries, spec_id)
    elif not entries.problems:
        message = f"expected tasks, found {kind_of(value)}"
        entries.problems.append(Problem(path, message, "a list of tasks, or one under task:"))
    return entries


def _unwrap(value: Mapping[str, Any], entries: Entries, spec_id: str) -> tuple[Any, KeyPath, str]:
    reader = Reader(value, (), entries.problems)
    spec_id = reader.text("spec_id", one_line=True) or spec_id
    reader.allow("task", "tasks")
    key = "task" if "task" in value else "tasks"
    if "task" in value and "tasks" in value:
        reader.wrong("task", "task and tasks cannot be used together")
    reader.refuse_others("key beside the tasks")
    found = value.get(key)
    if found is None and not entries.problems:
        reader.wrong(key if key in value else None, "there is no task in it")
    return found, (key,), spec_id


def _take_entry(entry: object, path: KeyPath, known: Known, entries: Entries, spec_id: str) -> None:
    if not isinstance(entry, Mapping):
        entries.problems.append(Problem(path, f"expected a task, found {kind_of(entry)}"))
        return
    inner = entry.get("task")
    if len(entry) == 1 and isinstance(inner, Mapping):  # a list of `task:` entries
        entry, path = inner, (*path, "task")
    _take(Reader(entry, path, entries.problems), known, entries, spec_id)


def _take(reader: Reader, known: Known, entries: Entries, spec_id: str) -> None:
    name = reader.text("id", one_line=True)
    if isinstance(reader.value.get("id"), str | None) and (wrong := id_problem(name)):
        reader.wrong("id", wrong)
    title = reader.text("title", one_line=True)
    if not title and isinstance(reader.value.get("title"), str | None):
        reader.wrong("title", "is missing")
    priority = reader.whole("priority", least=-LARGEST_NUMBER)
    metadata = reader.inside("metadata")
    task = Task(
        id=name,
        title=title,
        spec_id=reader.text("spec_id", one_line=True) or spec_id,
        description=reader.text("description"),
        priority=DEFAULT_PRIORITY if priority is None else priority,
        dependencies=_dependencies(reader, name),
        assignee=reader.text("assignee", one_line=True),
        metadata=dict(metadata.value) if metadata else {},
        budget=_budget(reader.inside("budget")),
        base=_base(reader),
        completion_spec=_completion(reader, known),
    )
    state = [key for key in STATE_KEYS if reader.value.get(key)]
    if state:
        entries.notes.append(Problem((*reader.path, state[0]), f"not imported: {', '.join(state)}"))
    reader.allow(*STATE_KEYS)
    reader.refuse_others("key of a task")
    entries.tasks.append((reader.path, task))


def _dependencies(reader: Reader, name: str) -> tuple[str, ...]:
    found = reader.texts("dependencies")
    if name and name in found:
        reader.wrong("dependencies", f"{name} depends on itself")
    return tuple(dict.fromkeys(found))


def _base(reader: Reader) -> str:
    base = reader.text("base", one_line=True)
    if base and (base.startswith("-") or " " in base or ".." in base):
        reader.wrong("base", f"{base!r} cannot be the name of a branch")
    return base


def _budget(reader: Reader | None) -> TaskBudget:
    if reader is None:
        return TaskBudget()
    budget = TaskBudget(reader.amount("cost_usd"), reader.whole("tokens", least=1), reader.amount("seconds"))
    reader.refuse_others("limit")
    return budget


def _completion(reader: Reader, known: Known) -> TaskCompletionSpec | None:
    key = "completion_spec" if reader.has("completion_spec") else "completion"
    if reader.has("completion") and reader.has("completion_spec"):
        reader.wrong("completion", "completion and completion_spec mean the same: use one of them")
    reader.allow("completion", "completion_spec")
    if not reader.has(key):
        reader.wrong(key, "is missing: an outcome and acceptance criteria are needed", _OUTCOME_HINT)
        return None
    inside = reader.inside(key)
    return read_spec(inside, known) if inside is not None else None


def read_spec(reader: Reader, known: Known) -> TaskCompletionSpec:
    """What "done" means; an outcome and at least one criterion are required."""
    outcome = reader.text("outcome")
    if not outcome and isinstance(reader.value.get("outcome"), str | None):
        reader.wrong("outcome", "is missing", _OUTCOME_HINT)
    criteria = reader.texts("acceptance_criteria")
    if not criteria and not reader.value.get("acceptance_criteria"):
        reader.wrong("acceptance_criteria", "at least one is needed", _CRITERIA_HINT)
    roles: dict[str, CompletionCriteria] = {}
    for role in known.roles:
        if (inside := reader.inside(role)) is not None:
            roles[role] = read_criteria(inside, known)
    for key in reader.value:
        if key not in reader.seen:
            near = nearest(key, reader.seen)
            hint = f"did you mean {near}?" if near else f"roles: {', '.join(known.roles)}"
            reader.wrong(key, f"unknown role {key!r}", hint)
    return TaskCompletionSpec(outcome, criteria, roles)


def read_criteria(reader: Reader, known: Known) -> CompletionCriteria:
    """One role's criteria; whatever is left out is the role's default."""
    promise = reader.text("promise", one_line=True)
    if "<" in promise or ">" in promise:
        reader.wrong("promise", "is the text inside the tag: no < and >", "such as AUTH_IMPLEMENTED")
    description = reader.text("description")
    method = read_method(reader, "verification_method", known.is_method)
    config = reader.inside("verification_config")
    limit = reader.whole("max_iterations", least=1)
    reader.refuse_others("key of a role")
    if config is not None and (method or not reader.value.get("verification_method")):
        read_config(config, method, known.is_method)
    return CompletionCriteria(promise, description, method, dict(config.value) if config else {}, limit)


# --- ids ---

LONGEST = 64
_NAME = pattern(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def id_problem(text: str) -> str | None:
    """What is wrong with it as a task's id, or None."""
    if not text:
        return "is missing"
    if len(text) > LONGEST:
        return f"is longer than {LONGEST} characters"
    if not _NAME.fullmatch(text):
        return "may contain only letters, digits, '.', '_' and '-', and must begin with a letter or digit"
    if ".." in text or text.endswith((".", ".lock")):
        return "cannot name a branch: no '..', and no '.' or '.lock' at the end"
    return None


def followup_id(parent: str, taken: Collection[str]) -> str:
    """``TASK-1`` → ``TASK-1-F1``, ``TASK-1-F2`` …; a follow-up of a follow-up takes the next number."""
    stem = re.sub(r"-F\d+$", "", parent)[: LONGEST - 8]
    known = {name.lower() for name in taken}
    number = 1
    while f"{stem}-F{number}".lower() in known:
        number += 1
    return f"{stem}-F{number}"
