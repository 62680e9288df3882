"""What is committed is what was judged: nothing that an index flag, a filter, an exclude or a late session made of it."""

from __future__ import annotations

from ralph.domain.loop.feedback import Feedback
from ralph.domain.proof.comparison import summary
from ralph.domain.proof.tree import Entry, Tree
from ralph.domain.sandbox.own_git import OWN
from ralph.engine.ports import ActionResult
from ralph.engine.proof.comparison import ComparisonCheck
from ralph.engine.proof.ports import CommitStore
from ralph.engine.proof.proving import named
from ralph.errors import GitFailed

_OWN = frozenset(OWN)
BEGAN = "began"
"""The note that says which commit the work began with; empty: there was none."""
_POINTER = b"version https://git-lfs.github.com/spec/"


class CommitGuard:
    """Compares what the work changed with what the commit says, and keeps out what nobody has looked at."""

    def __init__(self, store: CommitStore, comparison: ComparisonCheck) -> None:
        self._store = store
        self._comparison = comparison
        self._judged = Tree()
        self._began = Tree()

    async def begin(self) -> None:
        """Know the commit that the work began with. Raises GitFailed."""
        if (commit := self._store.recall(BEGAN)) is None:
            commit = await self._store.head()
            self._store.remember(BEGAN, commit)
        self._began = await self._store.tree_of(commit) if commit else Tree()

    async def objection(self) -> ActionResult | None:
        """Why nothing may be committed or pushed now. A green iteration without a claim has been compared with nothing."""
        try:
            found = await self._comparison.compare()
        except GitFailed as error:
            return ActionResult(False, error.message)
        if found.denied:
            told = Feedback(self._comparison.tell(found.denied))
            return ActionResult(False, f"not committed: {summary(found.denied, ())}", feedback=told)
        if found.pending:
            paths = list(dict.fromkeys(one.path for one in found.pending))
            verbs = "was changed and is" if len(paths) == 1 else "were changed and are"
            return ActionResult(
                True, f"not committed: {named(paths)} {verbs} reviewed when the work is claimed"
            )
        return None

    async def note(self) -> None:
        """The files as they are before anything is committed."""
        self._judged = await self._store.snapshot()

    async def problem(self, *, is_whole: bool = True) -> str:
        """Empty if the last commit has what was noted. Raises GitFailed.

        ``is_whole``: nothing should be uncommitted. Else only what was committed and taken back in the files is wrong.
        """
        committed, base = await self._store.tree_of("HEAD"), self._store.base
        wrong = []
        for path in sorted(self._judged.differing(committed)):
            if not is_part_of_work(path, self._store.nested):
                continue
            judged, found = self._judged.files.get(path), committed.files.get(path)
            before = self._began.files.get(path)
            is_touched = judged != base.files.get(path)
            # Neither was touched: the user hides it from git, or a filter makes something else of it.
            if (not is_touched and found == before) or (is_touched and not is_whole):
                continue
            # A file that was untracked before the run is the user's, and stays untracked.
            if found is None and path in base.files and before is None:
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
