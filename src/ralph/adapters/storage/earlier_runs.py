"""What earlier processes left unfinished: runs to resume, and what they had spent."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from ralph.adapters.storage.database import StartedOf, store_errors
from ralph.adapters.storage.liveness import is_gone
from ralph.adapters.storage.places import is_same_folder, located
from ralph.adapters.storage.wire import decode_state, restore
from ralph.domain.agent.transcript import PriceOf, Transcript
from ralph.domain.holder import Owner
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import (
    AgentActed,
    AgentEnded,
    AgentStarted,
    CheckEnded,
    PullRequestSeen,
    RunStarted,
)
from ralph.domain.loop.evidence import Verdict
from ralph.domain.loop.session_report import Spend
from ralph.domain.proof.layer_names import LayerName
from ralph.values import dataclass, replace

OPEN_RUNS = """SELECT id, root, pid, process_started, boot_id, host FROM runs
    WHERE outcome IS NULL AND pid <> 0 AND parent_id NOT IN (SELECT id FROM runs)
    ORDER BY started_at DESC"""
PROMPTED_RUNS = """SELECT id, root, outcome FROM runs
    WHERE profile IN ('basic', 'promise', 'supervised', 'shipped') AND id <> ? AND parent_id NOT IN (SELECT id FROM runs)
    ORDER BY started_at DESC, id DESC"""
RUNS = """SELECT id, root, outcome FROM runs WHERE id <> ? AND parent_id NOT IN (SELECT id FROM runs)
    ORDER BY started_at DESC, id DESC"""
SINCE = """SELECT root, outcome FROM runs WHERE id <> :run AND parent_id NOT IN (SELECT id FROM runs)
    AND EXISTS (SELECT 1 FROM iterations WHERE run_id = runs.id)
    AND updated_at > (SELECT ended_at FROM runs WHERE id = :run) ORDER BY updated_at DESC"""
NEWEST = """SELECT id, outcome, json_extract(state, '$.unjudged') IS NOT NULL FROM runs WHERE profile = 'verified' AND json_extract(options, '$.task') = ?
    ORDER BY started_at DESC, id DESC LIMIT 1"""
STATES = """SELECT state FROM runs WHERE profile = 'verified' AND json_extract(options, '$.task') = ?
    AND id <> ? AND state IS NOT NULL"""
SESSION_EVENTS = """SELECT data FROM events WHERE run_id = ? AND seq > ?
    AND kind IN ('agent_started', 'agent_acted', 'agent_ended') ORDER BY seq"""
SEEN_PULL = """SELECT data, at FROM events WHERE run_id = ? AND kind <> 'agent_acted' AND kind = 'pull_request_seen'
    AND json_extract(CAST(data AS TEXT), '$.branch') = ? ORDER BY seq DESC LIMIT 1"""
WARNED = """SELECT 1 FROM events WHERE run_id = ? AND kind <> 'agent_acted' AND kind = 'warned'
    AND json_extract(CAST(data AS TEXT), '$.message') = ? LIMIT 1"""
PROOF_EVENTS = "SELECT data FROM events WHERE run_id = ? AND kind IN ('run_started', 'check_ended')"


@dataclass(frozen=True, slots=True)
class KeptProof:
    """What a run has noted in its folder: the files that it began with, and what became of canaries in them."""

    base: bool = False
    canary: bool = False


def interrupted_run(
    database: sqlite3.Connection, path: Path, workspace: Path, *, here: Owner, started_of: StartedOf
) -> str | None:
    """The newest run of this working tree whose process died before the run ended: `ralph resume` takes it."""
    with store_errors(path):
        rows = database.execute(OPEN_RUNS).fetchall()
    project = path.parent.parent
    for run_id, root, *owner in rows:
        if is_same_folder(located(root, project), workspace) and is_gone(
            Owner(*owner), run_id, here=here, started_of=started_of, state_folder=path.parent
        ):
            return str(run_id)
    return None


def last_unaccepted(database: sqlite3.Connection, path: Path, workspace: Path, *, besides: str) -> str:
    """The last run of this working tree, of whatever kind, if it was not completed; empty: it was, or there is none."""
    with store_errors(path):
        rows = database.execute(RUNS, (besides,)).fetchall()
    project = path.parent.parent
    here = (
        (run_id, outcome)
        for run_id, root, outcome in rows
        if is_same_folder(located(root, project), workspace)
    )
    run_id, outcome = next(here, ("", Outcome.COMPLETED))
    return "" if outcome == Outcome.COMPLETED else str(run_id)


def has_worked_since(database: sqlite3.Connection, path: Path, workspace: Path, run_id: str) -> bool:
    """Whether another run, not completed, worked in this working tree since this one ended: what it left is not the
    user's."""
    with store_errors(path):
        rows = database.execute(SINCE, {"run": run_id}).fetchall()
    project = path.parent.parent
    here = (outcome for root, outcome in rows if is_same_folder(located(root, project), workspace))
    return next(here, Outcome.COMPLETED) != Outcome.COMPLETED


def unaccepted_runs(
    database: sqlite3.Connection, path: Path, workspace: Path, *, besides: str
) -> Iterator[str]:
    """Runs that worked in this working tree itself since the last one that was completed, newest first."""
    with store_errors(path):
        rows = database.execute(PROMPTED_RUNS, (besides,)).fetchall()
    project = path.parent.parent
    for run_id, root, outcome in rows:
        if is_same_folder(located(root, project), workspace):
            if outcome == Outcome.COMPLETED:
                return
            yield str(run_id)


def run_to_resume(database: sqlite3.Connection, path: Path, task_id: str) -> str:
    """The task's run that was killed, stopped, waits or could not be judged; it keeps its counts and its spend. Empty: none."""
    with store_errors(path):
        row = database.execute(NEWEST, (task_id,)).fetchone()
    if row is None:
        return ""
    run_id, outcome, is_unjudged = row
    return str(run_id) if is_unjudged or outcome in (None, "cancelled", "waiting") else ""


def used_before(database: sqlite3.Connection, path: Path, task_id: str, *, besides: str) -> Spend:
    """What the task's runs, except ``besides``, have used; ``seconds`` are those of the runs, not of the agents."""
    used = Spend()
    with store_errors(path):
        for (data,) in database.execute(STATES, (task_id, besides)):
            state = decode_state(data)
            used += Spend(state.spend.cost_usd, state.spend.usage, state.seconds)
    return used


@dataclass(frozen=True, slots=True)
class TaskFigures:
    """What all runs of a task took together."""

    spend: Spend = Spend()
    sessions: int = 0
    denied: int = 0


def figures_of_task(database: sqlite3.Connection, path: Path, task_id: str) -> TaskFigures:
    found = TaskFigures()
    with store_errors(path):
        for (data,) in database.execute(STATES, (task_id, "")):
            state = decode_state(data)
            spend = replace(state.spend, seconds=state.seconds)
            found = TaskFigures(
                found.spend + spend, found.sessions + state.iteration, found.denied + state.denied
            )
    return found


def spend_after(database: sqlite3.Connection, run_id: str, seq: int, *, price: PriceOf) -> Spend:
    """What a killed run spent after its state was last saved. A session that was cut off counts as far as reported."""
    spent = Spend()
    session: Transcript | None = None
    for (data,) in database.execute(SESSION_EVENTS, (run_id, seq)):
        match restore(data):
            case AgentStarted():
                session = Transcript((), price=price)
            case AgentActed(events) if session is not None:
                session.take(events)
            case AgentEnded(spend=spend):
                spent += spend
                session = None
            case _:
                pass
    if session is not None:
        spent += Spend.of_session(session.cost_usd, session.usage)
    return spent


def has_warned(database: sqlite3.Connection, path: Path, run_id: str, message: str) -> bool:
    """An earlier process of this run has said so."""
    with store_errors(path):
        return database.execute(WARNED, (run_id, message)).fetchone() is not None


def kept_proof(database: sqlite3.Connection, path: Path, run_id: str) -> KeptProof:
    """The record says so, whatever has become of the folder. A run of an earlier version has kept nothing."""
    with store_errors(path):
        events = [restore(data) for (data,) in database.execute(PROOF_EVENTS, (run_id,))]
    return KeptProof(
        base=any(
            isinstance(event, RunStarted) and event.proof is not None and event.proof.keeps_base
            for event in events
        ),
        canary=any(
            isinstance(event, CheckEnded)
            and event.result.name == LayerName.CANARY_AT_START
            and event.result.verdict is Verdict.PASSED  # else it was cut off, or there was none to show
            for event in events
        ),
    )


def last_seen_pull(
    database: sqlite3.Connection, path: Path, run_id: str, branch: str
) -> tuple[PullRequestSeen, float] | None:
    """What the run told last of the branch's pull request, and when."""
    with store_errors(path):
        row = database.execute(SEEN_PULL, (run_id, branch)).fetchone()
    seen = restore(row[0]) if row is not None else None
    return (seen, row[1]) if isinstance(seen, PullRequestSeen) else None
