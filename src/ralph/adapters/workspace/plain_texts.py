"""Text files in a throw-away checkout: what is planted there, and what commands said."""

from __future__ import annotations

from pathlib import Path

from ralph.adapters import beneath
from ralph.errors import GitFailed

MOST_BYTES = 100_000_000


class PlainTexts:
    """Reads and writes whole files below ``top``; a link is not followed."""

    def read(self, file: Path, top: Path) -> str | None:
        content = beneath.read_whole(file, MOST_BYTES, top)
        if content is None or b"\0" in content[:8_000]:
            return None
        return content.decode(errors="replace")

    def write(self, file: Path, text: str, top: Path) -> None:
        """Raises GitFailed: what cannot be planted proves nothing."""
        try:
            beneath.remove(file, top)
            with beneath.open_new(file, top) as opened:
                opened.write(text.encode())  # whatever the locale
        except OSError as error:
            message = f"cannot write {file}: {error.strerror or error}"
            raise GitFailed(message, hint="--proof trusting does without") from error
