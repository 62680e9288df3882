"""``ralph task show``: what a task asks for, its progress, and its history."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ralph.domain.tasks.criteria import concerns_about, criteria_for, describe_verification, usual_description
from ralph.domain.tasks.history import TaskEvent, VerificationRecord
from ralph.domain.tasks.roles import CompletionDefaults
from ralph.domain.tasks.task import Task, TaskBudget
from ralph.domain.text.figures import age, duration, money
from ralph.domain.text.safe_text import clean, clean_line
from ralph.domain.tickets.task_text import ticket_words
from ralph.domain.views.tasks import TaskView
from ralph.interfaces.cli.folding import print_folded
from ralph.interfaces.cli.options import json_option, print_json, project_dir_option, state_folder
from ralph.interfaces.cli.tasks.list import COLOR_OF, view_data
from ralph.interfaces.cli.terminal import Colors, Marks, colors_of, detect_look, marks_of

if TYPE_CHECKING:
    from ralph.operations.tasks import TaskDetail

VERIFICATIONS = 5
EVENTS = 12

HELP = """Show everything about a task: its outcome, the criteria of each role with the defaults filled in, its progress,
the latest verifications, and its history.

\b
Example:
  ralph task show TASK-001 --json | jq .criteria.coder
"""


@click.command("show", help=HELP)
@click.argument("task_id", metavar="ID")
@json_option()
@project_dir_option
def command(task_id: str, as_json: bool, project_dir: Path | None) -> None:
    from ralph.operations.tasks import known_names, show_task

    folder = state_folder(project_dir)
    detail = show_task(folder, task_id)
    _, defaults = known_names(folder)
    if as_json:
        print_json(_data(detail, defaults))
        return
    look = detect_look(sys.stdout)
    marks, colors, now = marks_of(look), colors_of(look), time.time()
    lines = [
        *_head(detail.view, detail.dependents, colors),
        *_spec(detail.view.task, defaults, marks, colors),
        *_roles(detail.view.task, defaults, colors),
        *_verifications(detail.verifications[:VERIFICATIONS], marks, colors, now),
        *_events(detail.events, colors, now),
    ]
    print_folded("\n".join(lines))


def _data(detail: TaskDetail, defaults: CompletionDefaults) -> dict[str, Any]:
    task = detail.view.task
    return {
        "task": view_data(detail.view),
        "criteria": {role: criteria_for(task, role, defaults).to_dict() for role in defaults.roles},
        "concerns": list(concerns_about(task, defaults)),
        "dependents": list(detail.dependents),
        "verifications": [asdict(record) for record in detail.verifications],
        "stages": [asdict(record) for record in detail.stages],
        "events": [asdict(event) for event in detail.events],
    }


def _head(view: TaskView, dependents: Sequence[str], colors: Colors) -> Iterator[str]:
    task = view.task
    yield f"{colors.bold}{clean_line(task.id)}{colors.off}  {clean_line(task.title)}"
    stage = f", stage {clean_line(task.stage)}" if task.stage else ""
    reason = f": {clean_line(task.reason)}" if task.reason else ""
    yield f"  state       {getattr(colors, COLOR_OF[view.state])}{view.state}{colors.off}{stage}{reason}"
    pairs = [
        ("spec", task.spec_id),
        ("ticket", ticket_words(task)),
        ("priority", str(task.priority)),
        ("assignee", task.assignee),
        ("needs", ", ".join(task.dependencies)),
        ("waits for", ", ".join(view.waits_for)),
        ("needed by", ", ".join(dependents)),
        ("run", view.run_id or ""),
        ("branch", task.branch),
        ("base", task.base),
        ("iterations", ", ".join(f"{role} {number}" for role, number in task.iterations.items())),
        ("rejections", str(task.rejections) if task.rejections else ""),
        ("budget", _budget(task.budget)),
    ]
    yield from (f"  {name:<10}  {clean_line(value)}" for name, value in pairs if value)
    if task.description:
        yield ""
        yield from (f"  {line}" for line in clean(task.description).split("\n"))


def _budget(budget: TaskBudget) -> str:
    parts = [
        money(budget.cost_usd) if budget.cost_usd is not None else "",
        f"{budget.tokens} tokens" if budget.tokens is not None else "",
        duration(budget.seconds) if budget.seconds is not None else "",
    ]
    return ", ".join(part for part in parts if part)


def _spec(task: Task, defaults: CompletionDefaults, marks: Marks, colors: Colors) -> Iterator[str]:
    yield ""
    for concern in concerns_about(task, defaults):
        yield f"{colors.yellow}{marks.warning} {clean_line(concern)}{colors.off}"
    if task.completion_spec is not None:
        yield f"{colors.bold}outcome{colors.off}  {clean_line(task.outcome)}"
        yield from (f"  - {clean_line(one)}" for one in task.acceptance_criteria)
    if task.remarks:
        yield f"{colors.bold}came back{colors.off}"
        yield from (f"  - {clean_line(remark)}" for remark in task.remarks)


def _roles(task: Task, defaults: CompletionDefaults, colors: Colors) -> Iterator[str]:
    yield ""
    width = max(map(len, defaults.roles))
    for role in defaults.roles:
        criteria = criteria_for(task, role, defaults)
        name = f"{colors.bold}{clean_line(role):<{width + 1}}{colors.off}"
        promise = f"<promise>{clean_line(criteria.promise)}</promise>"
        yield f"{name} {promise}, at most {criteria.max_iterations} iterations"
        if criteria.description != usual_description(task, role):
            yield f"  {clean_line(criteria.description)}"
        yield f"  {clean_line(describe_verification(criteria))}"


def _verifications(
    records: Sequence[VerificationRecord], marks: Marks, colors: Colors, now: float
) -> Iterator[str]:
    if records:
        yield ""
        yield f"{colors.bold}verifications{colors.off}, the latest first"
    for record in records:
        mark = marks.ok if record.verified else marks.error
        what = f"{record.role} {record.iteration}, {record.method}: {record.reason}"
        yield f"  {mark} {age(now - record.at):>8}  {clean_line(what)}"


def _events(events: Sequence[TaskEvent], colors: Colors, now: float) -> Iterator[str]:
    if events:
        yield ""
        yield f"{colors.bold}history{colors.off}"
    if len(events) > EVENTS:
        yield f"  ({len(events) - EVENTS} earlier; --json has them all)"
    for event in events[-EVENTS:]:
        text = f" {clean_line(event.text)}" if event.text else ""
        yield f"  {age(now - event.at):>8}  {clean_line(event.kind)}{text}"
