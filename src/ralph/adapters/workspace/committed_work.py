"""What a plan accepts is what its sessions committed: files that git was told to overlook or to convert are not in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from ralph.adapters.git import Git
from ralph.adapters.workspace.proof_store import GitProofStore
from ralph.domain.proof.tree import Entry, Tree
from ralph.engine.proof.ports import Checkout

CONVERTED = "converted"


class CommittedWork:
    """A proof store whose snapshot is the last commit, with the user's own uncommitted files.

    ``theirs`` names these, as seen from the project. Where git converts files (line endings, large files kept
    elsewhere), what is committed is not what commands need: then the snapshot is the working tree.
    """

    def __init__(self, store: GitProofStore, git: Git, *, theirs: Callable[[], Iterable[str]]) -> None:
        self._store = store
        self._git = git
        self._theirs = theirs
        self._is_converted = True

    async def open(self, *, uncommitted: Iterable[str], since: str = "") -> None:
        """``since``: the commit from which on nothing was accepted; empty: it is what is there now. Raises GitFailed."""
        await self._store.open()
        known = self._store.recall(CONVERTED)
        if known is None:
            self._is_converted = await self._find_conversions(uncommitted)
            known = "yes" if self._is_converted else "no"
            self._store.remember(CONVERTED, known)
            if since and not self._is_converted and await self._git.is_ancestor(since, "HEAD"):
                await self._store.remember_base(await self._store.tree_of(since))
        self._is_converted = known == "yes"

    async def accept(self) -> None:
        """From now on, work is compared with what is there."""
        await self._store.remember_base(await self.snapshot())

    @property
    def base(self) -> Tree:
        return self._store.base

    @property
    def top(self) -> Path:
        return self._store.top

    @property
    def prefix(self) -> str:
        return self._store.prefix

    async def snapshot(self) -> Tree:
        work = await self._store.snapshot()
        if self._is_converted:
            return work
        head = await self._store.tree_of("HEAD")
        theirs = [f"{self._store.prefix}{path}" for path in self._theirs()]
        return head.putting_back(
            [path for path in theirs if work.files.get(path) != head.files.get(path)], work
        )

    async def content(self, entry: Entry) -> bytes:
        return await self._store.content(entry)

    def checkout(self, tree: Tree) -> AbstractAsyncContextManager[Checkout]:
        return self._store.checkout(tree)

    def remember(self, name: str, text: str) -> None:
        self._store.remember(name, text)

    def recall(self, name: str) -> str | None:
        return self._store.recall(name)

    async def _find_conversions(self, uncommitted: Iterable[str]) -> bool:
        """Also true where there is no commit yet. A file that git says is unchanged, but is not, was converted."""
        if not await self._git.commit_of("HEAD"):
            return True
        head, work = await self._store.tree_of("HEAD"), await self._store.snapshot()
        changed = {f"{self._store.prefix}{path}" for path in uncommitted}
        differing = head.differing(work) - changed
        return any(path in head.files and path in work.files for path in differing)
