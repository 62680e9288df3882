"""Whether tasks can be worked on in some order: every dependency exists, and none leads back to its task."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ralph.domain.tasks.circles import find_circles
from ralph.domain.tasks.task import Task
from ralph.domain.text.reader import KeyPath, Problem, closest

MANY = 1000
"""With more tasks no similar name is looked for: that would take longer than reading them."""
Placed = Sequence[tuple[KeyPath, Task]]
"""Tasks, each with its place in the document."""


def addition_problems(tasks: Placed, existing: Collection[str]) -> list[Problem]:
    """Why these cannot join the tasks that exist already."""
    own = circular_dependencies(tasks, {})
    return [*repeated_ids(tasks, existing), *unknown_dependencies(tasks, existing), *own]


def repeated_ids(tasks: Placed, taken: Collection[str]) -> list[Problem]:
    """Ids that appear twice, or belong to tasks that exist already."""
    problems: list[Problem] = []
    existing = {name.lower() for name in taken}
    first: dict[str, str] = {}
    for path, task in tasks:
        key = task.id.lower()
        if key in first:
            other = f" (as {first[key]})" if first[key] != task.id else ""
            problems.append(Problem((*path, "id"), f"{task.id} appears twice{other}"))
        elif key in existing:
            wrong = f"there is a task {task.id} already"
            problems.append(Problem((*path, "id"), wrong, "ralph task edit changes it"))
        first.setdefault(key, task.id)
    return problems


def unknown_dependencies(tasks: Placed, existing: Collection[str]) -> list[Problem]:
    """Dependencies on tasks that neither are among these nor exist already."""
    known = {task.id for _, task in tasks} | set(existing)
    problems: list[Problem] = []
    for path, task in tasks:
        for index, name in enumerate(task.dependencies):
            if name not in known:
                hint = closest(name, known) if len(known) <= MANY else ""
                hint = hint if hint.startswith("did") else ""
                problems.append(Problem((*path, "dependencies", index), f"there is no task {name}", hint))
    return problems


def circular_dependencies(tasks: Placed, others: Mapping[str, Sequence[str]]) -> list[Problem]:
    """The first circle only: there may be many more."""
    needs = {**others, **{task.id: task.dependencies for _, task in tasks}}
    for circle in find_circles(needs):
        path = next((path for path, task in tasks if task.id in circle), ())
        message = f"these tasks wait for each other: {spell_circle((*circle, circle[0]))}"
        return [Problem((*path, "dependencies"), message)]
    return []


def spell_circle(circle: Sequence[str]) -> str:
    """``A → B → A``; a long one is cut in the middle."""
    shown = list(circle) if len(circle) <= 12 else [*circle[:6], f"… {len(circle) - 11} more …", *circle[-5:]]
    return " → ".join(shown)
