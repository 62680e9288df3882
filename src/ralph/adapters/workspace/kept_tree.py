"""The working tree as it was before somebody looked at it, and back to it: whoever judges changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from ralph.adapters import beneath
from ralph.domain.proof.tree import LINK, Tree
from ralph.engine.proof.ports import ProofStore

EXECUTABLE = "100755"


class KeptTree:
    """``top`` is what the paths are relative to. What is ignored is not kept: it is no part of the work."""

    def __init__(self, store: ProofStore, top: Path, tree: Tree) -> None:
        self._store = store
        self._top = top
        self._tree = tree

    @classmethod
    async def of(cls, store: ProofStore, top: Path) -> Self:
        """As it is now. Raises GitFailed."""
        return cls(store, top, await store.snapshot())

    async def put_back(self) -> Sequence[str]:
        """The files that had changed; they are as they were. Raises GitFailed."""
        now = await self._store.snapshot()
        changed = sorted(now.differing(self._tree))
        for path in changed:  # all of them first: a link may lie where a folder was
            if path in now.files:
                beneath.remove(self._top / path, self._top)
        for path in changed:
            await self._write(path)
        return changed

    async def _write(self, path: str) -> None:
        entry = self._tree.files.get(path)
        if entry is None:
            return
        file = self._top / path
        with suppress(OSError):
            beneath.remove_folder(file, self._top)
        if entry.mode == LINK:
            target = (await self._store.content(entry)).decode(errors="surrogateescape")
            beneath.make_link(file, target, self._top)
            return
        with beneath.open_new(file, self._top, mode=0o777 if entry.mode == EXECUTABLE else 0o666) as opened:
            await self._store.write(entry, opened.write)
