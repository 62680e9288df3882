"""Noticing DONE while the agent still runs: some agents write it and then go on, or hang."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ralph.adapters.signals.done_file import DoneFile
from ralph.adapters.signals.folder_watch import FolderWatch
from ralph.engine.ports import Running
from ralph.errors import RalphError


class DoneWatch:
    """An attendant. Once DONE is there the agent has ``grace`` seconds to finish; without DONE it has its time back.

    ``on_seen`` is told each time that it appeared.
    """

    def __init__(
        self, done: DoneFile, *, grace: float, poll_interval: float, on_seen: Callable[[], None]
    ) -> None:
        self._done = done
        self._grace = grace
        self._poll_interval = poll_interval
        self._on_seen = on_seen

    async def attend(self, running: Running) -> None:
        clock = asyncio.get_running_loop()
        deadline: float | None = None
        with FolderWatch(self._done.path.parent) as folder:
            while True:
                is_there = self._is_there()
                if is_there and deadline is None:
                    deadline = clock.time() + self._grace
                    running.finish_within(self._grace)
                    self._on_seen()
                elif not is_there and deadline is not None:
                    deadline = None
                    running.finish_within(None)
                elif deadline is not None and clock.time() >= deadline:
                    # It still runs: somebody else, who saw it begin another turn, gave it its time back.
                    running.finish_within(0)
                await folder.changed(within=self._poll_interval)

    def _is_there(self) -> bool:
        try:
            return self._done.exists()
        except RalphError:  # said after the session, where the run can end by it
            return False
