"""The DONE file of seed 003: a claim by its presence, looked for before, while and after the agent runs."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path

from ralph.domain.loop.claims import Claim, Signal
from ralph.domain.supervision.task_folder import rejected_name
from ralph.engine.ports import Judging
from ralph.errors import StoreError


class DoneFile:
    """A probe, and what else there is to do with the file. What it says is not read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def exists(self) -> bool:
        """A link that leads nowhere is no file. Raises StoreError for a directory, or if nobody can tell."""
        try:
            mode = self.path.stat().st_mode
        except FileNotFoundError:
            return False
        except OSError as error:
            message = f"cannot look for {self.path}: {error.strerror or error}"
            raise StoreError(message, hint="make the task folder readable, and DONE a plain file") from error
        if stat.S_ISDIR(mode):
            message = f"DONE is a directory: {self.path}"
            raise StoreError(
                message, hint="remove it; the agent says that it is done with a file of that name"
            )
        return True

    def leads_nowhere(self) -> bool:
        """Somebody meant something by it, so it should not be passed over in silence."""
        return self.path.is_symlink() and not self.path.exists()

    def reject(self) -> Path | None:
        """Out of the way, but kept: the guardrails denied it. None: somebody has taken it away meanwhile."""
        try:
            taken = {entry.name for entry in self.path.parent.iterdir()}
            aside = self.path.with_name(rejected_name(taken))
            self.path.rename(aside)
        except FileNotFoundError:
            return None
        except OSError as error:
            message = f"cannot put {self.path} aside: {error.strerror or error}"
            raise StoreError(message, hint="make the task folder writable") from error
        return aside

    async def look(self, judging: Judging) -> Sequence[Signal]:
        return (Signal(Claim.DONE, f"file {self.path.name}"),) if self.exists() else ()
