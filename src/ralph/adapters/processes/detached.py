"""A ralph in a session of its own that outlives the process that started it: ``--ui`` watches it, ``--detach`` leaves it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from ralph.adapters import beneath
from ralph.adapters.files import make_private_folder, open_own


class Detached:
    """Its output goes to ``log``; it reads ``stdin``. It has no terminal, and no Ctrl-C reaches it.

    ``environment`` None: this process's own.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        cwd: Path,
        log: Path,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        make_private_folder(log.parent)
        with open(open_own(log), "wb") as output, tempfile.TemporaryFile() as given:  # noqa: PTH123 a descriptor
            output.truncate(0)
            given.write(stdin)
            given.seek(0)
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "ralph", *arguments],  # -P: no `ralph` of the project
                cwd=cwd,
                env=environment,
                stdin=given,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.log = log

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.poll()

    def said(self, limit: int = 20_000) -> str:
        """The end of what it printed."""
        with contextlib.suppress(OSError), self.log.open("rb") as log:
            log.seek(max(0, os.fstat(log.fileno()).st_size - limit))
            return log.read(limit).decode(errors="replace")
        return ""

    def move_log(self, place: Path, *, top: Path) -> bool:
        """It writes on to the same file. False: something is there already; an agent may have put a link in the way."""
        try:
            with beneath.parent_of(place, top) as (folder, name):
                os.link(self.log, name, dst_dir_fd=folder, follow_symlinks=False)
            self.log.unlink()
        except FileExistsError:
            return False
        except OSError:
            return True  # it stays where it is
        self.log = place
        return True

    def interrupt(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)

    def wait(self) -> None:
        """Until it ends, so that whoever lives on leaves no zombie behind."""
        self._process.wait()

    def leave(self) -> None:
        """Let it run: Popen would warn about a child that is left running."""
        if self._process.returncode is None:
            self._process.returncode = 0
