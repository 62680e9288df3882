"""The record of one run in SQLite, and the files of its sessions."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, astuple
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ralph.adapters import beneath
from ralph.adapters.files import close_folder, write_new
from ralph.adapters.storage.connection import Connection
from ralph.adapters.storage.database import BUSY_TIMEOUT, DAMAGED, Statement, store_errors, transaction
from ralph.adapters.storage.places import RUNS, recorded, run_folder
from ralph.adapters.storage.run_links import forget_links, point_link
from ralph.adapters.storage.wire import decode_state, encode_event, encode_state, restore
from ralph.domain.agent.events import SessionStarted, TurnEnded, UsageReported
from ralph.domain.agent.transcript import PriceOf, unpriced
from ralph.domain.holder import Owner
from ralph.domain.loop.decision import was_cut_short
from ralph.domain.loop.events import (
    AgentActed,
    AgentEnded,
    IterationEnded,
    IterationStarted,
    LoopEvent,
    QuotaSeen,
    RunEnded,
    RunStarted,
    Warned,
)
from ralph.domain.loop.session_report import Spend
from ralph.domain.loop.state import LoopState
from ralph.domain.text.masking import mask_all
from ralph.engine.ports import SessionFiles
from ralph.errors import StoreError
from ralph.values import dataclass

if TYPE_CHECKING:  # only a run that is handed over has one
    from ralph.domain.loop.interlude import Interlude

START_RUN = """INSERT INTO runs
    (id, profile, agent, root, options, state, started_at, updated_at,
     pid, process_started, boot_id, host, parent_id)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
READ_STATE = """SELECT state, updated_at, state_seq, parent_id,
    (SELECT at FROM events WHERE run_id = runs.id ORDER BY seq DESC LIMIT 1), outcome FROM runs WHERE id = ?"""
FORGET_REQUESTS = (
    "UPDATE controls SET taken_at = ? WHERE run_id = ? AND taken_at IS NULL AND request <> 'steer'"
)
LAST_DECISION = """SELECT decision, iteration FROM iterations WHERE run_id = ?
    ORDER BY iteration DESC, attempt DESC LIMIT 1"""
# The end of the run that a decision to stop brought about: the first after the newest iteration. Resuming the run and
# stopping it before the next session adds another. (<> is what lets SQLite use the index of landmarks.)
END_AFTER_LAST = """SELECT data FROM events WHERE run_id = :run AND kind <> 'agent_acted' AND kind = 'run_ended'
    AND seq > (SELECT max(seq) FROM events
        WHERE run_id = :run AND kind <> 'agent_acted' AND kind = 'iteration_ended') ORDER BY seq LIMIT 1"""
TAKE_UP = """UPDATE runs SET
    options = json_patch(?, json_object('quota', json_extract(options, '$.quota'), 'versions', json_extract(options, '$.versions'))),
    outcome = NULL, reason = '', ended_at = NULL,
    pid = ?, process_started = ?, boot_id = ?, host = ?, parent_id = coalesce(?, parent_id) WHERE id = ?"""
SAVE_STATE = """UPDATE runs SET state = ?, updated_at = ?,
    state_seq = coalesce((SELECT max(seq) FROM events WHERE run_id = runs.id), 0) WHERE id = ?"""
SAVE_HEAD = (
    "UPDATE runs SET options = json_set(options, '$.proof', json(?), '$.versions', json(?)) WHERE id = ?"
)
KEEP_VERSION = "UPDATE runs SET options = json_patch(options, ?) WHERE id = ?"
END_RUN = "UPDATE runs SET outcome = ?, reason = ?, ended_at = ? WHERE id = ?"
START_ITERATION = """INSERT OR REPLACE INTO iterations (run_id, iteration, attempt, assignment, role, started_at)
    VALUES (?, ?, ?, ?, ?, ?)"""
END_ITERATION = """UPDATE iterations
    SET ended_at = ?, decision = ?, reason = ?, claimed = ?, proven = ?, cost_usd = ?, tokens = ?
    WHERE run_id = ? AND iteration = ? AND attempt = ?"""
ADD_EVENT = "INSERT INTO events (run_id, iteration, at, kind, data) VALUES (?, ?, ?, ?, ?)"

SESSION_BYTES = 8 * 1024 * 1024
TOO_MUCH = "the agent's output is too large for the record: the rest of this session is in its log only"
FLUSH_BYTES = 256 * 1024
_USED = frozenset((SessionStarted, UsageReported, TurnEnded))


@dataclass(frozen=True, slots=True)
class TakenUp:
    """Where a run was. ``was_cut``: its last session ended before it was judged. ``has_ended``: the run ended by itself.

    ``uncounted``: what it had spent since it was last saved; ``parent_id``: the run that it was a part of.
    """

    state: LoopState
    was_cut: bool
    has_ended: bool = False
    uncounted: Spend = Spend()
    parent_id: str = ""


class SqliteJournal:
    """One run, one writer: the run's owner. ``begin`` or ``take_up`` comes first; use as a context manager.

    ``redact`` takes secrets out of the state that is saved; events come without.
    """

    def __init__(
        self,
        folder: Path,
        database: Connection,
        run_id: str,
        *,
        owner: Owner,
        now: float,
        redact: Callable[[str], str] = str,
    ) -> None:
        self._folder = folder
        self._path = folder / "ralph.db"
        self._log = f"{self._path}-wal"
        self._run_folder = run_folder(folder, run_id)
        self._run_id = run_id
        self._iteration = 0
        self._events: list[tuple[str, int, float, str, bytes]] = []
        self._event_bytes = 0
        self._acted_bytes = 0
        self._has_warned = False
        self._held: tuple[int, int] | None = None  # events and statements before the end of an iteration
        self._statements: list[Statement] = []
        self._has_links = True
        self._accompanying: Callable[[LoopState], Iterable[Statement]] = lambda _: ()
        self._last_at = now
        self._owner = owner
        self._redact = redact
        self._database = database
        with store_errors(folder):
            self._file = self._path.stat().st_ino
            self._log_bytes = 0
            beneath.make_folder(self._run_folder, folder)
            close_folder(self._run_folder)

    def begin(
        self, *, profile: str, agent: str, root: Path, options: Mapping[str, object], parent_id: str = ""
    ) -> None:
        """A new run."""
        self._has_links = not parent_id
        if self._has_links:
            with store_errors(self._folder):
                forget_links(self._folder)
        place = recorded(root, self._folder.parent)
        given = (self._run_id, profile, agent, place, json.dumps(options), encode_state(LoopState()))
        values = (*given, self._last_at, self._last_at, *astuple(self._owner), parent_id)
        with store_errors(self._path):
            self._database.execute(START_RUN, values)

    def take_up(
        self,
        *,
        options: Mapping[str, object],
        price: PriceOf = unpriced,
        parent_id: str = "",
        elapsed: float | None = None,
        counts_launches: bool = False,
        interlude: Interlude | None = None,
    ) -> TakenUp:
        """Resume a run that an earlier process left; raises StoreError if its record cannot be read.

        ``parent_id``: the run that it is a part of from now on; empty: as before. ``price`` prices a session that was
        cut off. ``elapsed``: the time that the run has taken; None: as far as the record tells. ``counts_launches``: one that
        was cut off counts too. ``interlude``: it was handed over, and continues unless its user resumes it. All of it is
        recorded or nothing: a process killed here loses no time and counts no money twice.
        """
        from ralph.adapters.storage.earlier_runs import spend_after  # only a resumed run needs it

        with store_errors(self._path), transaction(self._database):
            row = self._database.execute(READ_STATE, (self._run_id,)).fetchone()
            if row is None:
                message = f"run {self._run_id} was removed"
                raise StoreError(message, hint="start a new one with `ralph run`")
            state, saved_at, saved_seq, parent, heard_of, outcome = row
            uncounted = spend_after(self._database, self._run_id, saved_seq, price=price)
            stood = decode_state(state)
            was_cut, launch = self._was_cut_short()
            # A process that was killed before it launched anything has counted it already.
            is_uncounted = was_cut and launch > stood.iteration and stood.unjudged is None
            if elapsed is None:
                elapsed = stood.seconds + (heard_of or 0.0) - saved_at
            if interlude is not None:
                uncounted += interlude.lost
            if interlude is not None and not interlude.by_user:
                resumed = stood.continued(uncounted, seconds=elapsed + interlude.seconds)
            else:
                resumed = stood.resumed(uncounted, seconds=elapsed, was_cut=counts_launches and is_uncounted)
            # Requests to the earlier process are not for this one; a note to the agent is.
            self._database.execute(FORGET_REQUESTS, (self._last_at, self._run_id))
            owner = astuple(self._owner)
            self._database.execute(TAKE_UP, (json.dumps(options), *owner, parent_id or None, self._run_id))
            self._database.execute(
                SAVE_STATE, (encode_state(mask_all(resumed, self._redact)), self._last_at, self._run_id)
            )
        self._iteration = resumed.iteration
        self._has_links = not (parent_id or parent)
        return TakenUp(
            resumed,
            was_cut=was_cut,
            has_ended=outcome is not None,
            uncounted=uncounted,
            parent_id=parent or "",
        )

    def _was_cut_short(self) -> tuple[bool, int]:
        """And the number of the launch."""
        last = self._database.execute(LAST_DECISION, (self._run_id,)).fetchone()
        if last is None:
            return False, 0
        end = self._database.execute(END_AFTER_LAST, {"run": self._run_id}).fetchone()
        ended = restore(end[0]) if end is not None else None
        return was_cut_short(last[0], ended.outcome if isinstance(ended, RunEnded) else None), last[1]

    @property
    def run_folder(self) -> Path:
        return self._run_folder

    # --- files ---

    def open_session(self, prompt: str, *, iteration: int, attempt: int, purpose: str = "") -> SessionFiles:
        name = f"{iteration:03}"
        if attempt > 1:
            name += f"_attempt{attempt}"
        if purpose:
            name += f"_{purpose}"
        files = SessionFiles(
            self._run_folder / f"prompt_{name}.txt", self._run_folder / f"agent_{name}.ndjson"
        )
        with store_errors(files.prompt):
            try:
                write_new(files.prompt, prompt.encode())
            except FileExistsError:  # an agent may have put a link there
                beneath.remove(files.prompt, self._run_folder)
                write_new(files.prompt, prompt.encode())
            if not purpose:
                self._link(f"prompt_{iteration:03}.txt", files.prompt.name)
        return files

    def check_log(self, iteration: int, slug: str) -> Path:
        """In the run's folder, with a link under the documented name, unless the run is a part of another: parts run
        side by side, and the links are one run's alone."""
        log = self._run_folder / f"guardrail_{iteration:03}_{slug}.log"
        self._link(log.name, log.name)
        return log

    def name_of(self, log: Path) -> str:
        """Not the link: that leads to the newest run's file."""
        return recorded(log, self._folder.parent)

    def _link(self, name: str, file: str) -> None:
        """To a file of the run, by its name."""
        if not self._has_links:
            return
        # A file system without links still has the file itself.
        with contextlib.suppress(OSError, NotImplementedError):
            point_link(self._folder / name, f"{RUNS}/{self._run_id}/{file}")

    # --- events ---

    def append(self, event: LoopEvent, *, at: float) -> None:
        self._last_at = at
        if isinstance(event, IterationEnded):
            # An iteration ends and is counted in one transaction.
            self._held = (len(self._events), len(self._statements))
        if isinstance(event, IterationStarted):
            self._iteration = event.iteration
            self._acted_bytes = 0
            self._has_warned = False
        if statement := self._statement(event, at):
            self._statements.append(statement)
        if isinstance(event, AgentActed) and self._acted_bytes > SESSION_BYTES:
            # The session's log has all of it, and the record must not grow with an agent's chatter; but what the
            # session uses must be known even if it is killed.
            if not self._has_warned:
                self._has_warned = True
                warning = Warned(TOO_MUCH)
                self._events.append((self._run_id, self._iteration, at, warning.kind, encode_event(warning)))
            if _USED.isdisjoint(map(type, event.events)):
                return
            event = AgentActed(tuple(each for each in event.events if type(each) in _USED))
        data = encode_event(event)
        if isinstance(event, AgentActed):
            self._acted_bytes += len(data)
        self._events.append((self._run_id, self._iteration, at, event.kind, data))
        self._event_bytes += len(data)
        if self._event_bytes > FLUSH_BYTES:
            self.flush()

    def enlist(self, statements: Iterable[Statement]) -> None:
        """Statements that must be recorded together with the next state, or not at all."""
        self._statements += statements

    def accompany(self, saving: Callable[[LoopState], Iterable[Statement]]) -> None:
        """With every state that is saved from now on, ``saving`` says what else is recorded: all of it or nothing."""
        self._accompanying = saving

    def saving(self, state: LoopState) -> Statement:
        """What records this run's state, for the transaction of another run that is a part of it."""
        return SAVE_STATE, (encode_state(mask_all(state, self._redact)), self._last_at, self._run_id)

    def flush(self) -> None:
        if self._held is None:
            self._write()

    def commit(self, state: LoopState) -> None:
        self._require_file()
        self._statements += [self.saving(state), *self._accompanying(state)]
        self._held = None
        self._write(durably=True)

    def _require_file(self) -> None:
        """A file that was removed can still be written to, and vanishes when it is closed."""
        try:
            is_there = os.stat(self._path).st_ino == self._file  # noqa: PTH116
        except OSError:
            is_there = False
        if not is_there:
            message = f"{self._path} was removed or replaced while the run was under way"
            raise StoreError(
                message, hint="keep commands like `git clean -x` away from .ralph; no work was lost"
            )

    def _require_log(self) -> None:
        """SQLite notices late, or never, that what it has written to its log is gone. A log shrinks if it is emptied
        in good order, or if somebody cut it short: only then is it worth a look at everything.
        """
        if self._size_of_log() >= self._log_bytes:
            return
        self._require_file()
        is_whole = False
        # By a connection that has nothing in memory yet.
        with (
            contextlib.suppress(sqlite3.DatabaseError),
            contextlib.closing(sqlite3.connect(self._path, timeout=BUSY_TIMEOUT)) as fresh,
        ):
            is_whole = fresh.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
        if not is_whole:
            message = f"{self._path} was damaged while the run was under way: its log was cut short"
            raise StoreError(message, hint=DAMAGED)

    def _size_of_log(self) -> int:
        try:
            return os.stat(self._log).st_size  # noqa: PTH116 - asked before and after each write
        except FileNotFoundError:
            return 0

    def close(self) -> None:
        if self._held is not None:  # the iteration was not settled, so it has not ended and is done again
            events, statements = self._held
            del self._events[events:], self._statements[statements:]
        self._write()
        with contextlib.suppress(sqlite3.Error):
            self._database.make_durable(durable=False)  # as it was

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _statement(self, event: LoopEvent, at: float) -> Statement | None:
        run = self._run_id
        match event:
            case RunStarted(proof=proof, versions=versions):
                return SAVE_HEAD, (json.dumps(proof and asdict(proof)), json.dumps(dict(versions)), run)
            case AgentEnded(agent=agent, version=version) if version:
                return KEEP_VERSION, (json.dumps({"versions": {agent: version}}), run)
            case IterationStarted(iteration=iteration, attempt=attempt):
                return START_ITERATION, (run, iteration, attempt, event.assignment, event.role, at)
            case IterationEnded(iteration=iteration, attempt=attempt, spend=spend):
                judged = (at, event.decision, event.reason, event.claimed, event.proven)
                return END_ITERATION, (*judged, spend.cost_usd, spend.usage.total, run, iteration, attempt)
            case QuotaSeen():
                from ralph.adapters.storage.quota_rows import keeping

                return keeping(event, run)
            case RunEnded():
                return END_RUN, (event.outcome, event.reason, at, run)
            case _:
                return None

    def _write(self, *, durably: bool = False) -> None:
        """One transaction. Every commit survives the death of this process; a durable one that of the machine."""
        if not self._events and not self._statements:
            return
        database = self._database
        with store_errors(self._path):
            self._require_log()
            database.make_durable(durable=durably)
            with transaction(database):
                database.executemany(ADD_EVENT, self._events)
                for sql, values in self._statements:
                    database.execute(sql, values)
            self._log_bytes = self._size_of_log()
        self._events.clear()
        self._statements.clear()
        self._event_bytes = 0
