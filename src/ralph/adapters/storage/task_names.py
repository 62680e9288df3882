"""Which tasks there are, looked up before a run begins: a name that is wrong must not become a run that failed."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from ralph.adapters.storage.run_reader import open_reader
from ralph.errors import UsageError

_TABLE = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'tasks'"


def require_tasks(state_folder: Path, wanted: Sequence[str]) -> None:
    """Raises UsageError if one is not there, or there is none at all; StoreError if the record cannot be read."""
    reader = open_reader(state_folder)
    if reader is None:
        raise _none_yet()
    with reader:
        known = (
            [str(name) for (name,) in reader.query("SELECT id FROM tasks")] if reader.query(_TABLE) else []
        )
        if not known:
            raise _none_yet()
        for name in wanted:
            if not reader.query("SELECT 1 FROM tasks WHERE id = ?", name):
                raise unknown_task(name, known)


def unknown_task(name: str, known: Sequence[str]) -> UsageError:
    """With the name that was probably meant."""
    near = get_close_matches(name, known, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else "`ralph task list` shows all tasks"
    return UsageError(f"there is no task {name}", hint=hint)


def _none_yet() -> UsageError:
    message = "there are no tasks here yet"
    return UsageError(
        message, hint="make one with `ralph task create`, or many with `ralph task add -f FILE`"
    )
