"""Repositories inside a worktree: git records only which commit of one is meant, never its files."""

from __future__ import annotations

from collections.abc import Mapping

from ralph.adapters.git import Git

LINK = "160000"
"""The mode with which git records a commit of another repository."""


async def new_repositories(git: Git, base: str) -> tuple[str, ...]:
    """Those in the work since ``base`` whose files would not be merged with it, and so be lost. Raises GitFailed.

    A submodule whose commit came from elsewhere is none of them: what is merged says where to get it.
    """
    listed = (await git.must("ls-files", "--others", "--exclude-standard", "-z", "--", *git.not_own)).names
    found = {name.rstrip("/") for name in listed if name.endswith("/")}  # git does not look into them
    before, now = await _links_of(git, base), await _links(git)
    declared = await _submodules(git) if now else set()
    for path, commit in now.items():
        if not _is_there(git, path):
            is_lost = path not in before
        else:
            is_known = before.get(path) == (await git.at(git.root / path).commit_of("HEAD") or commit)
            is_lost = not is_known and (path not in declared or not await _is_elsewhere(git, path))
        if is_lost:
            found.add(path)
    return tuple(sorted(found))


async def unsaved_repositories(git: Git) -> tuple[str, ...]:
    """Those with commits that are nowhere else. Raises GitFailed."""
    there = [path for path in await _links(git) if _is_there(git, path)]
    return tuple([path for path in there if not await _is_elsewhere(git, path)])


def _is_there(git: Git, path: str) -> bool:
    return (git.root / path / ".git").exists()


async def _links_of(git: Git, commit: str) -> Mapping[str, str]:
    listed = await git.must("ls-tree", "-r", "-z", "--full-tree", commit)
    entries = (entry.partition("\t") for entry in listed.names)
    return {path: about.split(" ")[2] for about, _, path in entries if about.startswith(LINK)}


async def _links(git: Git) -> Mapping[str, str]:
    """In the index: each with the commit that it means."""
    entries = (entry.partition("\t") for entry in (await git.must("ls-files", "--stage", "-z")).names)
    return {path: about.split(" ")[1] for about, _, path in entries if about.startswith(LINK)}


async def _submodules(git: Git) -> set[str]:
    ran = await git.run("config", "--file", ".gitmodules", "--null", "--get-regexp", r"^submodule\..*\.path$")
    return {entry.partition("\n")[2] for entry in ran.names}


async def _is_elsewhere(git: Git, path: str) -> bool:
    """What it has checked out came from another repository, or was brought there."""
    own = git.at(git.root / path)
    ran = await own.run("for-each-ref", "--count=1", "--contains", "HEAD", "refs/remotes/")
    return ran.ok and bool(ran.text)
