"""What a plan asks of whoever runs it: its verifyCommands."""

from __future__ import annotations

from ralph.domain.plan.document import TasksDocument
from ralph.domain.trust.demand import Demand


def plan_demands(document: TasksDocument | None, folder: str) -> tuple[Demand, ...]:
    """``folder``: the plan's, relative to the project."""
    commands = () if document is None else document.verify_commands
    return tuple(
        Demand("runs", command, f"verifyCommands[{index}]", f"{folder}/tasks.json")
        for index, command in enumerate(commands)
    )
