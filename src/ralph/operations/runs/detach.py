"""Start a ralph command in a process that outlives this one, and wait for the run it begins."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from ralph.adapters.processes.detached import Detached
from ralph.adapters.storage.places import run_folder
from ralph.adapters.storage.run_reader import open_reader
from ralph.errors import StoreError

APPEARS_WITHIN = 600.0
"""Seconds: a sandbox may have to fetch its image first."""
LOOK_EVERY = 0.05
OUTPUT = "console"
_numbers = itertools.count(1)


class DetachedRun:
    """``said_before``: what the command would read from its standard input. ``cwd``, ``environment`` None: as here."""

    def __init__(
        self,
        state_folder: Path,
        arguments: Sequence[str],
        *,
        said_before: bytes = b"",
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._folder = state_folder
        self._newest = self._newest_event()
        log = state_folder / f"detached-{os.getpid()}-{next(_numbers)}.log"  # a page may start several
        self._process = Detached(
            arguments, cwd=cwd or Path.cwd(), log=log, stdin=said_before, environment=environment
        )

    @property
    def output(self) -> Path:
        """The file with what it prints."""
        return self._process.log

    def run_id(self) -> str | None:
        """The run whose beginning it has announced; None if it ended before, or took too long."""
        try:
            run_id = self._await_run()
        except KeyboardInterrupt:
            self._process.interrupt()  # it has not begun, and nobody waits for it any more
            raise
        if run_id is not None:
            self._keep_output_in(run_folder(self._folder, run_id))
        elif self._process.exit_code is None:
            self._process.interrupt()
        return run_id

    def _await_run(self) -> str | None:
        deadline = time.monotonic() + APPEARS_WITHIN
        while time.monotonic() < deadline:
            is_over = self._process.exit_code is not None
            if (run_id := self._begun()) is not None or is_over:
                return run_id
            time.sleep(LOOK_EVERY)
        return None

    def _newest_event(self) -> int:
        with suppress(StoreError):
            reader = open_reader(self._folder)
            if reader is not None:
                with reader:
                    return reader.newest_event()
        return 0

    def _begun(self) -> str | None:
        with suppress(StoreError):  # the record is being created
            reader = open_reader(self._folder)
            if reader is not None:
                with reader:
                    return reader.begun_by(self._process.pid, after=self._newest)
        return None

    def _keep_output_in(self, folder: Path) -> None:
        """A run that is resumed keeps the output of its earlier processes."""
        names = (f"{OUTPUT}{'' if number == 1 else f'-{number}'}.log" for number in itertools.count(1))
        next(name for name in names if self._process.move_log(folder / name, top=self._folder))

    def wait(self) -> None:
        """Until its process ends, for a face that lives as long."""
        self._process.wait()

    def leave(self) -> tuple[int | None, str]:
        """Let it run on. Gives its exit code, if it has ended, and what it printed last."""
        code, said = self._process.exit_code, self._process.said()
        if code is None:
            self._process.leave()
        elif self._process.log.parent == self._folder:  # it never began a run
            self._process.log.unlink(missing_ok=True)
        return code, said
