"""A claim by a file: its presence is enough, its content is not read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ralph.domain.loop.claims import Claim, Signal
from ralph.engine.ports import Judging


class MarkerFileProbe:
    def __init__(self, path: Path, claim: Claim) -> None:
        self._path = path
        self._claim = claim

    async def look(self, judging: Judging) -> Sequence[Signal]:
        return (Signal(self._claim, f"file {self._path.name}"),) if self._path.is_file() else ()
