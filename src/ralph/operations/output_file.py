"""Write output to a file that the user named: whole or not at all."""

from __future__ import annotations

from pathlib import Path

from ralph.adapters.files import write_atomic
from ralph.errors import StoreError, UsageError


def write_output(path: Path, text: str) -> None:
    if path.is_dir():
        message = f"{path} is a directory"
        raise UsageError(message, hint="name a file")
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")  # write to a device or a pipe, do not replace it
        else:
            write_atomic(path, text, mode=0o666)
    except OSError as error:
        message = f"cannot write {path}: {error.strerror or error}"
        raise StoreError(message, hint="choose another place with -o") from error
