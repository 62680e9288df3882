"""The open record of a run: its workspace claimed, its journal begun or taken up, its watcher on guard."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from time import gmtime, strftime
from typing import TYPE_CHECKING

from ralph.adapters.agents.registry import split_flags
from ralph.adapters.processes.process_table import started_of, this_process
from ralph.adapters.processes.redaction import Redactor, redact_argv
from ralph.adapters.processes.watcher import Watcher, end_run_processes, start_watcher
from ralph.adapters.storage.child_runs import ChildRuns, registered_child
from ralph.adapters.storage.claims import Claims
from ralph.adapters.storage.controls import Controls
from ralph.adapters.storage.database import open_state_database
from ralph.adapters.storage.earlier_runs import has_worked_since, interrupted_run
from ralph.adapters.storage.elapsed import Elapsed
from ralph.adapters.storage.journal import SqliteJournal
from ralph.adapters.storage.run_files import mask_prompts, save_flags, save_request
from ralph.domain.holder import Mode
from ralph.domain.loop.session_report import Spend
from ralph.domain.loop.state import LoopState
from ralph.domain.text.masking import mask_all
from ralph.engine.ports import Clock
from ralph.errors import RalphError
from ralph.values import dataclass, replace
from ralph.wiring.launch import Driven, Launch
from ralph.wiring.requirements import pricing

if TYPE_CHECKING:  # only a run that is handed over has one
    from ralph.domain.loop.interlude import Interlude


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Record:
    """``state`` is where the run stands; ``was_cut``: a session was under way when an earlier process of it ended.

    ``uncounted``: what an earlier process of it, under the same parent, had spent and not saved.
    ``interrupted``: another run that was left behind in this workspace; empty: none.
    """

    run_id: str
    database: sqlite3.Connection
    journal: SqliteJournal
    controls: Controls
    children: ChildRuns
    watcher: Watcher
    holds: bool = True  # the workspace; False: it shares that of the run whose agent started it
    state: LoopState = LoopState()
    was_cut: bool = False
    was_left: bool = (
        False  # it had ended, and no other run left anything here since: what has changed is the user's
    )
    uncounted: Spend = Spend()
    interrupted: str = ""

    @property
    def folder(self) -> Path:
        return self.journal.run_folder

    @property
    def database_file(self) -> Path:
        return self.controls.path

    def write_receipt(self) -> None:
        from ralph.adapters.storage.run_files import write_receipt

        with suppress(RalphError):  # if the record cannot be written, that is being told already
            self.journal.flush()
            write_receipt(self.database, self.folder, self.run_id)


def new_run_id(now: float) -> str:
    """Sorts by time, and two runs of one second still differ."""
    return f"{strftime('%Y%m%d-%H%M%S', gmtime(now))}-{os.urandom(2).hex()}"


@contextmanager
def open_record(
    launch: Launch,
    run_id: str,
    *,
    parent_id: str,
    redactor: Redactor,
    clock: Clock,
    environ: Mapping[str, str],
    by_program: bool,
) -> Iterator[Record]:
    """Until the block ends."""
    me, folder = this_process(), launch.state_folder
    with (
        closing(open_state_database(folder)) as database,
        Claims(database, me=me, started_of=started_of).holding(
            str(launch.root.workspace), Mode.EXECUTING, run_id=run_id, inherited=parent_id, now=clock.now()
        ) as holds,
        # As early as the run is nobody else's: a Python has to start for it.
        start_watcher(run_id) if launch.watcher is None else launch.watcher.shared_by(run_id) as watcher,
        SqliteJournal(folder, database, run_id, owner=me, now=clock.now(), redact=redactor.redact) as journal,
        registered_child(environ, run_id, me),
    ):
        record = Record(
            run_id=run_id,
            database=database,
            journal=journal,
            controls=Controls(database, folder / "ralph.db", run_id),
            children=ChildRuns(database, folder, run_id, here=me, started_of=started_of),
            holds=holds,
            watcher=watcher,
        )
        options = _options(launch, redactor)
        if launch.resumes:
            mask_prompts(record.folder, redactor.redact)
            record = _take_up(launch, record, options)
        else:
            record = _begin(launch, record, options, parent_id=parent_id, by_program=by_program)
        yield record


def _take_up(launch: Launch, record: Record, options: Mapping[str, object]) -> Record:
    # Whatever an earlier process of this run could not end; its child runs live on.
    end_run_processes(record.run_id, spared=[child.owner.pid for child in record.children.active()])
    root = launch.root.workspace
    is_alone = not has_worked_since(record.database, record.database_file, root, record.run_id)
    taken_up = record.journal.take_up(
        options=options,
        price=pricing(launch.settings),
        parent_id=launch.parent_id,
        elapsed=Elapsed(record.folder).read(),
        counts_launches=launch.profile.faults_count,
        interlude=_interlude(launch),
    )
    if launch.loaded.flags:
        save_flags(record.folder, launch.loaded.flags)
    is_same = taken_up.parent_id == launch.parent_id  # else another run has to account for it
    uncounted = taken_up.uncounted if is_same else Spend()
    return replace(
        record,
        state=taken_up.state,
        was_cut=taken_up.was_cut,
        was_left=taken_up.has_ended and is_alone,
        uncounted=uncounted,
    )


def _interlude(launch: Launch) -> Interlude | None:
    """What was lost is counted once: by the part that had lost it, which tells the whole."""
    if launch.interlude is None or not isinstance(launch.composition, Driven):
        return launch.interlude
    return replace(launch.interlude, lost=Spend())


def _begin(
    launch: Launch, record: Record, options: Mapping[str, object], *, parent_id: str, by_program: bool
) -> Record:
    left = None
    if not launch.parent_id:
        left = interrupted_run(
            record.database,
            record.database_file,
            launch.root.workspace,
            here=this_process(),
            started_of=started_of,
        )
    if left is not None:
        end_run_processes(left)  # its watcher may have been killed with it
    # Before the run is on record: one that can be seen can be resumed.
    save_request(record.folder, replace(launch.request(), by_program=by_program))
    record.journal.begin(
        profile=launch.profile.name,
        agent=launch.agent,
        root=launch.root.workspace,
        options=options,
        parent_id=parent_id,
    )
    interlude = _interlude(launch)
    lost = interlude.lost if interlude is not None else Spend()  # by shifts of which there is no other trace
    state = record.state.continued(lost, seconds=0.0)
    return replace(record, state=state, uncounted=lost, interrupted=left or "")


def _options(launch: Launch, redactor: Redactor) -> dict[str, object]:
    """What the record shows of how the run was asked for."""
    agent = launch.settings.agent
    described = {
        **launch.composition.describe(),
        "maximumIterations": launch.maximum,
        "agent": redact_argv([agent.command, *split_flags(agent.flags)]),
    }
    return mask_all(described, redactor.redact)
