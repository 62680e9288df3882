"""What the layers of proof need from the world."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from ralph.domain.proof.tree import Entry, Tree
from ralph.engine.ports import Commands
from ralph.values import dataclass


@dataclass(frozen=True, slots=True)
class Checkout:
    """``top`` has the files of a tree, ``workspace`` is where commands run.

    ``left_out``: what is in the user's folder but not here, because it is not part of the work and not the user's.
    """

    top: Path
    workspace: Path
    left_out: tuple[str, ...] = ()
    linked: tuple[Path, ...] = ()  # folders elsewhere that links in it lead to


class ProofStore(Protocol):
    """The trees of one run. All of it raises GitFailed if what it needs is not there or was forged."""

    @property
    def base(self) -> Tree:
        """What is compared with: the files that the work began with."""
        ...

    async def snapshot(self) -> Tree:
        """The files as they are: tracked, changed and new, but not ignored."""
        ...

    async def content(self, entry: Entry) -> bytes: ...

    async def write(self, entry: Entry, take: Callable[[bytes], object]) -> None:
        """Its content, of any size, piece by piece."""
        ...

    def checkout(self, tree: Tree) -> AbstractAsyncContextManager[Checkout]:
        """A folder with exactly these files, and what commands need besides; gone when the block ends."""
        ...

    async def altered(self, checkout: Checkout, tree: Tree, paths: Iterable[str]) -> list[str]:
        """Those of these files that are no longer in the checkout what they are in its tree."""
        ...

    async def find(self, pattern: str, *where: str) -> list[tuple[str, str]]:
        """What an extended regular expression finds in the texts of the base, each with its path; ``where``: patterns
        of paths."""
        ...

    async def list_above(self) -> list[str]:
        """Settings of test runners in the folders above a checkout that the run did not begin with: they would be found
        there."""
        ...

    def remember(self, name: str, text: str) -> None:
        """Keep a note for as long as the run can be resumed."""
        ...

    def recall(self, name: str, *, must: bool = False) -> str | None:
        """None if there is no such note; it is an error if it ``must`` be there, or is damaged."""
        ...


class CommitStore(ProofStore, Protocol):
    """One that knows the user's commits too."""

    @property
    def nested(self) -> tuple[str, ...]:
        """Folders of other repositories inside, submodules too, as the last snapshot found them; each ends with ``/``."""
        ...

    async def sha256(self, entry: Entry) -> str:
        """Of its content, of any size."""
        ...

    async def head(self) -> str:
        """The commit that is checked out; empty if there is none yet."""
        ...

    async def tree_of(self, commit: str) -> Tree:
        """The files of a commit of the user's."""
        ...

    async def as_committed(self, paths: Sequence[str]) -> Mapping[str, str]:
        """The object ids of these files if they were committed now: filters of the user's make something else of some."""
        ...


class Committer(Protocol):
    """Git in a tree where nobody else works."""

    async def unlock(self) -> None:
        """Remove the lock of a git that was killed."""
        ...

    async def commit_all(self, message: str) -> str:
        """The commit; empty if there was nothing to commit."""
        ...

    async def commit_of(self, name: str) -> str: ...


class Files(Protocol):
    """Text files in a checkout, and the logs of commands; ``top``: the folder below which no link is followed."""

    def read(self, file: Path, top: Path) -> str | None:
        """None if it is not there, or no text."""
        ...

    def write(self, file: Path, text: str, top: Path) -> None: ...


CommandsAt = Callable[[Checkout], AbstractAsyncContextManager[Commands]]
"""Runs commands in a checkout, confined as those of the run are."""
