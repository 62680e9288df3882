"""Who holds which workspace, in the database: one holder at most, even if several ask at the same time."""

from __future__ import annotations

import json
import shlex
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple
from pathlib import Path
from time import gmtime, strftime

from ralph.adapters.storage.database import StartedOf, path_of, store_errors, transaction
from ralph.adapters.storage.liveness import is_gone, silence, watch_signs
from ralph.adapters.storage.places import folder_id, is_same_folder, located, recorded
from ralph.adapters.storage.session_loops import session_hold
from ralph.domain.holder import SILENT, Hold, Mode, Owner
from ralph.errors import WorkspaceBusy
from ralph.values import dataclass

READ = "SELECT workspace, mode, run_id, pid, process_started, boot_id, host, since, details FROM claims ORDER BY since"
TAKE = """INSERT OR REPLACE INTO claims
    (workspace, mode, run_id, pid, process_started, boot_id, host, since, details)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"""
FOLDER = "folder"
"""Among the details of a claim: which folder it was made in. A copy of the folder has a copy of the claim."""
RELEASE = """DELETE FROM claims
    WHERE workspace = ? AND pid = ? AND process_started = ? AND boot_id = ? AND host = ?"""

# A child run shares the workspace of its parent, without a claim of its own, and may outlive it.
LIVE_RUNS = """SELECT root, id, pid, process_started, boot_id, host, started_at FROM runs
    WHERE outcome IS NULL AND pid <> 0 ORDER BY started_at"""

ELSEWHERE = """SELECT run_id FROM claims WHERE host <> :host AND run_id <> ''
    UNION SELECT id FROM runs WHERE outcome IS NULL AND pid <> 0 AND host <> :host"""

# UNION, not UNION ALL: it ends even if the line of parents was made a circle.
IS_IN_LINE = """WITH RECURSIVE line (id) AS (
        SELECT ? UNION SELECT runs.parent_id FROM runs JOIN line ON runs.id = line.id
    ) SELECT 1 FROM line WHERE id = ?"""


class Claims:
    """The claims as this process sees them. A claim whose process has died counts for nothing.

    A workspace is held by whoever claims it, and by every run that is still under way in it. It is the same one by
    whatever path it is reached.
    """

    def __init__(self, database: sqlite3.Connection, *, me: Owner, started_of: StartedOf) -> None:
        self._database = database
        self._path = path_of(database)
        self._project = self._path.parent.parent
        self._me = me
        self._started_of = started_of
        self._moving: frozenset[str] = frozenset()  # runs of other machines that were seen to live

    def take(
        self,
        workspace: str,
        mode: Mode,
        *,
        run_id: str = "",
        now: float,
        details: Mapping[str, object] | None = None,
        inherited: str = "",
    ) -> bool:
        """Hold the workspace from now on, or raise WorkspaceBusy, even if this process itself holds it already.

        ``inherited`` is the run that started this process: the workspace is shared with it, not owned (False).
        """
        key = recorded(Path(workspace), self._project)
        values = (
            key,
            mode,
            run_id,
            *astuple(self._me),
            now,
            json.dumps({**(details or {}), FOLDER: folder_id(self._path.parent)}),
        )
        self._watch_others()
        with store_errors(self._path), transaction(self._database):
            # Under the write lock: of two processes that find a stale claim only one takes it over.
            if holders := self._holders(workspace):
                if any(self.covers(holder, inherited) for holder in holders):
                    return False
                raise _busy(holders[0], here=self._me, database=self._path)
            self._database.execute(TAKE, values)
        return True

    def _watch_others(self) -> None:
        """What would be taken from another machine is watched for a moment: its clock may differ from ours."""
        with store_errors(self._path):
            rows = self._database.execute(ELSEWHERE, {"host": self._me.host}).fetchall()
        silent = {run_id for (run_id,) in rows if abs(silence(self._path.parent, run_id) or 0.0) > SILENT}
        self._moving = watch_signs(self._path.parent, silent) if silent else frozenset()

    @contextmanager
    def holding(
        self, workspace: str, mode: Mode, *, run_id: str = "", now: float, inherited: str = ""
    ) -> Iterator[bool]:
        """``take`` for the duration of the block; what was not taken is not released."""
        is_owner = self.take(workspace, mode, run_id=run_id, now=now, inherited=inherited)
        try:
            yield is_owner
        finally:
            if is_owner:
                self.release(workspace)

    def release(self, workspace: str, mode: Mode | None = None) -> bool:
        """Remove this process's own claim (if it is in ``mode``). False: there was none."""
        condition, values = ("", ()) if mode is None else (" AND mode = ?", (mode,))
        with store_errors(self._path):
            key = recorded(Path(workspace), self._project)
            removed = self._database.execute(RELEASE + condition, (key, *astuple(self._me), *values))
        return removed.rowcount > 0

    def holder(self, workspace: str) -> Hold | None:
        """The holder, if there is one and its process is alive."""
        return next(iter(self._holders(workspace)), None)

    def _holders(self, workspace: str) -> list[Hold]:
        """Whoever claims it, then the runs that outlived the claim that they shared, then the loop of a session."""
        folder = Path(workspace)
        claims, copied = self._claims()
        runs = [run for run in self._live_runs() if run.run_id not in copied and not self.is_mine(run)]
        held = [hold for hold in (*claims, *runs) if is_same_folder(Path(hold.workspace), folder)]
        session = session_hold(folder)
        return [*held, session] if session is not None and self._is_alive(session.owner, "") else held

    def covers(self, holder: Hold, inherited: str) -> bool:
        """The holder's run is the one named ``inherited``, or started it, directly or not."""
        if not inherited or not holder.run_id:
            return False
        with store_errors(self._path):
            found = self._database.execute(IS_IN_LINE, (inherited, holder.run_id)).fetchone()
        return found is not None

    def is_mine(self, claim: Hold) -> bool:
        return claim.owner == self._me

    def all(self) -> list[Hold]:
        """All workspaces that are held now, the longest held first."""
        return self._claims()[0]

    def _claims(self) -> tuple[list[Hold], set[str]]:
        """The live ones, the longest held first; and the runs whose claims are about a folder that this is a copy of."""
        with store_errors(self._path):
            rows = self._database.execute(READ).fetchall()
            here = folder_id(self._path.parent)
        claims: list[Hold] = []
        copied: set[str] = set()
        for workspace, mode, run_id, *process, since, details in rows:
            owner = Owner(*process)
            # Another machine may number its folders its own way.
            if owner.host == self._me.host and json.loads(details).get(FOLDER, here) != here:
                copied.add(run_id)
            elif self._is_alive(owner, run_id):
                claims.append(Hold(self._located(workspace), Mode(mode), owner, since, run_id))
        return claims, copied

    def _live_runs(self) -> list[Hold]:
        with store_errors(self._path):
            rows = self._database.execute(LIVE_RUNS).fetchall()
        return [
            Hold(self._located(root), Mode.EXECUTING, Owner(*process), since, run_id)
            for root, run_id, *process, since in rows
            if self._is_alive(Owner(*process), run_id)
        ]

    def _located(self, path: str) -> str:
        return str(located(path, self._project))

    def _is_alive(self, owner: Owner, run_id: str) -> bool:
        return run_id in self._moving or not is_gone(
            owner, run_id, here=self._me, started_of=self._started_of, state_folder=self._path.parent
        )


def _busy(holder: Hold, *, here: Owner, database: Path) -> WorkspaceBusy:
    owner = holder.owner
    what = f"run {holder.run_id}, {holder.mode}" if holder.run_id else f"a {holder.mode} mode"
    if holder.session:
        what = "a loop in a session of Claude Code (/ralph:loop)"
    since = strftime("%Y-%m-%d %H:%M:%S UTC", gmtime(holder.since))
    message = f"{holder.workspace} is in use by {what}, pid {owner.pid} on {owner.host}, since {since}"
    if owner.host != here.host and holder.run_id:
        hint = f"Wait for it, or end it on {owner.host}; two minutes after its last sign of life it counts as gone."
    elif owner.host != here.host:
        # Whether it still runs cannot be seen from here, so only a person can say that it does not.
        delete = f"DELETE FROM claims WHERE host = '{owner.host}'"  # noqa: S608 - words for a person
        remedy = f'sqlite3 {shlex.quote(str(database))} "{delete}"'
        hint = f"Wait for it, or end it on {owner.host}. If that machine is gone for good: {remedy}"
    elif holder.session:
        hint = "Wait for it, end it there with /ralph:cancel, or work in another git worktree."
    elif holder.run_id:
        hint = f"Wait for it, end it with `ralph stop {holder.run_id}`, or work in another git worktree."
    else:
        hint = f"Wait for it, end process {owner.pid}, or work in another git worktree."
    return WorkspaceBusy(message, hint=hint)


@dataclass(frozen=True, slots=True)
class ModeCheck:
    """Whether a mode may start; if not, which mode is in the way and who holds it."""

    allowed: bool
    blocked_by: Mode | None = None
    holder: Hold | None = None


@dataclass(frozen=True, slots=True)
class ModeRegistry:
    """The modes of one workspace: planning, executing and verifying exclude each other.

    ``inherited`` is the run that started this process: it works under the mode of that run.
    """

    claims: Claims
    workspace: str
    now: Callable[[], float]
    inherited: str = ""

    def can_start(self, mode: Mode) -> ModeCheck:
        """A look, not a promise: only ``start`` decides. The same mode is in its own way, too."""
        holder = self.claims.holder(self.workspace)
        if holder is None or self.claims.covers(holder, self.inherited):
            return ModeCheck(allowed=True)
        return ModeCheck(allowed=False, blocked_by=holder.mode, holder=holder)

    def start(self, mode: Mode, details: Mapping[str, object] | None = None) -> bool:
        now = self.now()
        try:
            self.claims.take(self.workspace, mode, now=now, details=details, inherited=self.inherited)
        except WorkspaceBusy:
            return False
        return True

    def is_mine(self, mode: Mode) -> bool:
        """This very process holds the workspace in this mode."""
        holder = self.claims.holder(self.workspace)
        return holder is not None and holder.mode is mode and self.claims.is_mine(holder)

    def end(self, mode: Mode) -> bool:
        """Only what this process itself started."""
        return self.claims.release(self.workspace, mode)
