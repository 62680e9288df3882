"""Start a ralph command in a process that outlives this one, and wait for the run it begins."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ralph.adapters.processes.detached import Detached
from ralph.adapters.storage.run_reader import open_reader
from ralph.errors import StoreError

APPEARS_WITHIN = 60.0
LOOK_EVERY = 0.05


class DetachedRun:
    def __init__(self, state_folder: Path, arguments: Sequence[str]) -> None:
        self._folder = state_folder
        self._log = state_folder / f"ui-{os.getpid()}.log"
        self._process = Detached(arguments, cwd=Path.cwd(), log=self._log)

    def run_id(self) -> str | None:
        """The run it began; None if it ended without one, or took too long."""
        since = time.time() - APPEARS_WITHIN
        deadline = time.monotonic() + APPEARS_WITHIN
        while time.monotonic() < deadline:
            is_over = self._process.exit_code is not None
            if (run_id := self._recorded(since)) is not None:
                return run_id
            if is_over:
                return None
            time.sleep(LOOK_EVERY)
        self._process.interrupt()
        return None

    def _recorded(self, since: float) -> str | None:
        with suppress(StoreError):  # the record is being created
            reader = open_reader(self._folder)
            if reader is not None:
                with reader:
                    return reader.begun_by(self._process.pid, since=since)
        return None

    def leave(self) -> tuple[int | None, str]:
        """Let it run on. Gives its exit code, if it has ended, and what it printed last."""
        code, said = self._process.exit_code, self._process.said()
        if code is None:
            self._process.leave()
        else:
            self._log.unlink(missing_ok=True)
        return code, said
