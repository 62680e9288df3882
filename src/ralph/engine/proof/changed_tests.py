"""The changes of existing tests in one run: what somebody must look at, and what fresh eyes allowed."""

from __future__ import annotations

from ralph.domain.proof.comparison import Finding
from ralph.domain.proof.tree import Entry, Tree


class ChangedTests:
    """What is allowed is allowed as it is: a later change of the same file is looked at again."""

    def __init__(self) -> None:
        self.pending: tuple[Finding, ...] = ()
        self._allowed: dict[str, Entry | None] = {}

    def allow(self, path: str, tree: Tree) -> None:
        self._allowed[path] = tree.files.get(path)

    def allows(self, path: str, tree: Tree) -> bool:
        return path in self._allowed and self._allowed[path] == tree.files.get(path)
