"""What a plan accepts is what its sessions committed: files that git was told to overlook or to convert are not in it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

from ralph.adapters.git import Git
from ralph.adapters.workspace.proof_store import GitProofStore
from ralph.domain.proof.tree import Tree
from ralph.engine.ports import ProcessRunner

CONVERTED = "converted"


class CommittedWork(GitProofStore):
    """A proof store whose snapshot is the last commit, with the user's own uncommitted files.

    ``theirs`` names these, as seen from the workspace. Where git converts files (line endings, large files kept
    elsewhere), what is committed is not what commands need: then the snapshot is the working tree.
    """

    def __init__(
        self,
        folder: Path,
        workspace: Path,
        runner: ProcessRunner,
        *,
        top: Path,
        is_begun: bool = False,
        theirs: Callable[[], Iterable[str]],
    ) -> None:
        super().__init__(folder, workspace, runner, top=top, is_begun=is_begun)
        self._git = Git(workspace, runner)
        self._theirs = theirs
        self._is_converted = True

    async def begin(
        self,
        *,
        uncommitted: Iterable[str],
        since: str = "",
        amend: Callable[[Tree], Awaitable[Tree]] | None = None,
    ) -> None:
        """``uncommitted``: files as seen from the workspace. Raises GitFailed.

        ``since``: the commit from which on nothing was accepted; empty: what is there now is accepted, as far as
        ``amend`` leaves it.
        """
        await self.open(amend=amend)
        if (known := self.recall(CONVERTED, must=self._is_begun)) is not None:
            self._is_converted = known == "yes"
            return
        is_converted = await self._finds_conversions(uncommitted)
        if since and not is_converted and await self._git.is_ancestor(since, "HEAD"):
            await self.remember_base(await self.tree_of(since))
        self.remember(CONVERTED, "yes" if is_converted else "no")
        self._is_converted = is_converted

    async def accept(self) -> None:
        """From now on, work is compared with what is there."""
        await self.remember_base(await self.snapshot())

    async def snapshot(self) -> Tree:
        work = await super().snapshot()
        if self._is_converted:
            return work
        head = await self.tree_of("HEAD")
        theirs = (f"{self.prefix}{path}" for path in self._theirs())
        return head.putting_back(
            [path for path in theirs if work.files.get(path) != head.files.get(path)], work
        )

    async def _finds_conversions(self, uncommitted: Iterable[str]) -> bool:
        """A file that is not what its commit says, although git calls it unchanged. Also true before the first commit."""
        if not await self._git.commit_of("HEAD"):
            return True
        head, work = await self.tree_of("HEAD"), await super().snapshot()
        differing = head.differing(work).difference(f"{self.prefix}{path}" for path in uncommitted)
        return any(path in head.files and path in work.files for path in differing)
