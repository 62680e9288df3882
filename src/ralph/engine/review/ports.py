"""What a review asks of the world: checkouts of the reviewed commit, and what its files really contain."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol


class Checkout(Protocol):
    """One throw-away checkout, in use."""

    @property
    def top(self) -> Path: ...

    async def changes(self) -> Sequence[str]:
        """What somebody did there: files, and what became of its commits and branches, each as a word for people."""
        ...


class ReviewedCommit(Protocol):
    """The commit that is reviewed. Nothing here is read from where a session could have written."""

    def checkout(self) -> AbstractAsyncContextManager[Checkout]:
        """A folder with its files, a repository of its own, which is removed afterwards. Raises GitFailed."""
        ...

    async def lines(self, path: str) -> Sequence[str] | None:
        """Those of a file as it was committed; None if there is no such file."""
        ...
