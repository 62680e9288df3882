"""A job arrives at a seat: the clone is made as its record on the remote has it, or as a new job begins."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ralph.adapters import beneath, trees
from ralph.adapters.files import make_private_folder
from ralph.adapters.seats import leftovers
from ralph.adapters.seats.directories import (
    make_directory,
    make_plain_directory,
    write_packed_refs,
    write_ref,
)
from ralph.adapters.seats.folder import BASE, EXACT, HEADS, RECORD, STATE_FOLDER, TIPS, SeatFolder
from ralph.adapters.seats.heads import read_heads
from ralph.adapters.seats.mirror import Mirror
from ralph.adapters.seats.objects import Entry
from ralph.adapters.seats.record import FILE as RECORD_FILE
from ralph.adapters.seats.record import (
    MOST_BYTES,
    STATE,
    WORK,
    JobRecord,
    WorktreeRecord,
    damaged,
    decode_record,
)
from ralph.adapters.seats.remote import FETCH, require_room
from ralph.adapters.seats.standing import Standing
from ralph.domain.fleet.job import JobSpec
from ralph.domain.text.safe_text import clean_line
from ralph.domain.trust.pushed_to import without_login
from ralph.errors import DamagedRecord, UsageError
from ralph.values import dataclass


@dataclass(frozen=True, slots=True)
class Arrival:
    """``unpack``: of ralph's record of runs, from plain files."""

    folder: SeatFolder
    job: JobSpec
    mirror: Mirror
    unpack: Callable[[Path, Path], object]

    async def make_clone(
        self, now: Mapping[str, str], base: str, *, keeps_ignored: bool
    ) -> tuple[Standing, str]:
        """Where it stands, and the commit of its base. ``now``: what the remote has. What was here is thrown away, but for
        ignored files if they are to be kept: those of a session that was not saved may be traps for the next."""
        folder = self.folder
        base = base or now.get("HEAD:", "").removeprefix(HEADS)
        tip = now.get(f"{HEADS}{base}") or now.get("HEAD", "")
        if not tip:
            raise self.no_base(base)
        had_files = await asyncio.to_thread(self._clear, tip, keeps_ignored=keeps_ignored)
        tags = await self.mirror.bring(f"{HEADS}{base}", tip, folder.clone)
        write_ref(folder.store, BASE, tip)
        standing = Standing(record="", job=JobRecord.of(self.job, base))
        if commit := now.get(self.job.record):
            await folder.remote.fetch(f"+{self.job.record}:{RECORD}")
            standing = await self._read_record(commit)
            await self._give_clone(standing)
        job = standing.job
        refs = job.refs or {f"{HEADS}{base if self.job.is_task else self.job.branch}": tip}
        write_packed_refs(folder.clone, {**tags, f"refs/remotes/origin/{base}": tip, **refs})
        first = job.worktrees[0] if job.worktrees else WorktreeRecord(branch=next(iter(refs)), head=tip)
        await self._check_out(first, had_files=had_files)
        if STATE in standing.root:
            await self._bring_state(standing)
        for one in sorted(job.worktrees[1:], key=lambda one: one.path):  # one may lie in another
            what = (one.branch.removeprefix(HEADS),) if one.branch else ("--detach", one.head)
            place = folder.project / one.path
            trees.make_room(place, folder.project)  # git would follow a link on the way
            await folder.own(folder.project).must("worktree", "add", "--quiet", "--force", str(place), *what)
        for number, one in enumerate(job.worktrees):
            if one.is_dirty:
                await self._bring_leftovers(standing, number, one)
        return standing, tip

    async def bring_base(self, base: str, now: str) -> None:
        """Into a clone that a session has been in. ``now``: where the remote has this ref."""
        git = self.folder.clone
        await self.folder.remote.fetch(f"+{base}:{BASE}")
        await self._require_plain_state(now)
        await self._copy_objects([now])
        beneath.remove(git / "index.lock", git)  # of a git that was killed
        tree = self.folder.trusted(self.folder.project, GIT_INDEX_FILE=str(git / "index"))
        await tree.must("read-tree", "--reset", "-u", now)
        write_ref(git, base, now)

    def no_base(self, base: str) -> UsageError:
        name = self.mirror.remote.name
        if not base:
            return UsageError(
                f"the repository {name} has no branch to begin from", hint="push a first commit there"
            )
        return UsageError(f"the repository {name} has no branch {base}", hint="name another with --base")

    async def _require_plain_state(self, commit: str) -> None:
        """Raises UsageError. What a commit has in ralph's own folder is believed, and written to: no link may be there."""
        listed = await self.folder.git.must("ls-tree", "-r", "-z", "--full-tree", commit, "--", STATE_FOLDER)
        for line in listed.names:
            about, _, name = line.partition("\t")
            if name == STATE_FOLDER or not about.startswith("100"):
                what = (
                    "a link"
                    if about.startswith("120")
                    else "no folder"
                    if name == STATE_FOLDER
                    else "no plain file"
                )
                message = (
                    f"{clean_line(name)} of commit {commit[:12]} is {what}, and ralph keeps its record there"
                )
                raise UsageError(message, hint=f"remove it from the repository: git rm {shlex.quote(name)}")

    def _clear(self, like: str, *, keeps_ignored: bool) -> bool:
        """Gives whether files are left."""
        folder = self.folder
        folder.note.unlink(missing_ok=True)
        mine = (folder.store, folder.plain, folder.packed, folder.shift)
        indexes = [
            folder.path / name for name in beneath.list_names(folder.path) if name.startswith("index-")
        ]
        for path in (*mine, folder.clone, folder.state, *indexes):
            trees.remove_tree(path)
        had_files = folder.project.is_dir() and not folder.project.is_symlink()
        if not had_files or not keeps_ignored:
            had_files = False
            trees.remove_tree(folder.project)
        make_private_folder(folder.project)
        make_private_folder(folder.shift)
        make_directory(folder.store, like=like, objects=self.mirror.objects)
        make_plain_directory(folder.plain, like=like)
        address = without_login(self.job.repository).replace("\\", "\\\\").replace('"', '\\"')
        origin = f'[remote "origin"]\n\turl = "{address}"\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n'
        make_directory(folder.clone, like=like, is_bare=False, settings=origin)
        return had_files

    async def _read_record(self, commit: str) -> Standing:
        listed = await self.folder.git.must("ls-tree", "-z", commit)
        root: dict[str, Entry] = {}
        for line in listed.names:
            about, _, name = line.partition("\t")
            mode, _, id_ = about.split(" ")
            root[name] = Entry(mode.lstrip("0"), id_)
        if RECORD_FILE not in root:
            raise damaged(self.job, f"there is no {RECORD_FILE} in it")
        ran = await self.folder.git.must("cat-file", "blob", root[RECORD_FILE].id, most=MOST_BYTES)
        return Standing(record=commit, job=decode_record(ran.output, self.job), root=root)

    async def _give_clone(self, standing: Standing) -> None:
        """The commits of the job; not its record, which is not the agent's to read."""
        job = standing.job
        tips = {*job.tips}
        for number, one in enumerate(job.worktrees):
            if one.merging and one.is_dirty:
                stages = await self.folder.git.run(
                    "rev-parse", "--verify", "--quiet", f"{standing.record}:{WORK}/{number}/stages"
                )
                tips |= {stages.text} if stages.ok else set()
        await self._copy_objects(sorted(tips))

    async def _copy_objects(self, names: Sequence[str]) -> None:
        """From our store into the clone, by a git that does not obey the clone."""
        if not names:
            return
        folder = self.folder
        write_ref(folder.plain, BASE, await folder.git.commit_of(BASE))
        git = folder.neutral(folder.plain, GIT_OBJECT_DIRECTORY=str(folder.clone / "objects"))
        specs = [f"+{name}:{TIPS}{number}" for number, name in enumerate(names)]
        ran = await git.run(*FETCH, "--no-tags", "--", str(folder.store), *specs, configuration=(EXACT,))
        if not ran.ok:
            require_room(ran, self.mirror.remote.name)
            raise damaged(self.job, f"not all commits that it names are there ({ran.why.splitlines()[-1]})")

    async def _check_out(self, one: WorktreeRecord, *, had_files: bool) -> None:
        await self._require_plain_state(one.head)
        folder = self.folder
        head = f"ref: {one.branch}" if one.branch else one.head
        beneath.write_atomic(folder.clone / "HEAD", f"{head}\n", folder.project)
        git = folder.own(folder.project)
        await git.must("reset", "--quiet", "--hard")
        if had_files:
            await git.must("clean", "-ffdq")

    async def _bring_state(self, standing: Standing) -> None:
        folder = self.folder
        make_private_folder(folder.packed)
        git = folder.neutral(folder.packed, GIT_INDEX_FILE=str(folder.path / "index-state"))
        await git.must("read-tree", standing.root[STATE].id)
        await git.must("checkout-index", "--all", "--force", "--quiet")
        try:
            await asyncio.to_thread(self.unpack, folder.packed, folder.state)
        except DamagedRecord as error:
            raise damaged(self.job, error.message) from None

    async def _bring_leftovers(self, standing: Standing, number: int, one: WorktreeRecord) -> None:
        folder = self.folder
        top = folder.project / one.path
        plain = folder.neutral(top, GIT_INDEX_FILE=str(folder.path / "index-files"))
        trees.remove_tree(folder.path / "index-files")
        checkouts = read_heads(folder.project).checkouts
        directory = next((found.folder for found in checkouts if found.path == one.path), None)
        if directory is not None:
            kept = f"{standing.record}:{WORK}/{number}"
            if (await folder.git.run("cat-file", "-e", f"{kept}/changed/{STATE_FOLDER}")).ok:
                raise damaged(self.job, f"it has a {STATE_FOLDER} among the files that were not committed")
            await leftovers.restore(
                plain, folder.own(top), kept, folder.path, directory=directory, merging=one.merging
            )
