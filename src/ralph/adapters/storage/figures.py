"""Sums of what happened in all runs of a record, as Prometheus wants them: counters that only grow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ralph.adapters.storage.wire import restore
from ralph.domain.telemetry.exposition import Labels
from ralph.domain.telemetry.measurements import KINDS, Measuring

_NEWEST = "SELECT coalesce(max(seq), 0) FROM events"
_ALL = "SELECT id, profile, agent FROM runs"
_CHANGED = (
    """SELECT id, profile, agent FROM runs WHERE id IN (SELECT DISTINCT run_id FROM events WHERE seq > ?)"""
)
# <> is what lets SQLite use the index of landmarks: what agents said is not even looked at.
_EVENTS = f"""SELECT at, data FROM events WHERE run_id = ? AND seq > ? AND seq <= ? AND kind <> 'agent_acted'
    AND kind IN ({", ".join(f"'{kind}'" for kind in KINDS)}) ORDER BY seq"""  # noqa: S608 (our own words)

Query = Callable[..., list[tuple[Any, ...]]]


class RecordFigures:
    """A look reads only what is new. Runs that are removed later stay counted: a counter must not fall."""

    def __init__(self) -> None:
        self._seq = 0
        self._runs: dict[str, Measuring] = {}
        self._sums: dict[tuple[str, Labels], float] = {}

    def look(self, query: Query) -> Mapping[tuple[str, Labels], float]:
        newest = int(query(_NEWEST)[0][0])
        if newest > self._seq:
            for run_id, profile, agent in query(_CHANGED, self._seq) if self._seq else query(_ALL):
                self._take(query(_EVENTS, run_id, self._seq, newest), run_id, profile, agent)
            self._seq = newest
        return self._sums

    def _take(self, rows: list[tuple[Any, ...]], run_id: str, profile: str, agent: str) -> None:
        run, sums = self._runs.setdefault(run_id, Measuring()), self._sums
        of_run = (("profile", profile), ("agent", agent))
        for at, data in rows:
            event = restore(data)
            if event is None:
                continue
            for metric, value, labels in run.take(event, at):
                place = metric.exposed, of_run + labels
                sums[place] = sums.get(place, 0.0) + value
