"""The DONE file of profile supervised: a claim by its presence, before, while and after the agent runs."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

from ralph.adapters import beneath, trees
from ralph.adapters.signals.folder_watch import FolderWatch
from ralph.domain.loop.claims import Claim, Signal
from ralph.domain.supervision.task_folder import rejected_name
from ralph.engine.ports import Judging, Running
from ralph.errors import RalphError, StoreError
from ralph.values import dataclass


@dataclass(frozen=True, slots=True)
class DoneFile:
    """A probe, and what else is done with the file. Its content is not read."""

    path: Path

    def exists(self) -> bool:
        """A link does not count. Raises StoreError for a directory, or if it cannot be seen."""
        try:
            found = beneath.status(self.path)
        except OSError as error:
            message = f"cannot look for {self.path}: {error.strerror or error}"
            raise StoreError(message, hint="make the task folder readable, and DONE a plain file") from error
        if found is not None and stat.S_ISDIR(found.st_mode):
            message = f"DONE is a directory: {self.path}"
            raise StoreError(message, hint="remove it; an agent that is done writes a file of that name")
        return found is not None and not stat.S_ISLNK(found.st_mode)

    def is_link(self) -> bool:
        """It was made for a reason, so it is worth a warning."""
        return bool(beneath.read_link(self.path))

    def reject(self) -> Path | None:
        """Keep it under another name: the guardrails denied it. None: it was removed meanwhile."""
        try:
            taken = set(beneath.list_names(self.path.parent))
            aside = self.path.with_name(rejected_name(taken))
            trees.move(self.path, aside)
        except FileNotFoundError:
            return None
        except OSError as error:
            message = f"cannot put {self.path} aside: {error.strerror or error}"
            raise StoreError(message, hint="make the task folder writable") from error
        return aside

    async def look(self, judging: Judging) -> Sequence[Signal]:
        return (Signal(Claim.DONE, f"file {self.path.name}"),) if self.exists() else ()


@dataclass(frozen=True, slots=True)
class DoneWatch:
    """An attendant: some agents write DONE and then continue, or hang.

    Once DONE is there the agent has ``grace`` seconds to finish; if it is removed the deadline is lifted. ``on_seen``
    is called each time it appears.
    """

    done: DoneFile
    grace: float
    poll_interval: float
    on_seen: Callable[[], None]

    async def attend(self, running: Running) -> None:
        clock = asyncio.get_running_loop()
        deadline: float | None = None
        with FolderWatch(self.done.path.parent) as folder:
            while True:
                is_there = self._is_there()
                if is_there and deadline is None:
                    deadline = clock.time() + self.grace
                    running.finish_within(self.grace)
                    self.on_seen()
                elif not is_there and deadline is not None:
                    deadline = None
                    running.finish_within(None)
                elif deadline is not None and clock.time() >= deadline:
                    # It still runs because another attendant, which saw it begin a turn, lifted the deadline.
                    running.finish_within(0)
                await folder.changed(within=self.poll_interval)

    def _is_there(self) -> bool:
        try:
            return self.done.exists()
        except RalphError:  # raised again after the session, where it can end the run
            return False
