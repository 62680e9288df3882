"""Messages for the project's bus from inside a sandbox, which cannot write to it. Each is a file in the task folder."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from ralph.adapters.files import open_folder, read_whole, write_atomic
from ralph.domain.supervision.message import (
    MAX_BODY_CHARS,
    BusMessage,
    parse_bus,
    problem_with,
    render_message,
)
from ralph.domain.supervision.task_folder import OUTBOX
from ralph.errors import StoreError
from ralph.values import dataclass

MAX_FILE_BYTES = 8 * MAX_BODY_CHARS
MAX_AT_ONCE = 1_000


@dataclass(slots=True)
class Emptied:
    """What became of the files in an outbox: how many were forwarded, and how many were not messages."""

    forwarded: int = 0
    refused: int = 0


class Outbox:
    """The agent inside puts, the run outside takes, and trusts neither the folder nor the files."""

    def __init__(self, task_folder: Path) -> None:
        self._folder = task_folder / OUTBOX

    def put(self, message: BusMessage) -> None:
        """Whole or not at all."""
        try:
            self._folder.mkdir(exist_ok=True)
            write_atomic(self._folder / f"{message.id}.md", render_message(message))
        except OSError as error:
            problem = f"cannot leave a message in {self._folder}: {error.strerror or error}"
            raise StoreError(problem, hint="check that the task folder exists, and the free space") from error

    def empty(self, forward: Callable[[BusMessage], None]) -> Emptied:
        """Oldest first. If ``forward`` raises, that message and all later ones stay for the next time."""
        emptied = Emptied()
        try:
            folder = open_folder(self._folder)  # by descriptor: only what is really in it is removed
        except OSError:
            return emptied
        try:
            names = os.listdir(folder)  # noqa: PTH208 - of a descriptor
            for name in sorted(name for name in names if name.endswith(".md"))[:MAX_AT_ONCE]:
                message = _message(name, folder)
                if message is None:
                    emptied.refused += 1
                else:
                    forward(message)
                    emptied.forwarded += 1
                with contextlib.suppress(OSError):
                    os.unlink(name, dir_fd=folder)
        finally:
            os.close(folder)
        return emptied


def _message(name: str, folder: int) -> BusMessage | None:
    """None: the file is not exactly one valid message."""
    data = read_whole(name, MAX_FILE_BYTES, follow=False, folder=folder)
    if data is None:
        return None
    reading = parse_bus(data)
    is_alone = len(reading.messages) == 1 and not reading.problems and reading.torn_tail is None
    return reading.messages[0] if is_alone and problem_with(reading.messages[0]) is None else None
