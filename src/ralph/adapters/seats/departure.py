"""A shift departs from a seat: what the clone is becomes a record, and a push that is complete before it is tried."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import time

from ralph.adapters import beneath
from ralph.adapters.files import make_private_folder, write_private
from ralph.adapters.git import Git
from ralph.adapters.seats import leftovers
from ralph.adapters.seats.folder import EXACT, HEADS, TIPS, SeatFolder
from ralph.adapters.seats.heads import Checkout, Heads, read_heads
from ralph.adapters.seats.objects import FILE, FOLDER, Entry, Known
from ralph.adapters.seats.record import FILE as RECORD_FILE
from ralph.adapters.seats.record import STATE, WORK, JobRecord, WorktreeRecord, encode_record, is_id
from ralph.adapters.seats.remote import FETCH, Move
from ralph.adapters.seats.standing import Standing
from ralph.domain.fleet.job import JobSpec
from ralph.domain.fleet.shift import ShiftEnd
from ralph.errors import GitFailed
from ralph.values import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Tips:
    """Where branches of the remote were when the seat was opened. ``base``: as the clone was given it. ``caught``: the same, if
    this shift may move it, else empty. ``branch``: of the job; empty: it is not there."""

    base: str
    caught: str
    branch: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """A push, complete: tried again, it is the very same. ``is_warm``: the clone is as the record has it."""

    asked: ShiftEnd
    end: ShiftEnd
    standing: Standing
    moves: tuple[Move, ...]
    is_warm: bool


@dataclass(frozen=True, slots=True)
class Departure:
    """``pack``: of ralph's record of runs, as plain files. ``known``: which of them the store has."""

    folder: SeatFolder
    job: JobSpec
    worker: str
    pack: Callable[[Path, Path], object]
    known: Known

    async def prepare(self, end: ShiftEnd, at: Standing, tips: Tips) -> Prepared:
        heads = read_heads(self.folder.project, first=at.job.refs)
        objects = self.folder.objects(tips.base)
        await self._take_commits(heads, at, tips, end.merged)
        moved = [*heads.refs.values()]  # what else a session has moved stays in the record's history
        merged = await self._merged(end, tips)
        heads, is_warm = self._with_base(heads, at.job, merged or tips.caught, tips.base)
        files: dict[str, Entry] = {}
        worktrees: list[WorktreeRecord] = []
        for number, one in enumerate(heads.checkouts):
            head = one.head or _earlier_head(at.job, one.path) or tips.base
            changed, git = await self._changed(number, one, head)
            kept = await asyncio.to_thread(leftovers.put_changed, objects, git.root, changed)
            merging = one.merging
            if merging:
                index = self.folder.clones_index(one)
                kept |= await leftovers.put_merge(objects, index, one, self.folder.project)
            if end.outcome and not self.job.is_task and not number and kept:
                parents = [head] if "unmerged" in kept else [head, *merging]
                head = await self._commit_left(git, changed, parents, like=tips.base)
                if one.branch:
                    heads.refs[one.branch] = head
                kept, merging, is_warm = {}, (), False
            files |= {f"{number}/{path}": entry for path, entry in kept.items()}
            worktrees.append(
                WorktreeRecord(
                    path=one.path, branch=one.branch, head=head, merging=merging, is_dirty=bool(kept)
                )
            )
        tip = self._tip(worktrees) or at.job.tip
        before = at.job.end or ShiftEnd()
        asked, end = end, replace(end, worker=self.worker, commit=tip, merged=merged or before.merged)
        job = replace(
            at.job,
            turn=end.turn,
            holder=self.worker,
            tip=tip,
            refs=heads.refs,
            worktrees=tuple(worktrees),
            end=end,
        )
        root: dict[str, Entry] = {}
        if self.folder.state.is_dir():
            root[STATE] = Entry(FOLDER, await asyncio.to_thread(self._put_state, tips.base))
        if files:
            root[WORK] = Entry(FOLDER, await asyncio.to_thread(objects.put_paths, files))
        parents = [at.record or tips.base, *job.tips, *moved]
        saved = self.commit(job, root, parents, f"ralph: job {self.job.id}, step {end.turn}")
        moves = [Move(self.job.record, at.record, saved.record)]
        if tip and tip != tips.branch:
            moves.append(Move(f"{HEADS}{self.job.branch}", tips.branch, tip))
        if merged and merged != tips.caught:
            moves.append(Move(f"{HEADS}{job.base}", tips.caught, merged))
        return Prepared(asked, end, saved, tuple(moves), is_warm)

    def commit(
        self, job: JobRecord, root: Mapping[str, Entry], parents: Sequence[str], message: str
    ) -> Standing:
        """A record, not pushed yet."""
        objects = self.folder.objects(parents[0])
        whole = {**root, RECORD_FILE: Entry(FILE, objects.put("blob", encode_record(job)))}
        commit = objects.put_commit(objects.put_tree(whole), parents, message, at=int(time()))
        return Standing(record=commit, job=job, root=whole)

    async def _take_commits(self, heads: Heads, at: Standing, tips: Tips, merged: str) -> None:
        """Into our store. They are fetched, not shared: a session can write objects of any name."""
        known = {tips.base, tips.caught, *at.job.tips}
        wanted = {
            *heads.refs.values(),
            *(id_ for one in heads.checkouts for id_ in (one.head, *one.merging) if id_),
            *(id_ for id_ in (merged,) if tips.caught and is_id(id_)),
        }
        if not (new := sorted(wanted - known)):
            return
        specs = [f"+{name}:{TIPS}{number}" for number, name in enumerate(new)]
        fetch = (*FETCH, "--no-tags", "--", str(self.folder.clone), *specs)
        ran = await self.folder.git.run(*fetch, configuration=(EXACT,))
        if not ran.ok:
            message = f"the commits of job {self.job.id} cannot be read from {self.folder.project}: {ran.why.splitlines()[-1]}"
            raise GitFailed(message, hint="a session may have damaged its repository: retry the job")

    async def _merged(self, end: ShiftEnd, tips: Tips) -> str:
        """What ralph says that it has merged, one step from the base that it was given; empty: nothing. Where the clone's branch
        is says nothing: whatever runs there can move it."""
        if not tips.caught or not end.merged:
            return ""
        if end.merged == tips.caught:  # nothing had to be changed
            return end.merged
        if is_id(end.merged):
            ran = await self.folder.git.run("rev-parse", "--verify", "--quiet", f"{end.merged}^1")
            if ran.ok and ran.text == tips.caught:
                return end.merged
        message = f"what job {self.job.id} has merged does not follow from the base as it was given: it is not pushed"
        raise GitFailed(message, hint=f"something has moved the branch in {self.folder.project} meanwhile")

    def _with_base(self, heads: Heads, job: JobRecord, place: str, begun: str) -> tuple[Heads, bool]:
        """Of a task: the base where only ralph puts it, checked out; and whether it was so. What a session has committed there
        instead of in its worktree is not the task's work."""
        base = f"{HEADS}{job.base}"
        place = place or job.refs.get(base, begun)
        first, *others = heads.checkouts
        if not self.job.is_task or (first.branch == base and first.head == place):
            return heads, True
        first = replace(first, branch=base, head=place, merging=(), is_as_committed=True)
        return Heads({**heads.refs, base: place}, (first, *others)), False

    async def _changed(self, number: int, one: Checkout, head: str) -> tuple[list[tuple[str, str]], Git]:
        """What is not committed, by an index of our own: the clone's may hide changes."""
        folder = self.folder
        index = folder.path / f"index-{number}"
        noted = folder.path / f"index-{number}.head"
        top = folder.project / one.path
        git = folder.trusted(top, GIT_INDEX_FILE=str(index), GIT_OPTIONAL_LOCKS="1")
        if one.is_as_committed:
            return [], git
        write_private(folder.store / "HEAD", f"{head}\n".encode())
        beneath.remove(folder.path / f"index-{number}.lock")
        if not index.exists() or (beneath.read_whole(noted, 100) or b"").decode() != head:
            await git.must("read-tree", *(("-m", "-i") if index.exists() else ()), head)
            write_private(noted, head.encode())
        return await leftovers.list_changed(git), git

    async def _commit_left(
        self, git: Git, changed: Sequence[tuple[str, str]], parents: Sequence[str], *, like: str
    ) -> str:
        """As the user's git would commit it, filters applied."""
        listing = self.folder.path / "entries"
        write_private(listing, b"".join(path.encode(errors="surrogateescape") + b"\0" for _, path in changed))
        await git.must("update-index", "--add", "--remove", "-z", "--stdin", stdin=listing)
        tree = (await git.must("write-tree")).text
        message = f"Keep what was not committed when the job ended\n\nralph made this commit: job {self.job.id} ended, and these files were not in any commit."
        return self.folder.objects(like).put_commit(tree, parents, message, at=int(time()))

    def _put_state(self, like: str) -> str:
        make_private_folder(self.folder.packed)
        self.pack(self.folder.state, self.folder.packed)
        return self.folder.objects(like).put_folder(self.folder.packed, self.known)

    def _tip(self, worktrees: Sequence[WorktreeRecord]) -> str:
        """Of a task: of its worktree, once it has one."""
        if not self.job.is_task:
            return worktrees[0].head
        return next((one.head for one in worktrees[1:] if one.branch.startswith(f"{HEADS}ralph/")), "")


def _earlier_head(job: JobRecord, path: str) -> str:
    return next((one.head for one in job.worktrees if one.path == path), "")
