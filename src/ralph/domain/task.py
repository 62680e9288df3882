"""A task: a row of seed 002 that goes from role to role until it is done."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class TaskStatus(StrEnum):
    OPEN = "open"  #: waits for its next role
    DONE = "done"
    FAILED = "failed"  #: was sent back, or ran out of iterations, too often


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """``stage`` is the role whose turn it is; ``used`` counts its iterations in this stage."""

    id: str
    title: str
    description: str = ""
    status: TaskStatus = TaskStatus.OPEN
    stage: str = ""
    used: int = 0
    sent_back: int = 0
    remarks: tuple[str, ...] = ()  # why it came back
