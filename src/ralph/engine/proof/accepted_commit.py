"""The last thing before a role's work is accepted: it is committed, and the commit is exactly what was judged."""

from __future__ import annotations

from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.feedback import Feedback
from ralph.domain.proof.layer_names import LayerName
from ralph.domain.proof.tree import LINK, Tree
from ralph.engine.ports import Judging, When
from ralph.engine.proof.commit_guard import is_filtered, is_part_of_work
from ralph.engine.proof.layers import Layer
from ralph.engine.proof.ports import CommitStore, Committer
from ralph.engine.proof.proving import Proving, named


class AcceptedCommit(Layer):
    """Commits what the session left: no work is discarded, and ``commit`` is all that may ever be merged."""

    name = LayerName.COMMIT
    when = When.BEFORE_ACCEPT

    def __init__(
        self, proving: Proving, store: CommitStore, git: Committer, *, is_compared: bool = True
    ) -> None:
        """``is_compared``: nothing that git leaves out or makes of a file is trusted."""
        super().__init__(proving)
        self._store = store
        self._git = git
        self._is_compared = is_compared
        self.commit = ""

    async def _prove(self, tree: Tree, judging: Judging) -> CheckResult:
        await self._git.unlock()
        made = await self._git.commit_all(f"{judging.assignment.key}: what the session left uncommitted")
        commit = made or await self._git.commit_of("HEAD")
        if self._is_compared and (wrong := await self._unlike(tree, await self._store.tree_of(commit))):
            reason = f"the commit is not what was judged: {named(wrong)}"
            return CheckResult(
                self.name, Verdict.FAILED, feedback=Feedback(TOLD.format(reason)), reason=reason
            )
        self.commit = commit
        return CheckResult(
            self.name,
            Verdict.PASSED,
            reason=f"committed {made[:12]}" if made else "nothing was left to commit",
        )

    async def _unlike(self, judged: Tree, committed: Tree) -> list[str]:
        """Files of which the commit has something else. What a filter of the user's makes of a file is the same file."""
        differing = [
            path for path in sorted(judged.differing(committed)) if is_part_of_work(path, self._store.nested)
        ]
        filtered = await self._store.as_committed(
            [path for path in differing if self._looks_untouched(path, judged, committed)]
        )
        wrong = []
        for path in differing:
            one, other = judged.files.get(path), committed.files.get(path)
            is_same = (
                one is not None
                and other is not None
                and (filtered.get(path) == other.object_id or await is_filtered(self._store, one, other))
            )
            if not is_same:
                wrong.append(path)
        return wrong

    def _looks_untouched(self, path: str, judged: Tree, committed: Tree) -> bool:
        """The commit has the file as the work began with it, but it is checked out as something else."""
        one, other = judged.files.get(path), committed.files.get(path)
        is_file = one is not None and one.mode != LINK
        return is_file and other is not None and other == self._store.base.files.get(path)


TOLD = "{}. Undo whatever hides changes from git, and end whatever still writes to files."
