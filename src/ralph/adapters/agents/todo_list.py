"""The agent's own task list, kept from its tool calls: TodoWrite, or the newer TaskCreate and TaskUpdate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct

from ralph.adapters.agents.excerpts import one_line
from ralph.adapters.agents.json_lines import UNREADABLE
from ralph.domain.agent.events import TodoChanged, TodoItem, TodoStatus
from ralph.patterns import pattern
from ralph.values import dataclass

TODO_TOOLS: Final = frozenset(("TodoWrite", "todo_write", "TaskCreate", "TaskUpdate"))
"""The tools whose calls change the list."""

MAX_ITEMS = 500
"""A list longer than this is cut: it is for a screen."""


class _Todo(Struct, gc=False):
    content: str = ""
    status: str = ""


class _TodoWrite(Struct, gc=False):
    todos: list[_Todo]


class _TaskCreate(Struct, gc=False):
    subject: str


class _TaskUpdate(Struct, rename="camel", gc=False):
    task_id: str | int
    status: str = ""
    subject: str = ""


_decode_todo_write = msgspec.json.Decoder(_TodoWrite).decode
_decode_task_create = msgspec.json.Decoder(_TaskCreate).decode
_decode_task_update = msgspec.json.Decoder(_TaskUpdate).decode

_STATUSES: Final = {
    "in_progress": TodoStatus.ACTIVE,
    "in-progress": TodoStatus.ACTIVE,
    "completed": TodoStatus.DONE,
}
_CREATED = pattern(r"[Tt]ask #(\d+)")


def status_of(word: str) -> TodoStatus:
    return _STATUSES.get(word, TodoStatus.PENDING)


@dataclass(frozen=True, slots=True)
class Answered:
    """A call of ours that was answered: which tool it was, and what that changed."""

    tool: str
    changes: tuple[TodoChanged, ...] = ()


@dataclass(frozen=True, slots=True)
class _Call:
    """A change that its tool has not answered yet."""

    tool: str
    before: dict[str, TodoItem | None]  # what the call changed, as it was
    created: str = ""  # the task a TaskCreate made


class TodoList:
    """The list after every call so far. Calls are believed at once; one that failed is taken back."""

    def __init__(self) -> None:
        self._items: dict[str, TodoItem] = {}
        self._calls: dict[str, _Call] = {}
        self._created = 0

    def take_call(self, identity: str, tool: str, arguments: bytes) -> TodoChanged | None:
        """The list after this call; None if its input is not what we know."""
        try:
            match tool:
                case "TaskCreate":
                    call = self._create(tool, arguments)
                case "TaskUpdate":
                    call = self._update(tool, arguments)
                case _:
                    call = self._write(tool, arguments)
        except UNREADABLE:
            return None
        if len(self._calls) >= MAX_ITEMS:
            self._calls.clear()
        self._calls[identity] = call
        return self._changed()

    def take_answer(self, identity: str, output: str, *, failed: bool) -> Answered | None:
        """None if this was no call of ours."""
        call = self._calls.pop(identity, None)
        if call is None:
            return None
        if failed:
            self._put(call.before)
            return Answered(call.tool, (self._changed(),))
        number = _CREATED.search(output[:200]) if call.created else None
        if number is not None and number[1] != call.created:
            self._rename(call.created, number[1])
        return Answered(call.tool)

    def _write(self, tool: str, arguments: bytes) -> _Call:
        todos = _decode_todo_write(arguments).todos[:MAX_ITEMS]
        after: dict[str, TodoItem | None] = {
            str(number): TodoItem(one_line(todo.content), status_of(todo.status))
            for number, todo in enumerate(todos, start=1)
        }
        removed = dict.fromkeys(self._items)
        return _Call(tool, self._put({**removed, **after}))

    def _create(self, tool: str, arguments: bytes) -> _Call:
        subject = _decode_task_create(arguments).subject
        self._created += 1
        task = str(self._created)
        before = self._put({task: TodoItem(one_line(subject), TodoStatus.PENDING)})
        return _Call(tool, before, created=task)

    def _update(self, tool: str, arguments: bytes) -> _Call:
        update = _decode_task_update(arguments)
        task = str(update.task_id)
        if update.status == "deleted":
            return _Call(tool, self._put({task: None}))
        known = self._items.get(task, TodoItem(f"task {one_line(task, 20)}", TodoStatus.PENDING))
        item = TodoItem(
            one_line(update.subject) if update.subject else known.text,
            status_of(update.status) if update.status else known.status,
        )
        return _Call(tool, self._put({task: item}))

    def _put(self, changes: dict[str, TodoItem | None]) -> dict[str, TodoItem | None]:
        """Set these items (None: remove) and return what was there."""
        before = {key: self._items.get(key) for key in changes}
        for key, item in changes.items():
            if item is None:
                self._items.pop(key, None)
            elif key in self._items or len(self._items) < MAX_ITEMS:
                self._items[key] = item
        return before

    def _rename(self, old: str, new: str) -> None:
        """The agent numbers its tasks itself; ours was a guess."""
        self._items = {new if key == old else key: item for key, item in self._items.items()}

    def _changed(self) -> TodoChanged:
        return TodoChanged(tuple(self._items.values()))


def todo_items(entries: Sequence[tuple[str, bool]]) -> tuple[TodoItem, ...]:
    """A list of texts that are done or not (codex)."""
    return tuple(
        TodoItem(one_line(text), TodoStatus.DONE if done else TodoStatus.PENDING)
        for text, done in entries[:MAX_ITEMS]
    )
