"""Tasks as files: read, with the line of every problem, and written as a person would write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ralph.domain.tasks.dependencies import addition_problems
from ralph.domain.tasks.entry import Known, read_entries
from ralph.domain.tasks.task import Task
from ralph.domain.text.figures import plural
from ralph.domain.text.reader import KeyPath, Problem
from ralph.domain.text.safe_text import clean_line
from ralph.errors import UsageError
from ralph.values import dataclass

SHOWN_PROBLEMS = 50


@dataclass(frozen=True, slots=True)
class TaskText:
    """The tasks and problems found in a file or an editor."""

    name: str
    placed: Sequence[tuple[KeyPath, Task]]
    problems: Sequence[Problem]
    notes: Sequence[Problem]
    line_of: Callable[[KeyPath], int]

    @property
    def tasks(self) -> list[Task]:
        return [task for _, task in self.placed]

    def describe(self, problem: Problem) -> str:
        return clean_line(f"line {self.line_of(problem.path)}: {problem}")

    def refuse(self, problems: Sequence[Problem], *, hint: str) -> None:
        """Raises UsageError listing all problems, by line."""
        if not problems:
            return
        ordered = sorted(problems, key=lambda problem: self.line_of(problem.path))
        lines = [f"  {self.describe(problem)}" for problem in ordered[:SHOWN_PROBLEMS]]
        if len(problems) > SHOWN_PROBLEMS:
            lines.append(f"  and {len(problems) - SHOWN_PROBLEMS} more")
        message = "\n".join([f"{plural(len(problems), 'problem')} in {clean_line(self.name)}:", *lines])
        raise UsageError(message, hint=hint)


def read_tasks(name: str, known: Known, *, spec_id: str = "", text: str | None = None) -> TaskText:
    """``text`` replaces the file's content. Raises UsageError if it cannot be read at all."""
    from ralph.adapters.documents.task_file import BadDocument, read_file, read_text

    shown = "standard input" if name == "-" else name
    try:
        document = read_file(name) if text is None else read_text(text)
    except BadDocument as error:
        place = f", line {error.line}" if error.line is not None else ""
        message = f"{clean_line(shown)}{place}: {clean_line(str(error))}"
        raise UsageError(message, hint="nothing was added") from None
    entries = read_entries(document.value, known, spec_id=spec_id)
    problems = [*document.problems, *entries.problems]
    return TaskText(shown, entries.tasks, problems, entries.notes, document.line_of)


def require_addable(found: TaskText, existing: Sequence[str]) -> None:
    """Raises UsageError listing everything that keeps the tasks from being added."""
    named = [(path, task) for path, task in found.placed if task.id]
    found.refuse([*found.problems, *addition_problems(named, existing)], hint="nothing was added")


def require_only(found: TaskText, task_id: str) -> Task:
    """The only task in the text. Raises UsageError unless it is ``task_id``."""
    found.refuse(found.problems, hint="nothing was changed")
    tasks = found.tasks
    if len(tasks) != 1 or tasks[0].id != task_id:
        names = ", ".join(clean_line(task.id) for task in tasks[:5])
        message = f"{clean_line(found.name)} must hold task {task_id} alone, found {names}"
        raise UsageError(message, hint="an id cannot be changed; nothing was changed")
    return tasks[0]


def definition(task: Task) -> Mapping[str, Any]:
    """The entry that a file would hold for the task."""
    from ralph.adapters.documents import task_file

    return task_file.definition(task)


def tasks_text(tasks: Sequence[Task], *, as_json: bool = False) -> str:
    """In the form that ``read_tasks`` reads."""
    from ralph.adapters.documents import task_file

    return task_file.as_json(tasks) if as_json else task_file.as_yaml(tasks)
