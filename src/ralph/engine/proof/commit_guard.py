"""What is committed is what was judged: nothing that an index flag, a filter, an exclude or a late session made of it."""

from __future__ import annotations

from ralph.domain.proof.tree import Entry, Tree
from ralph.domain.sandbox.own_git import OWN
from ralph.engine.proof.ports import CommitStore
from ralph.engine.proof.proving import named

_OWN = frozenset(OWN)
_POINTER = b"version https://git-lfs.github.com/spec/"


class CommitGuard:
    """Compares what the work changed with what the commit says."""

    def __init__(self, store: CommitStore) -> None:
        self._store = store
        self._judged = Tree()

    async def note(self) -> None:
        """The files as they are before anything is committed."""
        self._judged = await self._store.snapshot()

    async def problem(self) -> str:
        """Empty if the last commit has what was noted. Raises GitFailed."""
        committed, base = await self._store.tree_of("HEAD"), self._store.base
        wrong = []
        for path in sorted(self._judged.differing(base)):
            if not is_part_of_work(path, self._store.nested):
                continue
            judged, found = self._judged.files.get(path), committed.files.get(path)
            # A file that was untracked before the run is the user's, and stays untracked.
            if judged == found or (found is None and path in base.files):
                continue
            if judged is None or found is None or not await is_filtered(self._store, judged, found):
                wrong.append(path)
        return f"the commit is not what was judged: {named(wrong)}" if wrong else ""


def is_part_of_work(path: str, nested: tuple[str, ...]) -> bool:
    """What is ralph's own is never committed; what is in another repository is committed there."""
    return _OWN.isdisjoint(path.split("/")) and not path.startswith(nested)


async def is_filtered(store: CommitStore, judged: Entry, found: Entry) -> bool:
    """Whether only line ends differ, or the commit has the pointer of a large file. Raises GitFailed."""
    committed = await store.content(found)
    if committed.startswith(_POINTER):
        return (await store.sha256(judged)).encode() in committed
    return (await store.content(judged)).replace(b"\r\n", b"\n") == committed.replace(b"\r\n", b"\n")
