"""Whether work on a task can be judged at all, and whether it is worth a session of its own."""

from __future__ import annotations

from collections.abc import Sequence

from ralph.domain.tasks.task import Task
from ralph.domain.text.figures import plural

NOTHING_TO_CHECK = "it has no completion spec: its promise would be believed without any proof"
FEW = 2
"""So many tasks without a check of their own are not worth a word."""


def lack_of(task: Task) -> str:
    """What it lacks that work could be judged by; empty: nothing."""
    return NOTHING_TO_CHECK if task.completion_spec is None else ""


def has_own_check(task: Task) -> bool:
    """Something besides its title says when it is done: a criterion, a command, a judge's question."""
    spec = task.completion_spec
    if spec is None:
        return False
    title = " ".join(task.title.split()).casefold()
    own = [one for one in spec.acceptance_criteria if " ".join(one.split()).casefold() != title]
    return bool(own) or any(criteria.verification_config for criteria in spec.criteria.values())


def smallness_of(tasks: Sequence[Task]) -> str:
    """What to say of tasks that are hardly worth a session each; empty: nothing."""
    small = [task for task in tasks if not has_own_check(task)]
    if len(small) <= FEW:
        return ""
    return f"{len(small)} of {plural(len(tasks), 'task')} have no check of their own: a session for each costs more than it proves"
