"""A small process beside each run that cleans up if ralph is killed."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Self

from ralph.adapters.processes import adoption, watcher_main
from ralph.adapters.processes.watcher_main import end_run_processes
from ralph.errors import RalphError

__all__ = ["Watcher", "end_run_processes", "start_watcher"]

# What Python may need to start. Nothing else: the watcher must not carry the run's mark.
_KEPT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH")


class Watcher:
    """Holds the pipe whose end tells the watcher that ralph was killed; ``close`` tells it that ralph has finished."""

    def __init__(self, process: subprocess.Popen[bytes], pipe: int) -> None:
        self._process = process
        self._pipe: int | None = pipe

    @property
    def pid(self) -> int:
        return self._process.pid

    def close(self) -> None:
        """Does not wait: the watcher may still be starting."""
        if self._pipe is None:
            return
        with contextlib.suppress(OSError):  # it was killed
            os.write(self._pipe, b"b")
        os.close(self._pipe)
        self._pipe = None
        if self._process.poll() is None:
            self._process.returncode = 0  # reaped with the orphans, or by init after us
        adoption.release_other(self.pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def start_watcher(run_id: str) -> Watcher:
    """Returns before the watcher is ready: the pipe keeps what it watches for."""
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
