"""The files in a run's folder, for whoever shows them: plain ones only, wherever the record came from.

The one place that knows that a stream may be compressed by now: it has the same name and is read in the same way.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from ralph.adapters import beneath
from ralph.adapters.storage.places import run_folder
from ralph.domain.loop.old_files import COMPRESSED, iteration_of_stream, plain_name
from ralph.errors import StoreError
from ralph.values import dataclass


@dataclass(frozen=True, slots=True)
class RunFiles:
    """Nothing in it is reached through a link: it could lead to any file of the user's, which a face would then show."""

    state_folder: Path
    run_id: str

    @property
    def folder(self) -> Path:
        """Raises StoreError for a run whose name would lead elsewhere."""
        return run_folder(self.state_folder, self.run_id)

    def names(self) -> list[str]:
        """Empty if there is no such folder."""
        try:
            found = beneath.list_names(self.folder, self.state_folder)
        except OSError:
            return []
        return sorted({plain_name(name) for name in found})

    def status(self, name: str) -> os.stat_result | None:
        """Of a plain file; None if it is none, or not there."""
        for each in (name, f"{name}{COMPRESSED}"):
            try:
                found = beneath.status(self.folder / each, self.state_folder)
            except OSError:
                return None
            if found is not None:
                return found if stat.S_ISREG(found.st_mode) else None
        return None

    def removed_to(self) -> int:
        """The number of the last iteration whose stream was removed, with all before it: a long run keeps only the newest."""
        kept = [number for name in self.names() if (number := iteration_of_stream(name)) is not None]
        return max(0, min(kept) - 1) if kept else 0

    def is_compressed(self, name: str) -> bool:
        """Only the compressed file is left of it."""
        try:
            return beneath.status(self.folder / name, self.state_folder) is None
        except OSError:
            return False

    def open(self, name: str) -> BinaryIO:
        """To read. Raises OSError."""
        file = self.folder / name
        try:
            return beneath.open_plain(file, self.state_folder)
        except FileNotFoundError:  # in this order: the compressed one is there before the original goes
            from ralph.adapters.storage.streams import open_compressed

            return open_compressed(file, self.state_folder)

    def write(self, name: str, text: str) -> Path:
        """What is made of the record, beside it. Raises StoreError."""
        file = self.folder / name
        try:
            beneath.write_atomic(file, text, self.state_folder)
        except OSError as error:
            message = f"cannot write {file}: {error.strerror or error}"
            raise StoreError(message, hint="choose another place with -o") from error
        return file
