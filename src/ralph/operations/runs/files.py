"""The files in a run's folder, for whoever shows them: plain ones only, wherever the record came from."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from ralph.adapters import beneath
from ralph.adapters.storage.places import run_folder
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
            return beneath.list_names(self.folder, self.state_folder)
        except OSError:
            return []

    def status(self, name: str) -> os.stat_result | None:
        """Of a plain file; None if it is none, or not there."""
        try:
            found = beneath.status(self.folder / name, self.state_folder)
        except OSError:
            return None
        return found if found is not None and stat.S_ISREG(found.st_mode) else None

    def open(self, name: str) -> BinaryIO:
        """To read. Raises OSError."""
        return beneath.open_plain(self.folder / name, self.state_folder)

    def write(self, name: str, text: str) -> Path:
        """What is made of the record, beside it. Raises StoreError."""
        file = self.folder / name
        try:
            beneath.write_atomic(file, text, self.state_folder)
        except OSError as error:
            message = f"cannot write {file}: {error.strerror or error}"
            raise StoreError(message, hint="choose another place with -o") from error
        return file
