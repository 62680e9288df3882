"""The files of a worktree before something else than work changes them, and back to those."""

from __future__ import annotations

from pathlib import Path

from ralph.adapters import beneath, trees
from ralph.adapters.files import make_private_folder, write_private
from ralph.adapters.git import Git
from ralph.values import dataclass


@dataclass(frozen=True, slots=True)
class TreeBaseline:
    """``index``: a file of ours, an index with all that is there but ignored. It outlives a kill, so that what was changed
    before that is put back too."""

    git: Git
    index: Path

    async def take(self) -> None:
        """Unless a process that was killed has left one. Raises GitFailed or OSError."""
        folder = self.index.parent
        make_private_folder(folder)
        if beneath.status(self.index, folder) is not None:
            return
        unfinished = self.index.with_name(f"{self.index.name}.new")
        self._remove(unfinished, unfinished.with_name(f"{unfinished.name}.lock"))
        found = self.git.root / (await self.git.must("rev-parse", "--git-path", "index")).out.rstrip("\n")
        trees.copy(found, unfinished, found.parent, folder)
        # What is not in it would be taken for the setup's and removed: work that git cannot add must end this here.
        await self.git.add_all(environment=self._variables(unfinished))
        trees.move(unfinished, self.index, folder, folder)

    async def put_back(self) -> list[str]:
        """What was changed or deleted since, without what is new and not ignored by git: gives the names of that.

        The index goes last: what a kill leaves here is not taken for work. Raises GitFailed or OSError.
        """
        own = self._variables(self.index)
        await self.git.run("update-index", "-q", "--refresh", environment=own)
        changed = await self.git.must("diff-files", "--name-only", "-z", environment=own)
        listing = self.index.with_name(f"{self.index.name}.changed")
        write_private(listing, changed.output)
        await self.git.must("checkout-index", "--force", "-z", "--stdin", stdin=listing, environment=own)
        listed = ("ls-files", "--others", "--exclude-standard", "-z", "--", *self.git.not_own)
        new = await self.git.must(*listed, environment=own)
        for name in new.names:
            trees.remove_tree(self.git.root / name, self.git.root)
        self._remove(self.index, listing)
        return new.names

    def _variables(self, index: Path) -> dict[str, str]:
        return {"GIT_INDEX_FILE": str(index.absolute())}

    def _remove(self, *files: Path) -> None:
        for file in files:
            beneath.remove(file, self.index.parent)
