"""What a run spent since its state was last saved: the sessions of a process that was killed."""

from __future__ import annotations

import sqlite3

from ralph.adapters.storage.restored_events import restore
from ralph.domain.agent.transcript import PriceOf, Transcript
from ralph.domain.loop.events import AgentActed, AgentEnded, AgentStarted
from ralph.domain.loop.session_report import Spend

EVENTS = """SELECT data FROM events WHERE run_id = ? AND seq > ?
    AND kind IN ('agent_started', 'agent_acted', 'agent_ended') ORDER BY seq"""


def spend_after(database: sqlite3.Connection, run_id: str, seq: int, *, price: PriceOf) -> Spend:
    """A session that was cut off has used what its stream had reported by then."""
    spent = Spend()
    session: Transcript | None = None
    for (data,) in database.execute(EVENTS, (run_id, seq)):
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
