"""Who holds which workspace, in the database: at most one each, whoever asks at the same time."""

from __future__ import annotations

import json
import shlex
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import gmtime, strftime

from ralph.adapters.storage.database import store_errors, transaction
from ralph.domain.holder import Claim, Mode, Owner, is_stale
from ralph.errors import WorkspaceBusy

READ = "SELECT workspace, mode, run_id, pid, process_started, boot_id, host, since FROM claims"
TAKE = """INSERT OR REPLACE INTO claims
    (workspace, mode, run_id, pid, process_started, boot_id, host, since, details)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"""
RELEASE = """DELETE FROM claims
    WHERE workspace = ? AND pid = ? AND process_started = ? AND boot_id = ? AND host = ?"""

# UNION, not UNION ALL: it ends even if somebody made the line a circle.
IS_IN_LINE = """WITH RECURSIVE line (id) AS (
        SELECT ? UNION SELECT runs.parent_id FROM runs JOIN line ON runs.id = line.id
    ) SELECT 1 FROM line WHERE id = ?"""


class Claims:
    """The claims as this process sees them. One whose process is gone is as good as none."""

    def __init__(
        self, database: sqlite3.Connection, *, me: Owner, started_of: Callable[[int], str | None]
    ) -> None:
        self._database = database
        self._path = Path(database.execute("PRAGMA database_list").fetchone()[2])
        self._me = me
        self._started_of = started_of

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
        """Hold the workspace from now on, or raise WorkspaceBusy, also if this very process holds it already.

        ``inherited`` is the run this process was started by: what a run starts goes on under its claim and does
        not own it (False).
        """
        values = (workspace, mode, run_id, *_row(self._me), now, json.dumps(dict(details or {})))
        with store_errors(self._path), transaction(self._database):
            # Looked at under the write lock: of two processes that find a stale claim only one takes it over.
            holder = self.holder(workspace)
            if holder is not None:
                if self.covers(holder, inherited):
                    return False
                raise _busy(holder, here=self._me, database=self._path)
            self._database.execute(TAKE, values)
        return True

    @contextmanager
    def holding(
        self,
        workspace: str,
        mode: Mode,
        *,
        run_id: str = "",
        now: float,
        details: Mapping[str, object] | None = None,
        inherited: str = "",
    ) -> Iterator[bool]:
        """``take`` for the time of the block; what was not taken is not released."""
        is_owner = self.take(workspace, mode, run_id=run_id, now=now, details=details, inherited=inherited)
        try:
            yield is_owner
        finally:
            if is_owner:
                self.release(workspace)

    def release(self, workspace: str, mode: Mode | None = None) -> bool:
        """Remove this process's own claim (if it is in ``mode``). False: there was none."""
        condition, values = ("", ()) if mode is None else (" AND mode = ?", (mode,))
        with store_errors(self._path):
            gone = self._database.execute(RELEASE + condition, (workspace, *_row(self._me), *values))
        return gone.rowcount > 0

    def holder(self, workspace: str) -> Claim | None:
        """Who holds it; None if nobody does, or one whose process is gone."""
        with store_errors(self._path):
            row = self._database.execute(f"{READ} WHERE workspace = ?", (workspace,)).fetchone()
        claim = _claim(row) if row is not None else None
        return claim if claim is not None and self._is_live(claim) else None

    def covers(self, holder: Claim, inherited: str) -> bool:
        """The holder's run is the one named ``inherited``, or one that started it, directly or not."""
        if not inherited or not holder.run_id:
            return False
        with store_errors(self._path):
            found = self._database.execute(IS_IN_LINE, (inherited, holder.run_id)).fetchone()
        return found is not None

    def is_mine(self, claim: Claim) -> bool:
        return claim.owner == self._me

    def all(self) -> list[Claim]:
        """All workspaces that are held now, the longest held first."""
        with store_errors(self._path):
            rows = self._database.execute(f"{READ} ORDER BY since").fetchall()
        return [claim for claim in map(_claim, rows) if self._is_live(claim)]

    def _is_live(self, claim: Claim) -> bool:
        owner = claim.owner
        return not is_stale(owner, here=self._me, started_of=self._started_of(owner.pid))


def _row(owner: Owner) -> tuple[int, str, str, str]:
    return owner.pid, owner.process_started, owner.boot_id, owner.host


def _claim(row: tuple[str, str, str, int, str, str, str, float]) -> Claim:
    workspace, mode, run_id, pid, process_started, boot_id, host, since = row
    return Claim(workspace, Mode(mode), Owner(pid, process_started, boot_id, host), since, run_id)


def _busy(holder: Claim, *, here: Owner, database: Path) -> WorkspaceBusy:
    owner = holder.owner
    what = f"run {holder.run_id}, {holder.mode}" if holder.run_id else f"a {holder.mode} mode"
    since = strftime("%Y-%m-%d %H:%M:%S UTC", gmtime(holder.since))
    message = f"{holder.workspace} is in use by {what}, pid {owner.pid} on {owner.host}, since {since}"
    if owner.host != here.host:
        # Nobody here can see whether it still runs, so only a person can say that it does not.
        delete = f"DELETE FROM claims WHERE host = '{owner.host}'"  # noqa: S608 - words for a person
        remedy = f'sqlite3 {shlex.quote(str(database))} "{delete}"'
        hint = f"Wait for it, or end it on {owner.host}. If that machine is gone for good: {remedy}"
    elif holder.run_id:
        hint = f"Wait for it, end it with `ralph stop {holder.run_id}`, or work in another git worktree."
    else:
        hint = f"Wait for it, end process {owner.pid}, or work in another git worktree."
    return WorkspaceBusy(message, hint=hint)
