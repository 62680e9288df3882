"""Whether tasks can be worked on in some order: every dependency exists, and none leads back to its task."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ralph.domain.circles import find_circle, spelled_circle
from ralph.domain.task import Task
from ralph.domain.task_problems import KeyPath, Problem, closest

MANY = 1000
"""Beyond that no similar name is looked for: it would take longer than reading the tasks did."""


def twice(tasks: Sequence[tuple[KeyPath, Task]], taken: Collection[str]) -> list[Problem]:
    """Ids that stand twice here, or are those of tasks that exist already."""
    problems: list[Problem] = []
    existing = {name.lower() for name in taken}
    first: dict[str, str] = {}
    for path, task in tasks:
        key = task.id.lower()
        if key in first:
            other = f" (as {first[key]})" if first[key] != task.id else ""
            problems.append(Problem((*path, "id"), f"{task.id} stands here twice{other}"))
        elif key in existing:
            problems.append(
                Problem((*path, "id"), f"there is a task {task.id} already", "ralph task edit changes it")
            )
        first.setdefault(key, task.id)
    return problems


def unknown(tasks: Sequence[tuple[KeyPath, Task]], existing: Collection[str]) -> list[Problem]:
    """Dependencies on tasks that are neither here nor there already."""
    known = {task.id for _, task in tasks} | set(existing)
    problems: list[Problem] = []
    for path, task in tasks:
        for index, name in enumerate(task.dependencies):
            if name not in known:
                hint = closest(name, known) if len(known) <= MANY else ""
                hint = hint if hint.startswith("did") else ""
                problems.append(Problem((*path, "dependencies", index), f"there is no task {name}", hint))
    return problems


def circle(tasks: Sequence[tuple[KeyPath, Task]], others: Mapping[str, Sequence[str]]) -> list[Problem]:
    """The first circle there is; with it in the way no order exists, and there may be many more."""
    found = find_circle({**others, **{task.id: task.dependencies for _, task in tasks}})
    if found is None:
        return []
    path = next((path for path, task in tasks if task.id in found), ())
    return [Problem((*path, "dependencies"), f"these tasks wait for each other: {spelled_circle(found)}")]
