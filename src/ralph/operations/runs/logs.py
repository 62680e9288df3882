"""Read what the agents of a run printed, byte for byte."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

CHUNK = 256 * 1024

# The last part is the name of an agent that stood in for the first.
_SESSION = re.compile(r"agent_(\d+)(?:_attempt(\d+))?(?:_(\w+?))?(?:\.([\w-]+))?\.ndjson")


class AgentLogs:
    """The output of each session in turn; remembers how much of each was read."""

    def __init__(
        self,
        state_folder: Path,
        run_id: str,
        *,
        iteration: int | None = None,
        complain: Callable[[str], None],
    ) -> None:
        self.folder = state_folder / "runs" / run_id
        self._iteration = iteration
        self._complain = complain
        self._offsets: dict[Path, int] = {}

    @property
    def found(self) -> bool:
        """Whether there has been any log so far."""
        return bool(self._offsets)

    def new(self) -> Iterator[bytes]:
        """What came since the last look."""
        for path in self._files():
            while chunk := self._read(path):
                self._offsets[path] += len(chunk)
                yield chunk

    def _files(self) -> list[Path]:
        try:
            files = list(self.folder.iterdir())
        except OSError:
            return []
        found: list[tuple[int, int, str, Path]] = []
        for file in files:
            if match := _SESSION.fullmatch(file.name):
                iteration, attempt = int(match[1]), int(match[2] or 1)
                if self._iteration in (None, iteration):
                    found.append((iteration, attempt, f"{match[3] or ''} {match[4] or ''}", file))
        return [file for *_, file in sorted(found)]

    def _read(self, path: Path) -> bytes:
        offset = self._offsets.setdefault(path, 0)
        try:
            with path.open("rb") as file:
                file.seek(offset)
                return file.read(CHUNK)
        except OSError as error:
            self._complain(f"cannot read {path}: {error.strerror or error}")
            return b""
