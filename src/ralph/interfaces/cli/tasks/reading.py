"""A file of tasks with everything that is wrong in it, by line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ralph.domain.tasks.entry import Known, read_document
from ralph.domain.tasks.entry_problems import KeyPath, Problem
from ralph.domain.tasks.task import Task
from ralph.domain.text.safe_text import clean_line
from ralph.errors import UsageError


@dataclass(frozen=True, slots=True)
class TaskText:
    """What a file or an editor gave."""

    name: str
    tasks: list[tuple[KeyPath, Task]]
    problems: list[Problem]
    notes: list[Problem]
    line_of: Callable[[KeyPath], int]

    def spelled(self, problem: Problem) -> str:
        return clean_line(f"line {self.line_of(problem.path)}: {problem}")


def read_tasks(name: str, known: Known, *, spec_id: str = "", text: str | None = None) -> TaskText:
    """``text`` instead of the file's content. Raises UsageError if it cannot be read at all."""
    from ralph.adapters.documents.document import BadDocument
    from ralph.adapters.documents.task_file import read_file, read_text

    shown = "standard input" if name == "-" else name
    try:
        document = read_file(name) if text is None else read_text(text)
    except BadDocument as error:
        place = f", line {error.line}" if error.line is not None else ""
        message = f"{clean_line(shown)}{place}: {clean_line(str(error))}"
        raise UsageError(message, hint="nothing was added") from None
    entries = read_document(document.value, known, spec_id=spec_id)
    problems = [*document.problems, *entries.problems]
    return TaskText(shown, entries.tasks, problems, entries.notes, document.line_of)
