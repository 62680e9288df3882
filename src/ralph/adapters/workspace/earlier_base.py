"""What an unaccepted run left behind is not the user's: a new run compares it with what that run began with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ralph.adapters.workspace.proof_store import GitProofStore
from ralph.domain.proof.protection import Protection
from ralph.domain.proof.tree import Tree
from ralph.domain.proof.unaccepted_changes import unaccepted_changes
from ralph.errors import GitFailed

Follow = Callable[[Protection, GitProofStore], Awaitable[Protection]]


@dataclass(slots=True)
class EarlierBase:
    """``earlier``: the store of run ``run_id``, which was not accepted; ``warning`` is there after ``amend``."""

    run_id: str
    earlier: GitProofStore
    store: GitProofStore
    protection: Protection
    follow: Follow
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
        found = unaccepted_changes(
            base,
            before,
            last,
            decides=lambda path: protection.guard(path) is not None,
            is_closed=self.earlier.is_closed,
        )
        for path in found.left:
            if (entry := before.files.get(path)) is not None:
                await self.store.adopt(await self.earlier.content(entry), entry)
        self.warning = found.warning(self.run_id)
        return base.putting_back(found.left, before)
