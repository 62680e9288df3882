"""A ralph in a session of its own that outlives the process that started it: what ``--ui`` watches."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ralph.adapters.files import make_private_folder, open_own


class Detached:
    """Its output goes to ``log``; it has no terminal, and no Ctrl-C reaches it."""

    def __init__(self, arguments: Sequence[str], *, cwd: Path, log: Path) -> None:
        make_private_folder(log.parent)
        with open(open_own(log), "wb") as output:  # noqa: PTH123 a descriptor
            output.truncate(0)
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "ralph", *arguments],  # -P: no `ralph` of the project
                cwd=cwd,
                stdin=subprocess.DEVNULL,
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
        with contextlib.suppress(OSError):
            return self.log.read_bytes()[-limit:].decode(errors="replace")
        return ""

    def interrupt(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)

    def leave(self) -> None:
        """Let it run: Popen would warn about a child that is left running."""
        if self._process.returncode is None:
            self._process.returncode = 0
