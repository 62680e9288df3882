"""The working tree as it was before somebody looked at it, and back to it: whoever judges changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self

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
                self._place(path).unlink(missing_ok=True)
        for path in changed:
            await self._write(path)
        return changed

    async def _write(self, path: str) -> None:
        entry = self._tree.files.get(path)
        if entry is None:
            return
        file = self._place(path)
        if file.is_dir() and not any(file.iterdir()):
            file.rmdir()
        file.parent.mkdir(parents=True, exist_ok=True)
        if entry.mode == LINK:
            file.symlink_to((await self._store.content(entry)).decode(errors="surrogateescape"))
            return
        await self._store.write(entry, file)
        if entry.mode == EXECUTABLE:
            file.chmod(0o755)

    def _place(self, path: str) -> Path:
        return self._top / path
