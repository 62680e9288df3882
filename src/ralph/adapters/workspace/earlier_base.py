"""What an unaccepted run left behind is not the user's: a new run compares it with what that run began with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass

from ralph.adapters.workspace.proof_store import GitProofStore
from ralph.domain.proof.protection import Protection
from ralph.domain.proof.tree import Tree
from ralph.errors import GitFailed

SHOWN = 5

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
        changed = sorted(path for path in base.differing(before) if protection.guard(path) is not None)
        left = [path for path in changed if base.files.get(path) == last.files.get(path)]
        unknown = [] if self.earlier.is_closed else [path for path in changed if path not in left]
        entries = [before.files[path] for path in left if path in before.files]
        for entry in entries:
            await self.store.adopt(await self.earlier.content(entry), entry)
        self.warning = _tell(self.run_id, left, unknown)
        return base.putting_back(left, before)


def _tell(run_id: str, left: Collection[str], unknown: Collection[str]) -> str:
    said = []
    if left:
        said.append(
            f"run {run_id} changed {_names(left)} and was not accepted: compared with what was there before it. "
            f"To keep the changes: --allow-test-changes PATTERN; to undo them: git checkout; "
            f"to continue that run: ralph resume {run_id}"
        )
    if unknown:
        said.append(
            f"{_names(unknown)} changed during or since run {run_id}, which was not accepted: look at them"
        )
    return "; ".join(said)


def _names(paths: Collection[str]) -> str:
    shown = ", ".join(list(paths)[:SHOWN])
    return f"{shown} and {len(paths) - SHOWN} more" if len(paths) > SHOWN else shown
