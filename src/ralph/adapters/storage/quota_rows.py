"""What is left of subscriptions, beside the options of each run: the next run knows it before its first session."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ralph.adapters.storage.database import Statement, store_errors
from ralph.domain.views.quota import quota_in

if TYPE_CHECKING:
    from ralph.domain.agent.quota import AgentQuota
    from ralph.domain.loop.events import QuotaSeen

KEEP = "UPDATE runs SET options = json_patch(options, ?) WHERE id = ?"
NEWEST = "SELECT options FROM runs ORDER BY started_at DESC, id DESC LIMIT 20"


def keeping(event: QuotaSeen, run_id: str) -> Statement:
    windows = [asdict(window) for window in event.windows]
    return KEEP, (json.dumps({"quota": {event.agent: windows}}), run_id)


def known_quota(database: sqlite3.Connection, path: Path) -> tuple[AgentQuota, ...]:
    """What agents said last, in the newest runs."""
    with store_errors(path):
        rows = database.execute(NEWEST).fetchall()
    newest: dict[str, AgentQuota] = {}
    for (options,) in rows:
        for quota in quota_in(json.loads(options)):
            newest.setdefault(quota.agent, quota)
    return tuple(newest.values())
