"""What others did to the tasks while a process works on some of them.

Every command of ralph leaves a trace in a task's history. What has one is the user's will, and is told; what has none
was written around ralph, by an agent with a shell, and is put back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from ralph.domain.tasks.history import TaskEvent
from ralph.domain.tasks.task import EPOCH, Task
from ralph.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class OutsideChange:
    """``put_back``: the task as it was, if it must be again. ``is_grave``: the user should know of it at the end, too."""

    told: str
    put_back: Task | None = None
    is_grave: bool = True


def outside_changes(
    known: Mapping[str, Task],
    found: Mapping[str, Task],
    *,
    traces: Mapping[str, TaskEvent],
    removed: Collection[str],
    own: Collection[str],
) -> Iterator[OutsideChange]:
    """``traces``: the last event of each task since it was known; ``removed``: on purpose; ``own``: worked on here."""
    for name, before in known.items():
        after = found.get(name)
        if after is None:
            if name in removed:
                yield OutsideChange(f"{name} was removed during the work", is_grave=False)
            else:
                yield OutsideChange(f"{name} was removed from the record around ralph; it is back", before)
        elif name in own or _timeless(after) == _timeless(before):
            continue
        elif (trace := traces.get(name)) is None:
            yield OutsideChange(
                f"{name} was changed in the record around ralph during the work; that was undone", before
            )
        else:
            what = f"{trace.kind}: {trace.text}" if trace.text else trace.kind
            yield OutsideChange(
                f"{name} was changed during the work ({what})", is_grave=trace.kind == "edited"
            )


def _timeless(task: Task) -> Task:
    return replace(task, updated_at=EPOCH)
