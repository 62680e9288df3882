"""A job's seat on this machine, and how it travels. Implements the ``Seat`` port.

The commit point is one atomic push of record and branches, each with a lease: what was not pushed never happened, and whoever
was replaced is refused. Our git works from directories beside the clone (``store``, ``plain``), whose settings no session can
write; the clone itself is only read, by its files, once a session has been in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import time

from ralph.adapters import beneath, trees
from ralph.adapters.files import make_private_folder, write_private
from ralph.adapters.git import Git
from ralph.adapters.seats import leftovers
from ralph.adapters.seats.directories import (
    NO_CONFIGURATION,
    make_directory,
    make_plain_directory,
    write_packed_refs,
    write_ref,
)
from ralph.adapters.seats.heads import Checkout, Heads, read_heads
from ralph.adapters.seats.lock import Lock, take_lock
from ralph.adapters.seats.mirror import Mirror
from ralph.adapters.seats.objects import FILE, FOLDER, Entry, Known, Objects
from ralph.adapters.seats.record import FILE as RECORD_FILE
from ralph.adapters.seats.record import (
    MOST_BYTES,
    STATE,
    WORK,
    JobRecord,
    WorktreeRecord,
    damaged,
    decode_record,
    encode_record,
)
from ralph.adapters.seats.remote import FETCH, SECONDS, Move, NotMoved, Remote, unattended
from ralph.domain.fleet.job import JobSpec
from ralph.domain.fleet.shift import ShiftEnd
from ralph.domain.trust.pushed_to import without_login
from ralph.engine.fleet.ports import BaseMoved, Fenced, Found
from ralph.engine.ports import ProcessRunner
from ralph.errors import GitFailed, ServiceRefused, UsageError

LOCK_SECONDS = 10.0
MOVING_SECONDS = 1.0
TIDY_EVERY = 100
"""Saves, after which objects are packed, and those that no record needs are dropped."""
HEADS = "refs/heads/"
_BASE, _RECORD, _TIPS = "refs/seat/base", "refs/seat/record", "refs/seat/tips/"
_STATE_FOLDER = ".ralph"
_EXACT = "protocol.version=2"
"""With which a commit can be fetched by its name."""

Pack = Callable[[Path, Path], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where the clone stands. ``record``: the commit on the remote that it is exactly; empty: of a new job."""

    record: str
    job: JobRecord
    root: dict[str, Entry] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A push, complete: tried again, it is the very same."""

    asked: ShiftEnd
    end: ShiftEnd
    standing: Standing
    moves: tuple[Move, ...]
    is_warm: bool


class GitSeat:
    """``pack``, ``unpack``: of ralph's record of runs, as plain files. ``known``: which of them the store has."""

    def __init__(
        self,
        folder: Path,
        job: JobSpec,
        *,
        worker: str,
        runner: ProcessRunner,
        mirror: Mirror,
        pack: Pack,
        unpack: Pack,
        known: Known,
    ) -> None:
        self.folder = folder
        self.project = folder / "project"
        self.shift = folder / "shift"
        self._job, self._worker, self._runner, self._mirror = job, worker, runner, mirror
        self._pack, self._unpack, self._known = pack, unpack, known
        self._note = folder / "seat.json"
        self._store, self._plain, self._packed = folder / "store", folder / "plain", folder / "packed"
        self._lock: Lock | None = None
        self._at: Standing | None = None
        self._branch = ""  # of the job, as the remote had it
        self._base = ""  # as the clone was given it
        self._caught = ""  # the base, if this shift may move it
        self._prepared: _Prepared | None = None

    # --- the port ---

    async def open(self) -> Found:
        try:
            return await self._open()
        except BaseException as error:
            self._release()  # whoever tries again need not wait until this one is forgotten
            if isinstance(error, OSError):
                raise self._unusable(error) from error
            raise

    async def take(self) -> None:
        at = self._standing
        try:
            self._note.unlink(missing_ok=True)  # from now on the clone is no record's
            if at.job.holder == self._worker:
                return
            job = replace(at.job, holder=self._worker)
            taken = self._commit(
                job,
                at.root,
                [at.record or self._base],
                f"ralph: {self._worker} takes job {self._job.id}",
            )
        except OSError as error:
            raise self._unusable(error) from error
        try:
            await self._remote.push([Move(self._job.record, at.record, taken.record)])
        except NotMoved:
            raise Fenced from None
        self._at = taken

    async def catch_up(self) -> None:
        base = f"{HEADS}{self._standing.job.base}"
        now = (await self._remote.ask([base])).get(base, "")
        if not now:
            raise self._no_base(self._standing.job.base)
        try:
            if read_heads(self.project).refs.get(base) != now:
                await self._fast_forward(base, now)
        except OSError as error:
            raise self._unusable(error) from error
        self._caught = now

    async def save(self, end: ShiftEnd) -> ShiftEnd:
        try:
            if self._prepared is None or self._prepared.asked != end:
                self._prepared = await self._prepare(end)
            prepared = self._prepared
            await self._push(prepared)
            self._at = prepared.standing
            if prepared.is_warm:
                self._keep_note()
                await self._tidy(prepared.end.turn)
            self._release()
        except OSError as error:
            raise self._unusable(error) from error
        return prepared.end

    async def forget(self) -> None:
        with suppress(OSError):
            self._note.unlink(missing_ok=True)
        self._release()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    # --- opening ---

    async def _open(self) -> Found:
        make_private_folder(self.folder)
        self._release()
        self._prepared, self._caught = None, ""
        self._lock = await take_lock(
            self.folder / "lock", seconds=LOCK_SECONDS, what=f"the seat of job {self._job.id}"
        )
        branch = f"{HEADS}{self._job.branch}"
        known = self._read_note()
        base = self._job.base or ("" if known is None else known.job.base)
        asked = (self._job.record, branch, f"{HEADS}{base}" if base else "HEAD")
        for pause in (MOVING_SECONDS, 0.0):
            now = await self._ask(*asked)
            if known is None or now.get(self._job.record, "") != known.record:
                known = await self._restore(now, base)
            if now.get(branch, "") in ("", known.job.tip):
                break
            # A push of whoever was here before may be under way: refs of one push are not seen to move at once.
            await asyncio.sleep(pause)
        assert known is not None
        self._require_own(now.get(branch, ""), known)
        self._at, self._branch = known, now.get(branch, "")
        self._keep_note()
        return Found(project=self.project, end=known.job.end)

    async def _ask(self, *refs: str) -> dict[str, str]:
        make_private_folder(self._mirror.folder.parent)
        return await self._mirror.asked.ask(refs)

    def _require_own(self, tip: str, known: Standing) -> None:
        """A person may push to the job's branch, but then it is not ralph's to overwrite."""
        if not tip or tip == known.job.tip:
            return
        where = f"{self._job.branch} of {self._mirror.remote.name}"
        if known.job.tip:
            message = f"somebody else has moved the branch {where}: ralph left it at {known.job.tip[:12]}, it is at {tip[:12]}"
            hint = f"keep those commits elsewhere, delete {self._job.branch} there, then `ralph fleet retry {self._job.id}`"
        else:
            message = f"there is a branch {where} already, which is not this job's"
            hint = "delete it there, or submit the job under another name"
        raise ServiceRefused(message, hint=hint)

    async def _restore(self, now: dict[str, str], base: str) -> Standing:
        """The clone as the record has it, or as a new job begins. What was here is thrown away, but for ignored files."""
        base = base or now.get("HEAD:", "").removeprefix(HEADS)
        tip = now.get(f"{HEADS}{base}") or now.get("HEAD", "")
        if not tip:
            raise self._no_base(base)
        had_files = await asyncio.to_thread(self._clear, tip)
        standing, commit = Standing(record="", job=JobRecord(base=base, refs={})), now.get(self._job.record)
        git = self.project / ".git"
        tags = await self._mirror.bring(f"{HEADS}{base}", tip, git)
        write_ref(self._store, _BASE, tip)
        if commit:
            await self._remote.fetch(f"+{self._job.record}:{_RECORD}")
            standing = await self._read_record(commit)
            await self._give_clone(standing)
        self._base = tip
        job = standing.job
        refs = job.refs or {f"{HEADS}{base if self._job.is_task else self._job.branch}": tip}
        write_packed_refs(git, {**tags, f"refs/remotes/origin/{base}": tip, **refs})
        first = job.worktrees[0] if job.worktrees else WorktreeRecord(branch=next(iter(refs)), head=tip)
        await self._check_out(first, had_files=had_files)
        if STATE in standing.root:
            await self._bring_state(standing)
        for one in job.worktrees[1:]:
            what = (one.branch.removeprefix(HEADS),) if one.branch else ("--detach", one.head)
            await self._own(self.project).must(
                "worktree", "add", "--quiet", "--force", str(self.project / one.path), *what
            )
        for number, one in enumerate(job.worktrees):
            if one.is_dirty:
                await self._bring_leftovers(standing, number, one)
        return standing

    def _clear(self, like: str) -> bool:
        """Gives whether files are left."""
        self._known.clear()
        self._note.unlink(missing_ok=True)
        mine = (self._store, self._plain, self._packed, self.shift)
        inner = (self.project / ".git", self.project / _STATE_FOLDER)
        indexes = [
            self.folder / name for name in beneath.list_names(self.folder) if name.startswith("index-")
        ]
        for path in (*mine, *inner, *indexes):
            trees.remove_tree(path)
        had_files = self.project.is_dir() and not self.project.is_symlink()
        if not had_files:
            trees.remove_tree(self.project)
        make_private_folder(self.project)
        make_private_folder(self.shift)
        make_directory(self._store, like=like, objects=self._mirror.objects)
        make_plain_directory(self._plain, like=like)
        address = without_login(self._job.repository).replace("\\", "\\\\").replace('"', '\\"')
        origin = f'[remote "origin"]\n\turl = "{address}"\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n'
        make_directory(self.project / ".git", like=like, is_bare=False, settings=origin)
        return had_files

    async def _read_record(self, commit: str) -> Standing:
        listed = await self._git.must("ls-tree", "-z", commit)
        root: dict[str, Entry] = {}
        for line in listed.names:
            about, _, name = line.partition("\t")
            mode, _, id_ = about.split(" ")
            root[name] = Entry(mode.lstrip("0"), id_)
        if RECORD_FILE not in root:
            raise damaged(self._job, f"there is no {RECORD_FILE} in it")
        ran = await self._git.must("cat-file", "blob", root[RECORD_FILE].id, most=MOST_BYTES)
        return Standing(record=commit, job=decode_record(ran.output, self._job), root=root)

    async def _give_clone(self, standing: Standing) -> None:
        """The commits of the job; not its record, which is not the agent's to read."""
        job = standing.job
        tips = {*job.refs.values(), *(id_ for one in job.worktrees for id_ in (one.head, *one.merging))}
        for number, one in enumerate(job.worktrees):
            if one.merging and one.is_dirty:
                stages = await self._git.run(
                    "rev-parse", "--verify", "--quiet", f"{standing.record}:{WORK}/{number}/stages"
                )
                tips |= {stages.text} if stages.ok else set()
        await self._copy_objects(sorted(tips))

    async def _copy_objects(self, names: Sequence[str]) -> None:
        """From our store into the clone, by a git that does not obey the clone."""
        if not names:
            return
        objects = self.project / ".git" / "objects"
        write_ref(self._plain, _BASE, await self._git.commit_of(_BASE))
        git = self._neutral(self._plain, GIT_OBJECT_DIRECTORY=str(objects))
        specs = [f"+{name}:{_TIPS}{number}" for number, name in enumerate(names)]
        ran = await git.run(*FETCH, "--no-tags", "--", str(self._store), *specs, configuration=(_EXACT,))
        if not ran.ok:
            raise damaged(self._job, f"not all commits that it names are there ({ran.why.splitlines()[-1]})")

    async def _check_out(self, one: WorktreeRecord, *, had_files: bool) -> None:
        head = f"ref: {one.branch}" if one.branch else one.head
        beneath.write_atomic(self.project / ".git" / "HEAD", f"{head}\n", self.project)
        git = self._own(self.project)
        await git.must("reset", "--quiet", "--hard")
        if had_files:
            await git.must("clean", "-ffdq")

    async def _bring_state(self, standing: Standing) -> None:
        make_private_folder(self._packed)
        git = self._neutral(self._packed, GIT_INDEX_FILE=str(self.folder / "index-state"))
        await git.must("read-tree", standing.root[STATE].id)
        await git.must("checkout-index", "--all", "--force", "--quiet")
        await asyncio.to_thread(self._unpack, self._packed, self.project / _STATE_FOLDER)

    async def _bring_leftovers(self, standing: Standing, number: int, one: WorktreeRecord) -> None:
        top = self.project / one.path
        plain = self._neutral(top, GIT_INDEX_FILE=str(self.folder / "index-files"))
        trees.remove_tree(self.folder / "index-files")
        own = read_heads(self.project).checkouts
        directory = next((found.folder for found in own if found.path == one.path), None)
        if directory is not None:
            kept = f"{standing.record}:{WORK}/{number}"
            await leftovers.restore(
                plain, self._own(top), kept, self.folder, directory=directory, merging=one.merging
            )

    # --- catching up ---

    async def _fast_forward(self, base: str, now: str) -> None:
        await self._remote.fetch(f"+{base}:{_BASE}")
        await self._copy_objects([now])
        git = self.project / ".git"
        beneath.remove(git / "index.lock", git)  # of a git that was killed
        tree = self._trusted(self.project, GIT_INDEX_FILE=str(git / "index"))
        await tree.must("read-tree", "--reset", "-u", now)
        write_ref(git, base, now)
        self._base = now

    # --- saving ---

    async def _prepare(self, end: ShiftEnd) -> _Prepared:
        at = self._standing
        heads = read_heads(self.project)
        await self._take_commits(heads)
        objects = self._objects
        files: dict[str, Entry] = {}
        worktrees: list[WorktreeRecord] = []
        is_warm = True
        for number, one in enumerate(heads.checkouts):
            head = one.head or self._earlier_head(one.path)
            changed, git = await self._changed(number, one, head)
            kept = await asyncio.to_thread(leftovers.put_changed, objects, git.root, changed)
            merging = one.merging
            if merging:
                kept |= await leftovers.put_merge(objects, self._clones_index(one), one, self.project)
            if end.outcome and not self._job.is_task and not number and kept:
                parents = [head] if "unmerged" in kept else [head, *merging]
                head = await self._commit_left(git, changed, parents)
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
        merged = await self._merged(heads)
        asked, end = end, replace(end, worker=self._worker, commit=tip, merged=merged or end.merged)
        job = JobRecord(
            turn=end.turn,
            holder=self._worker,
            base=at.job.base,
            tip=tip,
            refs=heads.refs,
            worktrees=tuple(worktrees),
            end=end,
        )
        root: dict[str, Entry] = {}
        if (self.project / _STATE_FOLDER).is_dir():
            root[STATE] = Entry(FOLDER, await asyncio.to_thread(self._put_state, objects))
        if files:
            root[WORK] = Entry(FOLDER, await asyncio.to_thread(objects.put_paths, files))
        tips = [*job.refs.values(), *(id_ for one in worktrees for id_ in (one.head, *one.merging))]
        saved = self._commit(
            job,
            root,
            [at.record or self._base, *tips],
            f"ralph: job {self._job.id}, step {end.turn}",
        )
        moves = [Move(self._job.record, at.record, saved.record)]
        if tip and tip != self._branch:
            moves.append(Move(f"{HEADS}{self._job.branch}", self._branch, tip))
        if merged:
            moves.append(Move(f"{HEADS}{job.base}", self._caught, merged))
        return _Prepared(asked, end, saved, tuple(moves), is_warm)

    async def _push(self, prepared: _Prepared) -> None:
        try:
            await self._remote.push(prepared.moves)
        except NotMoved as moved:
            record, *others = prepared.moves
            if moved.now.get(record.ref, "") != record.old:
                raise Fenced from None
            for move in others:
                if move.ref == f"{HEADS}{prepared.standing.job.base}" and moved.now.get(move.ref) != move.old:
                    raise BaseMoved from None
            tip = moved.now.get(f"{HEADS}{self._job.branch}", "")
            message = f"somebody else has moved the branch {self._job.branch} of {self._mirror.remote.name} to {tip[:12] or 'nothing'}"
            hint = f"keep those commits elsewhere, delete {self._job.branch} there, then `ralph fleet retry {self._job.id}`"
            raise ServiceRefused(message, hint=hint) from None
        for move in prepared.moves:
            if move.ref == f"{HEADS}{self._job.branch}":
                self._branch = move.new

    async def _take_commits(self, heads: Heads) -> None:
        """Into our store. They are fetched, not shared: a session can write objects of any name."""
        job = self._standing.job
        known = {self._base, self._caught, *job.refs.values()}
        known |= {id_ for one in job.worktrees for id_ in (one.head, *one.merging)}
        wanted = {
            *heads.refs.values(),
            *(id_ for one in heads.checkouts for id_ in (one.head, *one.merging) if id_),
        }
        if not (new := sorted(wanted - known)):
            return
        specs = [f"+{name}:{_TIPS}{number}" for number, name in enumerate(new)]
        fetch = (*FETCH, "--no-tags", "--", str(self.project / ".git"), *specs)
        ran = await self._git.run(*fetch, configuration=(_EXACT,))
        if not ran.ok:
            message = f"the commits of job {self._job.id} cannot be read from {self.project}: {ran.why.splitlines()[-1]}"
            raise GitFailed(message, hint="a session may have damaged its repository: retry the job")

    async def _changed(self, number: int, one: Checkout, head: str) -> tuple[list[tuple[str, str]], Git]:
        """What is not committed, by an index of our own: the clone's may hide changes."""
        index = self.folder / f"index-{number}"
        noted = self.folder / f"index-{number}.head"
        git = self._trusted(self.project / one.path, GIT_INDEX_FILE=str(index), GIT_OPTIONAL_LOCKS="1")
        write_private(self._store / "HEAD", f"{head}\n".encode())
        beneath.remove(self.folder / f"index-{number}.lock")
        if not index.exists() or (beneath.read_whole(noted, 100) or b"").decode() != head:
            await git.must("read-tree", *(("-m", "-i") if index.exists() else ()), head)
            write_private(noted, head.encode())
        return await leftovers.list_changed(git), git

    async def _commit_left(self, git: Git, changed: list[tuple[str, str]], parents: list[str]) -> str:
        """As the user's git would commit it, filters applied."""
        listing = self.folder / "entries"
        write_private(listing, b"".join(path.encode(errors="surrogateescape") + b"\0" for _, path in changed))
        await git.must("update-index", "--add", "--remove", "-z", "--stdin", stdin=listing)
        tree = (await git.must("write-tree")).text
        message = f"Keep what was not committed when the job ended\n\nralph made this commit: job {self._job.id} ended, and these files were not in any commit."
        return self._objects.put_commit(tree, parents, message, at=int(time()))

    def _tip(self, worktrees: Sequence[WorktreeRecord]) -> str:
        """Of a task: of its worktree, once it has one."""
        if not self._job.is_task:
            return worktrees[0].head
        return next((one.head for one in worktrees[1:] if one.branch.startswith(f"{HEADS}ralph/")), "")

    async def _merged(self, heads: Heads) -> str:
        """The commit that the base moves to; empty: it does not move."""
        base = f"{HEADS}{self._standing.job.base}"
        now = heads.refs.get(base, "")
        if not self._caught or not now or now == self._caught:
            return ""
        if not await self._git.is_ancestor(self._caught, now):
            message = f"the base {self._standing.job.base} was rewritten in {self.project}: it is not pushed"
            raise GitFailed(message, hint=f"retry the job: `ralph fleet retry {self._job.id}`")
        return now

    def _put_state(self, objects: Objects) -> str:
        make_private_folder(self._packed)
        self._pack(self.project / _STATE_FOLDER, self._packed)
        return objects.put_folder(self._packed, self._known)

    def _commit(
        self, job: JobRecord, root: dict[str, Entry], parents: Sequence[str], message: str
    ) -> Standing:
        objects = self._objects
        root = {**root, RECORD_FILE: Entry(FILE, objects.put("blob", encode_record(job)))}
        commit = objects.put_commit(objects.put_tree(root), parents, message, at=int(time()))
        return Standing(record=commit, job=job, root=root)

    def _earlier_head(self, path: str) -> str:
        worktrees = self._standing.job.worktrees
        return next((one.head for one in worktrees if one.path == path), self._base)

    async def _tidy(self, turn: int) -> None:
        write_ref(self._store, _RECORD, self._standing.record)
        if turn % TIDY_EVERY == 0:
            await self._git.run("gc", "--quiet", "--prune=now")

    # --- what is here ---

    @property
    def _standing(self) -> Standing:
        if self._at is None:
            message = f"the seat of job {self._job.id} is not open"
            raise RuntimeError(message)
        return self._at

    @property
    def _objects(self) -> Objects:
        return Objects(self._store / "objects", self._standing.record or self._base)

    @property
    def _remote(self) -> Remote:
        return Remote(self._git, self._job.repository)

    @property
    def _git(self) -> Git:
        return self._at_folder(self._store, {"GIT_DIR": str(self._store), **unattended()})

    def _trusted(self, top: Path, **environment: str) -> Git:
        """In a checkout, with the user's own settings and none of the clone's."""
        return self._at_folder(top, {"GIT_DIR": str(self._store), "GIT_WORK_TREE": str(top), **environment})

    def _neutral(self, top: Path, **environment: str) -> Git:
        """Writes content as it is."""
        objects = {"GIT_OBJECT_DIRECTORY": str(self._store / "objects")}
        places = {"GIT_DIR": str(self._plain), "GIT_WORK_TREE": str(top)}
        return self._at_folder(top, {**places, **objects, **NO_CONFIGURATION, **environment})

    def _clones_index(self, one: Checkout) -> Git:
        objects = str(self.project / ".git" / "objects")
        return self._neutral(
            self.project / one.path,
            GIT_INDEX_FILE=str(one.folder / "index"),
            GIT_ALTERNATE_OBJECT_DIRECTORIES=objects,
        )

    def _own(self, top: Path) -> Git:
        """The clone's: only before a session has been in it."""
        return Git(top, self._runner, is_top=True, seconds=SECONDS)

    def _at_folder(self, top: Path, environment: dict[str, str]) -> Git:
        hint = f"a seat can be made again: remove {self.folder}"
        return Git(top, self._runner, seconds=SECONDS, environment=environment, hint=hint)

    def _read_note(self) -> Standing | None:
        import msgspec

        data = beneath.read_whole(self._note, MOST_BYTES)
        try:
            noted = None if data is None else msgspec.json.decode(data, type=_Noted)
        except msgspec.DecodeError:
            return None
        if noted is None or noted.repository != self._job.repository:
            return None
        self._base = noted.base
        return noted.standing

    def _keep_note(self) -> None:
        import msgspec

        noted = _Noted(self._job.repository, self._base, self._standing)
        beneath.write_atomic(self._note, msgspec.json.encode(noted))

    def _no_base(self, base: str) -> UsageError:
        name = self._mirror.remote.name
        if not base:
            return UsageError(
                f"the repository {name} has no branch to begin from", hint="push a first commit there"
            )
        return UsageError(f"the repository {name} has no branch {base}", hint="name another with --base")

    def _unusable(self, error: OSError) -> GitFailed:
        where = error.filename or self.folder
        return GitFailed(
            f"cannot use {where}: {error.strerror or error}", hint=f"see what is in {self.folder}"
        )


@dataclass(frozen=True, slots=True)
class _Noted:
    """``seat.json``: which record the clone is exactly."""

    repository: str
    base: str
    standing: Standing
