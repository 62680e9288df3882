"""A git worktree and a branch for each task: parallel tasks cannot get in each other's way."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from time import time

from ralph.adapters import beneath, trees
from ralph.adapters.files import make_private_folder, real_path
from ralph.adapters.git import Git
from ralph.adapters.workspace.leftovers import UNLIKE, free_names, move_away, states_of
from ralph.adapters.workspace.nested_repositories import unsaved_repositories
from ralph.adapters.workspace.repository_lock import RepositoryLock, lock_folder
from ralph.adapters.workspace.setup_marks import FOLDER as MARKS
from ralph.adapters.workspace.setup_marks import SetupMarks
from ralph.engine.tasks.ports import Removal, Worktree
from ralph.errors import GitFailed

BRANCHES = "ralph/"
FOLDER = "worktrees"
REMOVED = ".removed-"
"""Begins the name of what is being deleted: a kill in the middle leaves nothing that looks like a worktree."""
MOST_BYTES = 100_000
TRIES = 3
PAUSE = 0.2


async def nothing_to_clear_up(_path: Path) -> None:
    """Most worktrees hold nothing but files."""


class Worktrees:
    """All worktrees of one project, below ``<state folder>/worktrees``. Nothing of the work in one is ever discarded.

    ``folder``: where the project is in its repository. ``kept``: where files go that git ignores, and so does not merge.
    ``tear_down``: what to do in one, by its path, before it is removed.
    """

    def __init__(
        self,
        git: Git,
        state_folder: Path,
        *,
        kept: Path,
        folder: str = "",
        tear_down: Callable[[Path], Awaitable[None]] = nothing_to_clear_up,
        now: Callable[[], float] = time,
    ) -> None:
        self.marks = SetupMarks(state_folder / MARKS)
        self._tear_down = tear_down
        self._git = git
        self._folder = state_folder / FOLDER
        self._kept = kept
        self._project = folder
        self._now = now
        self._lock = RepositoryLock(git)

    def place(self, name: str) -> Path:
        return self._folder / name

    async def names(self) -> list[str]:
        """Of all that are there, whole or in part."""
        listed = await self._git.run("for-each-ref", "--format=%(refname)", f"refs/heads/{BRANCHES}")
        branches = {line.removeprefix(f"refs/heads/{BRANCHES}") for line in listed.text.splitlines()}
        return sorted({path.name for path in self._entries() if not path.name.startswith(REMOVED)} | branches)

    async def open(self, name: str, *, start: str, base: str = "") -> Worktree:
        """The worktree of a task, made from ``start`` unless it has one already (of an earlier run)."""
        path, branch = self.place(name), f"{BRANCHES}{name}"
        begin = await self._git.commit_of(start)
        if not begin:
            message = f"{start} is not a commit"
            raise GitFailed(message, hint="make a first commit: tasks are worked on in branches of it")
        if await self._is_worktree(path):
            await self._git.at(path).unlock()
        else:
            async with self._lock.held():
                await self._make(path, branch=branch, start=begin)
        worktree = Worktree(path, branch, base or await self._base(branch, begin), self._project)
        make_project_folder(path, self._project)
        return worktree

    async def detached(self, name: str, commit: str) -> Path:
        """A clean worktree at ``commit``, on no branch. For our own use only."""
        path = self.place(name)
        if await self._is_worktree(path):
            git = self._git.at(path)
            await git.unlock()
            await git.must("checkout", "--quiet", "--force", "--detach", commit)  # also out of a merge
            await git.must("clean", "-ffdqx")
        else:
            async with self._lock.held():
                await self._make(path, start=commit)
        return path

    async def close(self, worktree: Worktree, *, merged_into: str) -> Removal:
        """Remove worktree and branch of work that is merged, but keep what git ignores."""
        path, branch = worktree.path, f"refs/heads/{worktree.branch}"
        place = self._kept / path.name
        kept: tuple[str, ...] = ()
        try:
            if await self._is_worktree(path) and not await self._unmerged(path, merged_into):
                await self._tear_down(path)
        except GitFailed as error:  # the work is merged, whatever becomes of its tree
            return Removal(why=error.message, place=place)
        async with self._lock.held():
            if await self._git.commit_of(branch) and not await self._git.is_ancestor(branch, merged_into):
                return Removal(why=f"{worktree.branch} is not in {merged_into}")
            try:
                if not await self._is_worktree(path):
                    self._put_aside(path)
                elif why := await self._unmerged(path, merged_into):
                    return Removal(why=why)
                else:
                    kept = await self._keep_ignored(path, place)
                await self._remove(path)
            except (GitFailed, OSError) as error:
                return Removal(why=str(error), kept=kept, place=place)
            await self._git.run("branch", "-D", worktree.branch)
        return Removal(is_removed=True, kept=kept, place=place)

    async def discard(self, name: str) -> None:
        """Remove one of our own, whatever is in it."""
        if self.place(name).is_dir():
            await self._tear_down(self.place(name))
        async with self._lock.held():
            await self._remove(self.place(name))

    async def discard_abandoned(self, prefix: str) -> None:
        """Remove those of our own that no living process uses, and what a killed removal left."""
        async with self._lock.held():
            for path in self._entries():
                if path.name.startswith(REMOVED):
                    await self._delete(path)
                elif path.name.startswith(prefix) and (held := lock_folder(path)) is not None:
                    os.close(held)
                    await self._remove(path)

    # --- making ---

    async def _make(self, path: Path, *, start: str, branch: str = "") -> None:
        """An agent's own git may be making or pruning worktrees meanwhile, which git does not always survive."""
        make_private_folder(self._folder)
        self.marks.forget(path.name)
        for left in reversed(range(TRIES)):
            await self._git.run("worktree", "remove", "--force", "--force", str(path))  # half of one
            self._put_aside(path)
            ran = await self._git.run("worktree", "add", "--quiet", *await self._what(path, start, branch))
            if ran.ok:
                return
            if not left:
                message = f"git cannot make the worktree {path}: {ran.why}"
                raise GitFailed(message, hint="`git worktree list` shows what git knows")
            await asyncio.sleep(PAUSE)

    async def _what(self, path: Path, start: str, branch: str) -> tuple[str, ...]:
        if not branch:
            return ("--detach", str(path), start)
        if await self._git.commit_of(f"refs/heads/{branch}"):
            return ("--force", str(path), branch)
        return ("--no-track", "-b", branch, str(path), start)

    async def _base(self, branch: str, start: str) -> str:
        ran = await self._git.run("merge-base", f"refs/heads/{branch}", start)
        return ran.text if ran.ok else start

    async def _is_worktree(self, path: Path) -> bool:
        """A whole one: while git makes it, and if it was killed then, it is locked."""
        if not (path / ".git").is_file() or not await self._is_connected(path):
            return False
        ran = await self._git.at(path).run("rev-parse", "--show-toplevel", "--git-path", "locked")
        if not ran.ok:
            return False
        top, lock = ran.out.rstrip("\n").rsplit("\n", 1)
        return _same(Path(top), path) and not _is_being_made(path / lock)

    async def _is_connected(self, path: Path) -> bool:
        """To this repository. Git keeps absolute paths, which lead elsewhere once the project was moved or copied: in a
        copy, even to the original.
        """
        common = await self._git.run("rev-parse", "--git-common-dir")
        marker = _read(path / ".git")
        recorded = path / marker.removeprefix("gitdir:").strip()
        if not common.ok or not marker or "\0" in marker:
            return False
        own = real_path(self._git.root / common.text / "worktrees" / recorded.name)
        place = Path(_read(own / "gitdir").strip()).parent
        if place.name != path.name:
            return False
        if not _same(recorded, own):
            beneath.write_atomic(path / ".git", b"gitdir: " + os.fsencode(own) + b"\n", path)
            beneath.write_atomic(own / "gitdir", os.fsencode(path / ".git") + b"\n", own)
        return True

    def _put_aside(self, path: Path) -> None:
        """Something is there that git does not know, left by a crash or by a person: keep it."""
        with contextlib.suppress(OSError):  # unless there is something in it
            beneath.remove_folder(path, self._folder)
        if beneath.status(path, self._folder) is not None:
            aside = next(self._free(f"{path.name}.left-{int(self._now())}"))
            trees.move(path, aside, self._folder, self._folder)

    # --- removing ---

    async def _unmerged(self, path: Path, merged_into: str) -> str:
        """What would be lost with the worktree; empty: nothing. What is only deleted in it is in its commits."""
        git = self._git.at(path)
        deleted = (await git.must("diff", "--name-only", "-z", "--diff-filter=D", "HEAD")).names
        if changed := set(await git.changed()) - set(deleted):
            return f"it holds uncommitted changes: {', '.join(sorted(changed)[:5])}"
        if not await git.is_ancestor("HEAD", merged_into):
            return f"what it has checked out is not in {merged_into}"
        if nested := await unsaved_repositories(git):
            return f"it holds commits of {', '.join(nested)} that are nowhere else"
        return ""

    async def ignored(self, path: Path) -> dict[str, str]:
        """What git does not merge and no program makes again by itself: each file with its state, which no writing to it
        leaves as it was."""
        ignored = ("--others", "--ignored", "--exclude-standard", "--directory")
        listed = await self._git.at(path).must("ls-files", *ignored, "-z", "--", *self._git.at(path).not_own)
        return await asyncio.to_thread(states_of, listed.names, path)

    async def _keep_ignored(self, path: Path, place: Path) -> tuple[str, ...]:
        """Move what git does not merge out of the worktree, but for what setting it up made; returns the names of what was
        moved."""
        made = self.marks.made(path.name)
        names = [
            name
            for name, state in (await self.ignored(path)).items()
            if state == UNLIKE or made.get(name) != state
        ]
        top = Path((await self._git.must("rev-parse", "--show-toplevel")).out.rstrip("\n"))
        return await asyncio.to_thread(move_away, names, path, place, top)

    async def _remove(self, path: Path) -> None:
        """The folder loses its name at once, so that a kill leaves either all of it or nothing that counts."""
        self.marks.forget(path.name)
        gone = next(self._free(f"{REMOVED}{path.name}"))
        with contextlib.suppress(FileNotFoundError):
            trees.move(path, gone, self._folder, self._folder)
        await self._git.run("worktree", "remove", "--force", "--force", str(path))
        await self._delete(gone)

    async def _delete(self, folder: Path) -> None:
        """As far as it can be; the rest is tried again by the next run."""
        with contextlib.suppress(OSError):
            await asyncio.to_thread(trees.remove_tree, folder, self._folder)

    def _free(self, name: str) -> Iterator[Path]:
        """Names like this one that are not taken."""
        return free_names(self._folder / name, self._folder)

    def _entries(self) -> list[Path]:
        try:
            return [self._folder / name for name in beneath.list_names(self._folder, self._folder)]
        except OSError:
            return []


def make_project_folder(tree: Path, folder: str) -> Path:
    """Where the project is in a working tree: git has no empty folders. Raises GitFailed.

    Work that was merged may have put a link there: whoever works in it would work, and write, somewhere else.
    """
    try:
        beneath.make_folder(tree / folder, tree)
    except OSError as error:
        message = f"the project's folder {folder} cannot be made in {tree}: {error.strerror or error}"
        raise GitFailed(message, hint="a commit made it something else than a folder: undo that") from error
    return tree / folder


def _read(file: Path) -> str:
    """Empty: it cannot be read."""
    return (beneath.read_whole(file, MOST_BYTES, file.parent) or b"").decode(errors="surrogateescape")


def _is_being_made(lock: Path) -> bool:
    return _read(lock).startswith("initializing")


def _same(one: Path, other: Path) -> bool:
    return real_path(one) == real_path(other)
