"""Text files in a throw-away checkout: what is planted there, and what commands said."""

from __future__ import annotations

from pathlib import Path

from ralph.adapters.files import read_whole

MOST_BYTES = 100_000_000


class PlainTexts:
    """Reads and writes whole files; a link is not followed."""

    def read(self, file: Path) -> str | None:
        content = read_whole(file, MOST_BYTES, follow=False)
        if content is None or b"\0" in content[:8_000]:
            return None
        return content.decode(errors="replace")

    def write(self, file: Path, text: str) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        file.write_bytes(text.encode())  # whatever the locale
