"""Whether tasks can be worked on in some order: every dependency exists, and none leads back to its task."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from ralph.domain.tasks.task import Task
from ralph.domain.text.reader import KeyPath, Problem, closest

MANY = 1000
"""With more tasks no similar name is looked for: that would take longer than reading them."""


Placed = Sequence[tuple[KeyPath, Task]]
"""Tasks, each with its place in the document."""


def addition_problems(tasks: Placed, existing: Collection[str]) -> list[Problem]:
    """Why these cannot join the tasks that exist already."""
    return [
        *repeated_ids(tasks, existing),
        *unknown_dependencies(tasks, existing),
        *circular_dependencies(tasks, {}),
    ]


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
            problems.append(
                Problem((*path, "id"), f"there is a task {task.id} already", "ralph task edit changes it")
            )
        first.setdefault(key, task.id)
    return problems


def unknown_dependencies(tasks: Placed, existing: Collection[str]) -> list[Problem]:
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


def circular_dependencies(tasks: Placed, others: Mapping[str, Sequence[str]]) -> list[Problem]:
    """The first circle: with one there is no order, and there may be many more."""
    found = find_circle({**others, **{task.id: task.dependencies for _, task in tasks}})
    if found is None:
        return []
    path = next((path for path, task in tasks if task.id in found), ())
    return [Problem((*path, "dependencies"), f"these tasks wait for each other: {spell_circle(found)}")]


def find_circle(needs: Mapping[str, Sequence[str]]) -> tuple[str, ...] | None:
    """``(a, b, a)`` if a needs b and b needs a; None if there is no circle. Linear, and no recursion."""
    finished: set[str] = set()
    for start in needs:
        if start in finished:
            continue
        way: list[str] = [start]
        on_way = {start}
        stack: list[Iterator[str]] = [iter(needs[start])]
        while stack:
            following = next(stack[-1], None)
            if following is None:
                stack.pop()
                left = way.pop()
                on_way.discard(left)
                finished.add(left)
            elif following in on_way:
                return (*way[way.index(following) :], following)
            elif following not in finished and following in needs:
                way.append(following)
                on_way.add(following)
                stack.append(iter(needs[following]))
    return None


def spell_circle(circle: Sequence[str]) -> str:
    """``A → B → A``; a long one is cut in the middle."""
    shown = list(circle) if len(circle) <= 12 else [*circle[:6], f"… {len(circle) - 11} more …", *circle[-5:]]
    return " → ".join(shown)
