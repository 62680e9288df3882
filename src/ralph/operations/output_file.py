"""Write output to a file that the user named: whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from ralph.adapters.files import write_atomic
from ralph.errors import StoreError, UsageError

ELSEWHERE = "choose another place with -o"


def require_writable(path: Path) -> None:
    """Raises what ``write_output`` would, as far as that is known before there is anything to write."""
    _require_file(path)
    is_device = path.exists() and not path.is_file()
    place = path if is_device else Path(os.path.realpath(path)).parent
    if not place.exists():
        message = f"cannot write {path}: there is no folder {place}"
        raise StoreError(message, hint=ELSEWHERE)
    if not os.access(place, os.W_OK if is_device else os.W_OK | os.X_OK):
        message = f"cannot write {path}: no permission to write to {place}"
        raise StoreError(message, hint=ELSEWHERE)


def write_output(path: Path, text: str, *, hint: str = ELSEWHERE) -> None:
    _require_file(path)
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")  # write to a device or a pipe, do not replace it
        else:
            write_atomic(path, text, mode=0o666)
    except OSError as error:
        message = f"cannot write {path}: {error.strerror or error}"
        raise StoreError(message, hint=hint) from error


def _require_file(path: Path) -> None:
    if path.is_dir():
        message = f"{path} is a directory"
        raise UsageError(message, hint="name a file")
