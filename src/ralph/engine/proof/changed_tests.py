"""The changes of existing tests in one run: what somebody must look at, and what fresh eyes said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ralph.domain.loop.evidence import CheckResult
    from ralph.domain.proof.comparison import Finding
    from ralph.domain.proof.tree import Entry, Tree


class ChangedTests:
    """What is allowed is allowed as it is: a later change of the same file is looked at again."""

    def __init__(self) -> None:
        self.pending: tuple[Finding, ...] = ()
        self._allowed: dict[str, Entry | None] = {}
        self._denied: dict[tuple[object, ...], CheckResult] = {}

    def allow(self, path: str, tree: Tree) -> None:
        self._allowed[path] = tree.files.get(path)

    def allows(self, path: str, tree: Tree) -> bool:
        return path in self._allowed and self._allowed[path] == tree.files.get(path)

    def deny(self, found: Sequence[Finding], tree: Tree, task: str, answer: CheckResult) -> None:
        self._denied[(tuple(found), tree.digest, task)] = answer

    def denied(self, found: Sequence[Finding], tree: Tree, task: str) -> CheckResult | None:
        """What fresh eyes said about the same files and the same task: they are not asked twice."""
        return self._denied.get((tuple(found), tree.digest, task))
