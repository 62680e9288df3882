"""What the sessions of a record have used since a moment, while they run, without a second look at what was seen."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ralph.adapters.storage.run_reader import RunReader, open_reader
from ralph.adapters.storage.wire import restore
from ralph.domain.agent.transcript import Transcript
from ralph.domain.loop.events import AgentActed, AgentEnded
from ralph.domain.loop.session_report import Spend
from ralph.errors import StoreError

# Few of a session's events say what it used: the others are not decoded.
_NEWS = """SELECT seq, run_id, iteration, data FROM events WHERE seq > ? AND (kind IN ('iteration_started', 'agent_ended')
    OR (kind = 'agent_acted' AND (instr(data, CAST('"usage_reported"' AS BLOB)) OR instr(data, CAST('"turn_ended"' AS BLOB)))))
    ORDER BY seq LIMIT 1000"""


class Figures(NamedTuple):
    """``cost`` and ``tokens`` since the moment; a lower bound while a session runs."""

    iteration: int = 0
    cost: float = 0.0
    tokens: int = 0


class SessionSpend:
    """Since it was made. A record that cannot be read now is read by a later look."""

    def __init__(self, state_folder: Path) -> None:
        self._folder = state_folder
        self._reader: RunReader | None = None
        self._iteration = 0
        self._ended = Spend()
        self._open: dict[str, Transcript] = {}  # by run: tasks have runs of their own
        self._seq = 0
        try:
            self._seq = reader.newest_event() if (reader := self._opened()) is not None else 0
        except StoreError:
            self.close()

    def look(self) -> Figures:
        try:
            while (reader := self._opened()) is not None and (rows := reader.query(_NEWS, self._seq)):
                for seq, run_id, iteration, data in rows:
                    self._take(str(run_id), int(iteration), data)
                    self._seq = seq
        except StoreError:
            self.close()
        spent = self._ended
        for session in self._open.values():
            spent += Spend(session.cost_usd, session.usage)
        return Figures(self._iteration, spent.cost_usd or 0.0, spent.usage.total)

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _opened(self) -> RunReader | None:
        if self._reader is None:
            self._reader = open_reader(self._folder)
        return self._reader

    def _take(self, run_id: str, iteration: int, data: bytes) -> None:
        self._iteration = max(self._iteration, iteration)
        match restore(data):
            case AgentActed(events):
                self._open.setdefault(run_id, Transcript(())).take(events)
            case AgentEnded(spend=spend):
                self._ended += spend
                self._open.pop(run_id, None)
            case _:
                pass
