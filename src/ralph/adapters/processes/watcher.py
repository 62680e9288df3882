"""One small process beside each run that outlives ralph when ralph is killed, and then cleans up."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from ralph.adapters.processes import adoption, watcher_main
from ralph.adapters.processes.watcher_main import end_run_processes
from ralph.errors import RalphError

__all__ = ["Watcher", "end_run_processes", "start_watcher"]

# What a Python may need to start at all. Nothing else: the watcher must not carry the run's mark.
_KEPT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH")


class Watcher:
    """Holds the pipe whose closing tells the watcher that ralph is gone. ``close`` says good-bye first."""

    def __init__(self, process: subprocess.Popen[bytes], pipe: int) -> None:
        self._process = process
        self._pipe: int | None = pipe

    @property
    def pid(self) -> int:
        return self._process.pid

    def close(self) -> None:
        """Does not wait: a watcher that has just been started may still be on its way up."""
        if self._pipe is None:
            return
        with contextlib.suppress(OSError):  # it was killed
            os.write(self._pipe, b"b")
        os.close(self._pipe)
        self._pipe = None
        if self._process.poll() is None:
            self._process.returncode = 0  # buried with the orphans, or by init after us
        adoption.release_other(self.pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def start_watcher(run_id: str) -> Watcher:
    """Returns as soon as it is started, before it is ready: what it watches for is kept in the pipe."""
    if os.name != "posix":
        message = f"the watcher is not supported on this system ({os.name})"
        raise RalphError(message, hint="use Linux, macOS or the Windows Subsystem for Linux")
    reading, writing = os.pipe()  # neither is inherited by any other child
    try:
        with adoption.birth_lock:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", os.fspath(Path(watcher_main.__file__).resolve()), run_id],
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={name: os.environ[name] for name in _KEPT if name in os.environ},
                start_new_session=True,
            )
            adoption.register_other(process.pid)
    except OSError as error:
        os.close(writing)
        message = f"cannot start the watcher with {sys.executable or 'an unknown Python'}: {error.strerror}"
        raise RalphError(message) from error
    finally:
        os.close(reading)
    return Watcher(process, writing)
