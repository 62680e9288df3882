"""The files of one commit, as they were then, whatever has become of the working tree and the index."""

from __future__ import annotations

from collections.abc import Mapping

from ralph.adapters.git import Git


class BaseTree:
    """Raises GitFailed if the commit is not there."""

    def __init__(self, git: Git, commit: str) -> None:
        self._git = git
        self._commit = commit
        self._files: dict[str, str] | None = None

    async def files(self) -> Mapping[str, str]:
        """The object id of each file or link, by its path."""
        if self._files is None:
            ran = await self._git.must("ls-tree", "-r", "-z", "--full-tree", self._commit)
            self._files = dict(_entries(ran.out))
        return self._files

    async def content(self, object_id: str) -> bytes:
        ran = await self._git.must("cat-file", "blob", object_id)
        return ran.out.encode(errors="surrogateescape")


def _entries(listed: str) -> list[tuple[str, str]]:
    found = []
    for entry in filter(None, listed.split("\0")):
        about, _, path = entry.partition("\t")
        _, kind, object_id = about.split(" ")
        if kind == "blob":  # not a submodule
            found.append((path, object_id))
    return found
