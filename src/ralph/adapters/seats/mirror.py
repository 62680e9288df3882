"""A repository's commits on this machine, for all jobs on it: what one has fetched, the next need not fetch."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection
from hashlib import sha256
from pathlib import Path

from ralph.adapters import beneath, trees
from ralph.adapters.files import make_private_folder
from ralph.adapters.git import Git
from ralph.adapters.seats.directories import make_directory
from ralph.adapters.seats.lock import take_lock, try_lock
from ralph.adapters.seats.remote import SECONDS, Remote, unattended
from ralph.engine.ports import ProcessRunner

MOST_PACKS = 50
UNUSED_SECONDS = 30 * 86_400.0
"""After which a mirror is removed: it is made again if it is needed."""


class Mirror:
    """Bare, with the bases of jobs and the tags on them. No agent sees it, and every fetch is into it or around it."""

    def __init__(self, home: Path, address: str, runner: ProcessRunner) -> None:
        self.folder = home / f"{sha256(address.encode(errors='surrogateescape')).hexdigest()[:32]}.git"
        self._lock = self.folder.with_suffix(".lock")
        self._git = Git(
            self.folder,
            runner,
            seconds=SECONDS,
            environment={"GIT_DIR": str(self.folder), **unattended()},
            hint=f"if it is damaged, remove {self.folder}: it is made again",
        )
        self.remote = Remote(self._git, address)
        # A question needs no repository, and so no kind of ids.
        outside = Git(home, runner, is_top=True, seconds=SECONDS, environment=unattended())
        self.asked = Remote(outside, address)

    @property
    def objects(self) -> Path:
        return self.folder / "objects"

    async def bring(self, base: str, commit: str, clone: Path) -> dict[str, str]:
        """Have the commit of a branch, and put all objects into a clone, which gets its own: it is an agent's to damage.
        Gives the tags. Raises GitFailed, and what a fetch raises."""
        make_private_folder(self.folder.parent)
        lock = await take_lock(self._lock, seconds=SECONDS, what=f"the mirror of {self.remote.name}")
        try:
            os.utime(self._lock)  # when it was used last
            if not (self.folder / "HEAD").exists():
                make_directory(self.folder, like=commit)
            if not await self._git.commit_of(commit):
                for name in (base, "packed-refs"):  # of a git that was killed
                    beneath.remove(self.folder / f"{name}.lock")
                await self.remote.fetch(f"+{base}:{base}", options=())
                await self._tidy()
            await asyncio.to_thread(_copy_all, self.objects, clone / "objects")
            listed = await self._git.must("for-each-ref", "--format=%(objectname) %(refname)", "refs/tags")
        finally:
            lock.release()
        return {name: commit for commit, _, name in (line.partition(" ") for line in listed.out.splitlines())}

    async def _tidy(self) -> None:
        """Nothing is dropped: seats may use what no branch has any more."""
        packs = [name for name in beneath.list_names(self.objects / "pack") if name.endswith(".pack")]
        if len(packs) > MOST_PACKS:
            await self._git.run("repack", "-a", "-d", "-k", "-q")


def sweep_mirrors(home: Path, used: Collection[Path], *, now: float) -> None:
    """Remove those that nobody has used for long. ``used``: folders of objects that seats look into. Raises OSError."""
    try:
        names = beneath.list_names(home)
    except FileNotFoundError:
        return
    for folder in (home / name for name in names if name.endswith(".git")):
        lock = None if folder / "objects" in used else try_lock(file := folder.with_suffix(".lock"))
        if lock is None:
            continue
        try:
            if now - file.stat().st_mtime > UNUSED_SECONDS:
                trees.remove_tree(folder)
        finally:
            lock.release()


def _copy_all(folder: Path, copy: Path) -> None:
    trees.remove_tree(copy)
    trees.copy(folder, copy)
