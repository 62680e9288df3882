"""What puts files back as a run compares them, for `git apply`: with and without a repository, committed or not."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from ralph.adapters import beneath
from ralph.adapters.files import real_path
from ralph.adapters.workspace.proof_store import GitProofStore
from ralph.domain.proof.tree import Tree
from ralph.values import dataclass

MOST_SHOWN = 20_000


@dataclass(frozen=True, slots=True)
class UndoPatch:
    """``workspace``: where the command is typed."""

    store: GitProofStore
    workspace: Path
    file: Path

    @property
    def command(self) -> str:
        """For the user to type, with the user's own git."""
        top = self.store.top
        there = (
            f"-C {shlex.quote(os.path.relpath(top, real_path(self.workspace)))} " if self.store.prefix else ""
        )
        return f"git {there}apply {shlex.quote(os.path.relpath(real_path(self.file), top))}"

    async def write(self, paths: Sequence[str], now: Tree, then: Tree) -> str:
        """From ``now`` to ``then``; gives the beginning of it. Raises GitFailed."""
        await self.store.write_patch(
            *(Tree().putting_back(paths, tree) for tree in (now, then)), file=self.file
        )
        return beneath.read_plain(self.file, MOST_SHOWN, self.file.parent).decode(errors="replace")
