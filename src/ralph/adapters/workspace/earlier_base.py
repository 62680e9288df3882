"""What an unaccepted run left behind is not the user's: a new run compares it with what that run began with."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

from ralph.adapters.workspace.proof_store import GitProofStore
from ralph.adapters.workspace.undo_patch import UndoPatch
from ralph.domain.proof.protection import Protection
from ralph.domain.proof.tree import Tree
from ralph.domain.proof.unaccepted_changes import unaccepted_changes
from ralph.errors import GitFailed
from ralph.values import dataclass

LEFT = "left"
"""The note for a run that is resumed."""
Follow = Callable[[Protection, GitProofStore], Awaitable[Protection]]


@dataclass(slots=True)
class EarlierBase:
    """``earlier``: the store of run ``run_id``, which was not accepted; ``warning`` is there after ``amend``."""

    run_id: str
    earlier: GitProofStore
    store: GitProofStore
    protection: Protection
    follow: Follow
    undo: UndoPatch
    warning: str = ""

    async def amend(self, base: Tree) -> Tree:
        """The base of a new run, with what the earlier run changed of the proof as it was before that."""
        try:
            return await self._amend(base)
        except GitFailed as error:
            self.warning = (
                f"what run {self.run_id}, which was not accepted, changed of the tests and checks cannot be told "
                f"({error.message}): look at them"
            )
            return base

    async def _amend(self, base: Tree) -> Tree:
        last = await self.earlier.read_kept()
        before = self.earlier.base
        protection = await self.follow(self.protection, self.earlier)
        strict = protection.without_exceptions()
        found = unaccepted_changes(
            base,
            before,
            last,
            decides=lambda path: strict.guard(path) is not None,
            is_allowed=protection.is_exception,
            is_closed=self.earlier.is_closed,
        )
        # What the user allows is compared with the same, or nobody would hear that it is accepted now.
        put_back = (*found.left, *found.allowed)
        for path in put_back:
            if (entry := before.files.get(path)) is not None:
                await self.store.adopt(await self.earlier.content(entry), entry)
        amended = base.putting_back(put_back, before)
        if found.left:
            await self.undo.write(found.left, base, amended)
            self.store.remember(LEFT, json.dumps({"run": self.run_id, "paths": found.left}))
        self.warning = found.warning(self.run_id, self.undo.command)
        return amended


def left_in(store: GitProofStore) -> tuple[str, tuple[str, ...]]:
    """The unaccepted run that this one began after, and the files that it left; empty if there was none."""
    noted = json.loads(store.recall(LEFT) or "{}")
    return noted.get("run", ""), tuple(noted.get("paths", ()))
