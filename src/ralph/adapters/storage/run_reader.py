"""Reads the record from another process: never creates it, never migrates it, never blocks whoever writes it."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from ralph.adapters.storage.connection import connect
from ralph.adapters.storage.database import StartedOf, schema_version, store_errors
from ralph.adapters.storage.liveness import is_gone
from ralph.adapters.storage.places import located
from ralph.domain.holder import Owner
from ralph.domain.proof.policy import ProofPolicy
from ralph.domain.views.quota import quota_in
from ralph.domain.views.runs import LastCheck, RunView, label_of, last_check_of, sort_runs, state_of
from ralph.errors import StoreError
from ralph.values import dataclass

if TYPE_CHECKING:
    from ralph.domain.views.pull_request import PullRequestView
    from ralph.domain.views.runs import FeedEvent, RunLabel

BUSY_TIMEOUT = 5.0
PAGE = 100
"""Events per read. One read for all, at the pace of a slow terminal, would keep the writer from trimming its log."""
RECENT = 64
"""Events searched for the newest check: only a few follow the checks of an iteration."""

LANDMARKS = 500
"""Events besides the agent's words that are searched for its pull request: no session has so many."""

FIRST_OWNERS = 2
FIRST_LANDMARKS = 5

_OWNER = "pid, process_started, boot_id, host, parent_id, ended_at"
_NO_OWNER = "0, '', '', '', '', NULL"
_RUN = "id, profile, agent, root, options, state, started_at, updated_at, outcome, reason"


class _Row(NamedTuple):
    id: str
    profile: str
    agent: str
    root: str
    options: str
    state: str
    started_at: float
    updated_at: float
    outcome: str | None
    reason: str | None
    pid: int
    process_started: str
    boot_id: str
    host: str
    parent_id: str
    ended_at: float | None

    @property
    def owner(self) -> Owner | None:
        return Owner(self.pid, self.process_started, self.boot_id, self.host) if self.pid else None


@dataclass(slots=True)
class _Seen:
    """What the events of a run say up to ``seq``; the next look reads only later ones."""

    seq: int = 0
    at: float = 0.0
    check: LastCheck | None = None
    waits_until: float | None = None
    waits_for: str = ""
    pull_request: PullRequestView | None = None
    awaits: bool = False  # the pull request, and nothing was begun since it was seen

    @property
    def waits(self) -> bool:
        return self.awaits or self.waits_until is not None

    @property
    def why(self) -> str:
        """What it waits for."""
        if self.waits_until is None and self.pull_request is not None:
            return self.pull_request.reason
        return self.waits_for


def open_reader(state_folder: Path) -> RunReader | None:
    """The record in ``.ralph/``; None if there is none yet. Raises StoreError if it cannot be read."""
    path = state_folder / "ralph.db"
    with _read_errors(path):
        if not _is_there(path):
            return None
        connection = _connect(path)
        try:
            version = schema_version(connection, path)
        except BaseException:
            connection.close()
            raise
    if not version:  # created, but still empty
        connection.close()
        return None
    return RunReader(connection, path, version)


def _is_there(path: Path) -> bool:
    """Raises StoreError if one may not look."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except PermissionError as error:
        raise _not_permitted(path, error) from error
    return True


def _not_permitted(path: Path, error: Exception) -> StoreError:
    message = f"cannot read {path}: {getattr(error, 'strerror', error)}"
    return StoreError(message, hint="Check that you may read the file and its folder.")


class RunReader:
    """One read-only connection. Use as a context manager."""

    def __init__(self, connection: sqlite3.Connection, path: Path, version: int) -> None:
        self._database = connection
        self._path = path
        self._columns = f"{_RUN}, {_OWNER if version >= FIRST_OWNERS else _NO_OWNER}"
        self._has_owners = version >= FIRST_OWNERS
        self._has_landmarks = version >= FIRST_LANDMARKS
        self._views: dict[str, tuple[_Row, RunView]] = {}
        self._seen: dict[str, _Seen] = {}

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- runs ---

    def count(self) -> int:
        return int(self._one("SELECT count(*) FROM runs")[0])

    def ids(self) -> list[str]:
        """Newest first."""
        return [row[0] for row in self.query("SELECT id FROM runs ORDER BY started_at DESC, id DESC")]

    def newest(self) -> str | None:
        """The newest run that is not part of another one here."""
        part = "WHERE parent_id NOT IN (SELECT id FROM runs)" if self._has_owners else ""
        row = self._one_or_none(f"SELECT id FROM runs {part} ORDER BY started_at DESC, id DESC LIMIT 1")  # noqa: S608
        return None if row is None else str(row[0])

    def tasks_of(self, run_id: str) -> list[tuple[str, RunLabel]]:
        """The runs of the tasks that it worked on, in the order in which they began."""
        if not self._has_owners:
            return []
        rows = self.query("SELECT id, options FROM runs WHERE parent_id = ? ORDER BY started_at, id", run_id)
        labels = [(str(name), label_of(_object(options))) for name, options in rows]
        return [(name, label) for name, label in labels if label.task]

    def newest_of_task(self, task: str) -> str | None:
        """The newest run that worked on this task."""
        rows = self.query(
            "SELECT id, options FROM runs WHERE profile = 'verified' ORDER BY started_at DESC, id DESC"
        )
        wanted = task.casefold()
        found = (str(name) for name, text in rows if str(_object(text).get("task", "")).casefold() == wanted)
        return next(found, None)

    def runs(self, *, here: Owner, started_of: StartedOf, limit: int | None = None) -> list[RunView]:
        """Live ones first, then the newest. Costs the same for any number of events."""
        live = self._live_ids(here, started_of)
        rows = self._rows("ORDER BY started_at DESC, id DESC LIMIT ?", -1 if limit is None else limit)
        shown = {row.id for row in rows}
        for name in live - shown:
            rows += self._rows("WHERE id = ?", name)
        return sort_runs((self._view(row, live) for row in rows), limit=limit)

    def run(self, run_id: str, *, here: Owner, started_of: StartedOf) -> RunView | None:
        rows = self._rows("WHERE id = ?", run_id)
        if not rows:
            return None
        owner = rows[0].owner if rows[0].outcome is None else None
        alive = owner is not None and self._is_alive(owner, run_id, here, started_of)
        return self._view(rows[0], {run_id} if alive else set())

    def newest_event(self) -> int:
        return int(self._one("SELECT coalesce(max(seq), 0) FROM events")[0])

    def begun_by(self, pid: int, *, after: int) -> str | None:
        """The run that a process has begun, or taken up, since the event ``after``; not one that is part of it."""
        if not self._has_owners:
            return None
        query = (
            "SELECT runs.id FROM events JOIN runs ON runs.id = events.run_id"
            " WHERE events.seq > ? AND events.kind = 'run_started' AND runs.pid = ? ORDER BY events.seq LIMIT 1"
        )
        row = self._one_or_none(query, after, pid)
        return None if row is None else str(row[0])

    def _rows(self, clause: str, *values: object) -> list[_Row]:
        return [_Row(*row) for row in self.query(f"SELECT {self._columns} FROM runs {clause}", *values)]  # noqa: S608

    def owners(self) -> dict[str, Owner]:
        """The processes of the runs that have not ended, dead ones too."""
        if not self._has_owners:
            return {}
        owners = "SELECT id, pid, process_started, boot_id, host FROM runs WHERE outcome IS NULL AND pid <> 0"
        return {row[0]: Owner(*row[1:]) for row in self.query(owners)}

    def _live_ids(self, here: Owner, started_of: StartedOf) -> set[str]:
        owners = self.owners()
        return {name for name, owner in owners.items() if self._is_alive(owner, name, here, started_of)}

    def _is_alive(self, owner: Owner, run_id: str, here: Owner, started_of: StartedOf) -> bool:
        return not is_gone(owner, run_id, here=here, started_of=started_of, state_folder=self._path.parent)

    def _view(self, row: _Row, live: set[str]) -> RunView:
        """A run that has ended does not change: it is read once."""
        known = self._views.get(row.id)
        if row.outcome is not None and known is not None and known[0] == row:
            return known[1]
        view = self._build(row, alive=row.id in live)
        if row.outcome is not None:
            self._views[row.id] = (row, view)
        return view

    def _build(self, row: _Row, *, alive: bool) -> RunView:
        state, options = _object(row.state), _object(row.options)
        spend = _dict(state.get("spend"))
        usage = _dict(spend.get("usage"))
        judged = _number(state.get("iteration"))
        begun = self._one_or_none(
            "SELECT iteration, started_at, ended_at, role FROM iterations WHERE run_id = ?"
            " ORDER BY iteration DESC, attempt DESC LIMIT 1",
            row.id,
        )
        in_session = row.outcome is None and begun is not None and begun[2] is None
        seen = self._look(row.id)
        paused_at = self._paused_at(row.id) if alive else None
        paused = paused_at is not None and (begun is None or begun[1] < paused_at)
        waits = alive and not in_session and seen.waits
        return RunView(
            id=row.id,
            profile=row.profile,
            agent=row.agent,
            root=str(located(row.root, self._path.parent.parent)),
            state=state_of(row.outcome, alive=alive, in_session=in_session, paused=paused, waits=waits),
            live=alive,
            iteration=begun[0] if in_session and begun is not None else judged,
            maximum=_number(options.get("maximumIterations")) or None,
            cost_usd=spend["cost_usd"] if isinstance(spend.get("cost_usd"), float | int) else None,
            tokens=sum(map(_number, usage.values())),
            last_check=seen.check or _failing(state),
            started_at=row.started_at,
            active_at=max(row.updated_at, seen.at),
            ended_at=row.ended_at,
            waits_until=seen.waits_until if waits else None,
            reason=seen.why if waits and not paused else row.reason or "",
            concerns=tuple(concern for concern in _list(state.get("concerns")) if isinstance(concern, str)),
            parent_id=row.parent_id,
            task=str(options.get("task") or ""),
            title=label_of(options).title,
            role=str(begun[3]) if begun is not None else "",
            cost_is_partial=spend.get("is_partly_unknown") is True,
            proof=_policy(_dict(options.get("proof"))),
            quota=quota_in(options),
            versions={str(agent): str(version) for agent, version in _dict(options.get("versions")).items()},
            pull_request=seen.pull_request,
        )

    def _paused_at(self, run_id: str) -> float | None:
        """When the pause that is in effect was heard."""
        if not self._has_owners:
            return None
        last = self._one_or_none(
            "SELECT request, taken_at FROM controls WHERE run_id = ? AND request IN ('pause', 'unpause')"
            " AND taken_at IS NOT NULL ORDER BY seq DESC LIMIT 1",
            run_id,
        )
        return last[1] if last is not None and last[0] == "pause" else None

    # --- what the events say about a run ---

    def _look(self, run_id: str) -> _Seen:
        """At the newest few events the first time, then only at new ones."""
        known = self._seen.get(run_id)
        if known is None:
            known = self._seen[run_id] = _Seen()
            newest = "SELECT seq, at, kind FROM events WHERE run_id = ? ORDER BY seq DESC LIMIT ?"
            recent = self.query(newest, run_id, RECENT)[::-1]
            self._take(known, recent)
            if known.check is None:
                known.check = self._check_before_session(run_id)
            if known.pull_request is None and len(recent) == RECENT and self._has_landmarks:
                known.pull_request = self._pull_request_before(run_id, recent[0][0])
        else:
            since = "SELECT seq, at, kind FROM events WHERE run_id = ? AND seq > ? ORDER BY seq"
            self._take(known, self.query(since, run_id, known.seq))
        return known

    def _take(self, seen: _Seen, events: list[tuple[Any, ...]]) -> None:
        checks: list[int] = []
        pause = pull = None
        for seq, at, kind in events:
            seen.seq, seen.at = seq, at
            if kind == "check_ended":
                checks.append(seq)
            elif kind == "pause_began":
                pause = seq
            elif kind == "pull_request_seen":  # it says more about the wait than a delay before it
                pull, pause, seen.waits_until, seen.awaits = seq, None, None, True
            elif kind in ("iteration_started", "run_started", "run_ended"):
                pause, seen.waits_until, seen.awaits = None, None, False
        seen.check = last_check_of(chain(self._checks(reversed(checks)), filter(None, [seen.check])))
        if pause is not None:
            data = self._data(pause)
            until = data.get("until")
            seen.waits_until = float(until) if isinstance(until, float | int) else None
            seen.waits_for = str(data.get("reason") or "")
        if pull is not None:
            seen.pull_request = self._pull_request(pull)
        seen.awaits &= seen.pull_request is not None and seen.pull_request.is_waiting

    def _pull_request_before(self, run_id: str, seq: int) -> PullRequestView | None:
        """A session's words hide it, or hours of waiting for it."""
        found = self._one_or_none(
            "SELECT seq FROM (SELECT seq, kind FROM events WHERE run_id = ? AND seq < ? AND kind <> 'agent_acted'"
            " ORDER BY seq DESC LIMIT ?) WHERE kind = 'pull_request_seen' LIMIT 1",
            run_id,
            seq,
            LANDMARKS,
        )
        return None if found is None else self._pull_request(found[0])

    def _pull_request(self, seq: int) -> PullRequestView | None:
        """None: it was written by a version of ralph that this one does not understand."""
        from ralph.adapters.storage.wire import restore  # few runs have one
        from ralph.domain.loop.events import PullRequestSeen
        from ralph.domain.views.pull_request import view_of

        event = restore(self._one("SELECT data FROM events WHERE seq = ?", seq)[0])
        return view_of(event) if isinstance(event, PullRequestSeen) else None

    def _check_before_session(self, run_id: str) -> LastCheck | None:
        """A long session hides the checks of the iteration before it: they came just before it began."""
        newest = "SELECT seq, iteration FROM events WHERE run_id = ? ORDER BY seq DESC LIMIT 1"
        last = self._one_or_none(newest, run_id)
        if last is None or last[1] < 2:
            return None
        earlier = "SELECT seq, kind FROM events WHERE run_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?"
        found = self.query(earlier, run_id, self._first_of(run_id, last[1], last[0]), RECENT)
        return last_check_of(self._checks(seq for seq, kind in found if kind == "check_ended"))

    def _first_of(self, run_id: str, iteration: int, last: int) -> int:
        """The first event of an iteration, by bisection: a run's iterations only ever grow."""
        following = "SELECT seq, iteration FROM events WHERE run_id = ? AND seq >= ? ORDER BY seq LIMIT 1"
        low, high = 0, last
        while low < high:
            middle = (low + high) // 2
            seq, found = self._one(following, run_id, middle)
            if found >= iteration:
                high = middle
            else:
                low = seq + 1
        return low

    def _checks(self, events: Iterable[int]) -> Iterator[LastCheck]:
        """Read one by one: usually the first few answer the question."""
        for seq in events:
            result = _dict(self._data(seq).get("result"))
            if name := result.get("name") or result.get("command"):
                yield LastCheck(str(name), str(result.get("verdict", "")))

    def _data(self, seq: int) -> dict[str, Any]:
        return _object(self._one("SELECT data FROM events WHERE seq = ?", seq)[0])

    # --- events ---

    def events(self, run_id: str, *, after: int = 0, iteration: int | None = None) -> Iterator[FeedEvent]:
        """Those recorded so far, in order."""
        from ralph.domain.views.runs import FeedEvent

        of_iteration = "" if iteration is None else "AND iteration = ?"
        values = () if iteration is None else (iteration,)
        query = (
            "SELECT seq, iteration, at, kind, data FROM events"  # noqa: S608 (our own words)
            f" WHERE run_id = ? AND seq > ? {of_iteration} ORDER BY seq LIMIT ?"
        )
        while page := self.query(query, run_id, after, *values, PAGE):
            for row in page:
                yield FeedEvent(*row)
            after = page[-1][0]

    # --- queries ---

    def query(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """All rows at once: no read is left open."""
        with _read_errors(self._path):
            return self._database.execute(query, values).fetchall()

    def _one_or_none(self, query: str, *values: object) -> tuple[Any, ...] | None:
        rows = self.query(query, *values)
        return rows[0] if rows else None

    def _one(self, query: str, *values: object) -> tuple[Any, ...]:
        row = self._one_or_none(query, *values)
        if row is None:
            message = f"{self._path}: the run was removed while it was read"
            raise StoreError(message)
        return row


def _policy(proof: dict[str, Any]) -> ProofPolicy | None:
    """None if it is not known: an earlier version did not record it."""
    if not proof:
        return None
    patterns = tuple(map(str, _list(proof.get("may_change"))))
    return ProofPolicy(str(proof.get("strength", "")), str(proof.get("tests", "")), patterns)


def _failing(state: dict[str, Any]) -> LastCheck | None:
    failing = _list(state.get("failing"))
    return LastCheck(str(failing[-1]), "failed") if failing else None


def _connect(path: Path) -> sqlite3.Connection:
    as_it_is = "mode=ro&immutable=1"
    if _would_take_away(path):
        return _checked(path, as_it_is)
    try:
        return _checked(path, "mode=ro")
    except sqlite3.OperationalError:
        if path.with_name(path.name + "-wal").exists():
            raise
        # A read-only folder has no room for the lock file; without a log nobody is writing, so none is needed.
        return _checked(path, as_it_is)


def _would_take_away(path: Path) -> bool:
    """Reading makes SQLite's other files if they are not there: of another user's record they would be ours, and the
    owner could no longer write. (To what root makes, SQLite gives the right owner.)
    """
    user = os.geteuid()
    if user in (0, path.stat().st_uid):
        return False
    return not all(path.with_name(path.name + end).exists() for end in ("-wal", "-shm"))


def _checked(path: Path, options: str) -> sqlite3.Connection:
    connection = connect(path, options=options, timeout=BUSY_TIMEOUT)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # opens the file at last
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def _read_errors(path: Path) -> Iterator[None]:
    """Like ``store_errors``, for readers."""
    with store_errors(path):
        try:
            yield
        except sqlite3.DatabaseError as error:
            name = getattr(error, "sqlite_errorname", "") or ""
            if name.startswith(("SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_READONLY", "SQLITE_IOERR")):
                raise _not_permitted(path, error) from error
            raise


def _object(text: str | bytes) -> dict[str, Any]:
    """Empty for damaged JSON: the run must still be shown."""
    try:
        return _dict(json.loads(text))
    except (ValueError, TypeError, RecursionError):
        return {}


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
