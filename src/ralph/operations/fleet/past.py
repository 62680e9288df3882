"""What a job has done so far, from its record: its iterations, and what its sessions printed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ralph.domain.views.iterations import IterationView, fold_iterations
from ralph.domain.views.runs import LAST
from ralph.values import dataclass

if TYPE_CHECKING:
    from ralph.domain.fleet.views import JobView
    from ralph.operations.runs.read import RunRecord

MOST_LINES = 4_000
"""The newest; `ralph fleet logs` prints them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPast:
    """``left_out``: lines before these."""

    iterations: tuple[IterationView, ...] = ()
    lines: tuple[str, ...] = ()
    left_out: int = 0


def read_past(job: JobView) -> JobPast:
    """Raises RalphError if the record cannot be read from here."""
    from ralph.adapters.storage.places import RUNS
    from ralph.adapters.storage.shift_consoles import kept_consoles
    from ralph.operations.fleet.record import fetched_record
    from ralph.operations.runs.read import open_record

    with fetched_record(job.spec) as folder:
        record = None if folder is None else open_record(folder)
        if folder is None or record is None:
            return JobPast()
        with record:
            iterations = tuple(_iterations(record, job.progress.last.run_id or LAST))
        lines = [line for _, lines in kept_consoles(folder / RUNS, top=folder) for line in lines]
    left_out = max(0, len(lines) - MOST_LINES)
    return JobPast(iterations=iterations, lines=tuple(lines[left_out:]), left_out=left_out)


def _iterations(record: RunRecord, reference: str) -> Iterator[IterationView]:
    """Those of the run; of a task, those of the run that worked on it."""
    run_id = record.find(reference)
    for each in (run_id, *(name for name, _ in record.tasks_of(run_id))):
        yield from fold_iterations((row.seq, row.at, row.event) for row in record.events(each))
