"""Tasks as an agent reads and adds them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import UNSET

from ralph.domain.tasks.entry import read_entries
from ralph.domain.tasks.task import TaskStatus
from ralph.domain.text.figures import plural
from ralph.domain.text.safe_text import clean_line
from ralph.domain.views.tasks import TaskFilter, TaskView
from ralph.errors import UsageError
from ralph.interfaces.mcp import arguments as given
from ralph.interfaces.mcp.answers import Answer, Room, make_answer
from ralph.operations.tasks import add_task, list_tasks


def tasks_answer(folder: Path, wanted: given.Tasks) -> Answer:
    statuses = () if wanted.status is UNSET else (TaskStatus(wanted.status),)
    found, count = list_tasks(folder, TaskFilter(statuses=statuses), limit=wanted.limit)
    room = Room()
    rows = room.rows(found, lambda view: _row(view, room))
    more = count - len(rows)
    lines = [_line(row) for row in rows] or ["There are no such tasks here."]
    if more:
        lines.append(f"… and {plural(more, 'more task')}")
    return make_answer(lines, {"tasks": rows, "more": more})


def added_answer(folder: Path, wanted: given.AddTask) -> Answer:
    """No command comes with it: what verifies a task is for the project's user to say."""
    entry: dict[str, object] = {
        "id": wanted.id,
        "title": wanted.title,
        "description": wanted.description,
        "dependencies": list(wanted.depends_on),
        "completion": {"outcome": wanted.outcome, "acceptance_criteria": list(wanted.acceptance)},
    }
    if wanted.priority is not UNSET:
        entry["priority"] = wanted.priority
    entries = read_entries(entry)
    if entries.problems:
        raise UsageError(clean_line("; ".join(map(str, entries.problems))), hint="nothing was added")
    ((_, task),) = entries.tasks
    room, added = Room(), add_task(folder, task)
    name = room.line(added.id)
    text = f"added {name}: {room.line(added.title)}. `start` with kind work works on it."
    return make_answer([text], {"id": name, "status": added.status.value})


def _row(view: TaskView, room: Room) -> dict[str, Any]:
    task = view.task
    return {
        "id": room.line(task.id),
        "title": room.line(task.title, 160),
        "state": view.state.value,
        "role": room.line(task.stage, 40),
        "iterations": task.iteration,
        "priority": task.priority,
        "waitsFor": [room.line(name) for name in view.waits_for[:20]],
        "run": None if view.run_id is None else room.line(view.run_id),
        "reason": room.line(task.reason or task.last_remark),
    }


def _line(row: dict[str, Any]) -> str:
    waits = f"waits for {', '.join(row['waitsFor'])}" if row["waitsFor"] else ""
    run = f"run {row['run']}" if row["run"] else ""
    facts = (row["state"], row["title"], waits, run, row["reason"])
    return f"{row['id']}: {' · '.join(fact for fact in facts if fact)}"
