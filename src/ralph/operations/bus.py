"""The message bus of a task or of the project: choose one, post to it, read it, follow it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from ralph.adapters.bus.message_bus import MessageBus, new_message
from ralph.config.root import STATE_FOLDER
from ralph.domain.supervision.message import BusReading
from ralph.domain.supervision.task_folder import ID_HINT, PROJECT_BUS, TASK_BUS, TASKS_FOLDER, problem_with_id
from ralph.errors import UsageError
from ralph.values import dataclass

EVERY = 0.25


@dataclass(frozen=True, slots=True)
class Bus:
    path: Path
    environ: Mapping[str, str]

    def post(self, kind: str, body: str, *, task: str = "", parents: tuple[str, ...] = ()) -> str:
        """Gives the message's id. In a sandbox, the run outside carries the message to the project's bus."""
        message = new_message(
            kind,
            body,
            project=self.environ.get("RALPH_PROJECT_ID", ""),
            task=task or self.environ.get("RALPH_TASK_ID", ""),
            run=self.environ.get("RALPH_RUN_ID", ""),
            parents=parents,
            now=time.time(),
        )
        if (mailbox := self._mailbox()) is not None:
            from ralph.adapters.bus.outbox import Outbox

            Outbox(mailbox).put(message)
        else:
            self._require_folder()
            MessageBus(self.path).forward(message)
        return message.id

    def read(self, offset: int = 0) -> BusReading:
        """The messages from ``offset`` on; none if nobody has posted yet."""
        return MessageBus(self.path).read(offset)

    def follow(self) -> Iterator[BusReading]:
        """Everything so far, then whatever is new, forever."""
        reading = self.read()
        while True:
            yield reading
            time.sleep(EVERY)
            reading = self.read(reading.settled)

    def _mailbox(self) -> Path | None:
        """In a sandbox the project's bus is read-only: the run outside carries messages there from the task folder."""
        task_folder = self.environ.get("TASK_FOLDER", "")
        is_projects = str(self.path) == self.environ.get("PROJECT_MESSAGE_BUS", "")
        return (
            Path(task_folder) if self.environ.get("RALPH_SANDBOX") and task_folder and is_projects else None
        )

    def _require_folder(self) -> None:
        folder = self.path.parent
        if folder.name == STATE_FOLDER:
            from ralph.adapters.files import make_state_folder
            from ralph.adapters.storage.database import store_errors

            with store_errors(folder):
                make_state_folder(folder)
        if not folder.is_dir():
            message = f"there is no folder for this bus: {folder}"
            raise UsageError(message, hint="`ralph supervise --task ID` makes the task's folder")


def task_bus(state_folder: Path, task: str, *, environ: Mapping[str, str] = os.environ) -> Bus:
    if problem := problem_with_id(task, what="task"):
        raise UsageError(problem, hint=ID_HINT)
    return Bus(state_folder / TASKS_FOLDER / task / TASK_BUS, environ)


def bus_in(task_folder: Path, *, environ: Mapping[str, str] = os.environ) -> Bus:
    return Bus(task_folder.absolute() / TASK_BUS, environ)


def project_bus(state_folder: Path, *, environ: Mapping[str, str] = os.environ) -> Bus:
    return Bus(state_folder / PROJECT_BUS, environ)


def own_bus(
    state_folder: Callable[[], Path], *, of_project: bool = False, environ: Mapping[str, str] = os.environ
) -> Bus:
    """In a supervised agent, the bus of its task (or project); elsewhere that of the project here."""
    given = environ.get("PROJECT_MESSAGE_BUS", "")
    if not of_project:
        given = environ.get("TASK_MESSAGE_BUS", "") or given
    return Bus(Path(given), environ) if given else project_bus(state_folder(), environ=environ)
