"""A git worktree and a branch for each task: parallel tasks cannot get in each other's way."""

from __future__ import annotations

import asyncio
import contextlib
import filecmp
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from time import time

from ralph.adapters.files import make_private_folder
from ralph.adapters.git import Git
from ralph.adapters.workspace.nested_repositories import unsaved_repositories
from ralph.adapters.workspace.repository_lock import RepositoryLock, lock_folder
from ralph.domain.tasks.leftovers import is_made_again
from ralph.engine.tasks.ports import Removal, Worktree
from ralph.errors import GitFailed

BRANCHES = "ralph/"
FOLDER = "worktrees"
REMOVED = ".removed-"
"""Begins the name of what is being deleted: a kill in the middle leaves nothing that looks like a worktree."""
TRIES = 3
PAUSE = 0.2


class Worktrees:
    """All worktrees of one project, below ``<state folder>/worktrees``. Nothing of the work in one is ever discarded.

    ``folder``: where the project is in its repository. ``kept``: where files go that git ignores, and so does not merge.
    """

    def __init__(
        self,
        git: Git,
        state_folder: Path,
        *,
        kept: Path,
        folder: str = "",
        now: Callable[[], float] = time,
    ) -> None:
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
        worktree.workspace.mkdir(parents=True, exist_ok=True)  # git has no empty folders
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
        async with self._lock.held():
            await self._remove(self.place(name))

    async def discard_abandoned(self, prefix: str) -> None:
        """Remove those of our own that no living process uses, and what a killed removal left."""
        async with self._lock.held():
            for path in self._entries():
                if path.name.startswith(REMOVED):
                    await asyncio.to_thread(_delete, path)
                elif path.name.startswith(prefix) and (held := lock_folder(path)) is not None:
                    os.close(held)
                    await self._remove(path)

    # --- making ---

    async def _make(self, path: Path, *, start: str, branch: str = "") -> None:
        """An agent's own git may be making or pruning worktrees meanwhile, which git does not always survive."""
        make_private_folder(self._folder)
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
        marker = (path / ".git").read_text(encoding="utf-8", errors="surrogateescape")
        recorded = path / marker.removeprefix("gitdir:").strip()
        own = (self._git.root / common.text / "worktrees" / recorded.name).resolve()
        try:
            place = Path(
                (own / "gitdir").read_text(encoding="utf-8", errors="surrogateescape").strip()
            ).parent
        except OSError:
            return False
        if not common.ok or place.name != path.name:
            return False
        if not _same(recorded, own):
            (path / ".git").write_bytes(b"gitdir: " + os.fsencode(own) + b"\n")
            (own / "gitdir").write_bytes(os.fsencode(path / ".git") + b"\n")
        return True

    def _put_aside(self, path: Path) -> None:
        """Something is there that git does not know, left by a crash or by a person: keep it."""
        if path.is_dir() and not path.is_symlink() and not any(path.iterdir()):
            path.rmdir()
        elif path.exists() or path.is_symlink():
            shutil.move(path, path.with_name(f"{path.name}.left-{int(self._now())}"))

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

    async def _keep_ignored(self, path: Path, place: Path) -> tuple[str, ...]:
        """Move what git does not merge out of the worktree; returns the names of what was moved."""
        ignored = ("--others", "--ignored", "--exclude-standard", "--directory")
        listed = await self._git.at(path).must("ls-files", *ignored, "-z", "--", *self._git.at(path).not_own)
        top = Path((await self._git.must("rev-parse", "--show-toplevel")).out.rstrip("\n"))
        return await asyncio.to_thread(_move_away, listed.names, path, place, top)

    async def _remove(self, path: Path) -> None:
        """The folder loses its name at once, so that a kill leaves either all of it or nothing that counts."""
        gone = _rename(path)
        await self._git.run("worktree", "remove", "--force", "--force", str(path))
        await asyncio.to_thread(_delete, gone)

    def _entries(self) -> list[Path]:
        return sorted(self._folder.iterdir()) if self._folder.is_dir() else []


def _is_being_made(lock: Path) -> bool:
    try:
        return lock.read_text().startswith("initializing")
    except OSError:
        return False


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _move_away(ignored: Sequence[str], source: Path, place: Path, users: Path) -> tuple[str, ...]:
    """Except what is made again, links, and copies of what the user has already. Raises OSError."""
    moved = []
    for name in [each for one in ignored for each in _expand(source, one.rstrip("/"))]:
        file = source / name
        if file.is_symlink() or _is_copy(file, users / name):
            continue
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.move(file, next(_free(place / name)))
        moved.append(name)
    return tuple(moved)


def _expand(root: Path, name: str) -> Iterator[str]:
    """The files in a folder, without those that are made again; a repository stays whole."""
    path = root / name
    if is_made_again(name):
        return
    if path.is_symlink() or not path.is_dir() or (path / ".git").exists():
        yield name
        return
    for each in sorted(path.iterdir()):
        yield from _expand(root, f"{name}/{each.name}")


def _is_copy(one: Path, other: Path) -> bool:
    try:
        return one.is_file() and other.is_file() and filecmp.cmp(one, other, shallow=False)
    except OSError:
        return False


def _free(path: Path) -> Iterator[Path]:
    """Names like this one that are not taken."""
    names = (path if not number else path.with_name(f"{path.name}.{number}") for number in count())
    return (name for name in names if not name.exists() and not name.is_symlink())


def _rename(path: Path) -> Path:
    gone = next(_free(path.with_name(f"{REMOVED}{path.name}")))
    with contextlib.suppress(FileNotFoundError):
        path.rename(gone)
    return gone


def _delete(folder: Path) -> None:
    """As far as it can be; the rest is tried again by the next run."""

    def open_up(_: object, path: str, __: object) -> None:
        with contextlib.suppress(OSError):  # programs install folders that nobody may write to
            Path(path).parent.chmod(0o700)
            Path(path).chmod(0o700)
        shutil.rmtree(path, ignore_errors=True)
        with contextlib.suppress(OSError):
            Path(path).unlink()

    if folder.is_symlink() or folder.is_file():
        folder.unlink(missing_ok=True)
    elif folder.exists():
        shutil.rmtree(folder, onerror=open_up)
        shutil.rmtree(folder, ignore_errors=True)
