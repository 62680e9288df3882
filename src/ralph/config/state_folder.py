"""The ``.ralph`` folder and the settings file in it: made, and written whole or not at all."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from ralph.config.root import STATE_FOLDER
from ralph.config.sources import SETTINGS_FILE
from ralph.errors import ConfigError

GITIGNORE = "*\n!.gitignore\n!settings.json\n"


def prepare_folder(root: Path) -> Path:
    """Makes ``.ralph`` at first use, with a ``.gitignore`` that lets only the team's settings be committed."""
    folder = root / STATE_FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (
            contextlib.suppress(FileExistsError),
            (folder / ".gitignore").open("x", encoding="utf-8") as file,
        ):
            file.write(GITIGNORE)
    except OSError as error:
        raise _unwritable(folder, error) from error
    return folder


def check_writable(root: Path) -> None:
    """Raises before somebody answers ten questions whose answers could not be saved."""
    folder = root / STATE_FOLDER
    if folder.exists() and not folder.is_dir():
        message = f"{folder} is in the way: a directory is needed there"
        raise ConfigError(message, hint="move it away")
    if (root / SETTINGS_FILE).is_dir():
        message = f"{root / SETTINGS_FILE} is a directory"
        raise ConfigError(message, hint="move it away")
    if not os.access(folder if folder.exists() else root, os.W_OK | os.X_OK):
        message = f"{folder} cannot be written"
        raise ConfigError(message, hint="check its permissions, or choose another place with --project-dir")


def write_settings(root: Path, text: str) -> Path | None:
    """Puts the new settings in place at once. Old ones are kept; the result is where, None if there were none."""
    path = root / SETTINGS_FILE
    prepare_folder(root)
    try:
        # A link stays a link: somebody keeps the real file elsewhere.
        path = path.resolve()
        backup = _keep_old(path)
        _write_atomically(path, text.encode())
    except OSError as error:
        raise _unwritable(path, error) from error
    return backup


def _keep_old(path: Path) -> Path | None:
    try:
        old = path.read_bytes()
    except FileNotFoundError:
        return None
    number = 1
    while True:
        backup = path.with_name(path.name + (".bak" if number == 1 else f".bak.{number}"))
        try:
            if backup.read_bytes() == old:
                return backup
        except FileNotFoundError:
            _write_atomically(backup, old)
            return backup
        number += 1


def _write_atomically(path: Path, data: bytes) -> None:
    """Readers see the old file or the new one, after a crash too."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Makes the new name durable, where the system lets a directory be opened."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _unwritable(path: Path, error: OSError) -> ConfigError:
    reason = (error.strerror or str(error)).lower()
    return ConfigError(f"{path} cannot be written: {reason}", hint="check permissions and free space")
