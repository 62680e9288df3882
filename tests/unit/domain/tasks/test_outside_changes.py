"""What is put back, and what is the user's will."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from ralph.domain.tasks.history import TaskEvent
from ralph.domain.tasks.outside_changes import OutsideChange, outside_changes
from ralph.domain.tasks.task import Task, TaskStatus

A = Task(id="A", title="a")
DONE = replace(A, status=TaskStatus.DONE)


def changes(
    after: Task | None, *, trace: TaskEvent | None = None, removed: bool = False, own: bool = False
) -> list[OutsideChange]:
    return list(
        outside_changes(
            {"A": A},
            {"A": after} if after is not None else {},
            traces={"A": trace} if trace is not None else {},
            removed={"A"} if removed else (),
            own={"A"} if own else (),
        )
    )


def test_what_has_no_trace_is_put_back() -> None:
    assert [change.put_back for change in changes(DONE)] == [A]
    assert [change.put_back for change in changes(None)] == [A]
    assert [change.put_back for change in changes(None, own=True)] == [A]


def test_what_has_a_trace_is_told() -> None:
    (edited,) = changes(replace(A, title="b"), trace=TaskEvent("edited", "title"))
    assert (edited.put_back, edited.is_grave) == (None, True)
    (cancelled,) = changes(replace(A, status=TaskStatus.CANCELLED), trace=TaskEvent("cancelled"))
    assert (cancelled.put_back, cancelled.is_grave) == (None, False)
    (gone,) = changes(None, removed=True)
    assert gone.put_back is None


def test_what_is_as_it_was_or_worked_on_here_is_not_worth_a_word() -> None:
    assert changes(replace(A, updated_at=datetime(2026, 1, 1, tzinfo=UTC))) == []
    assert changes(DONE, own=True) == []
