"""Remove runs: their files and records. A live run is never removed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from ralph.adapters.storage.run_removal import belongings, compact_record, remove_run
from ralph.adapters.trust_store import is_sealed
from ralph.domain.text.safe_text import clean_line
from ralph.domain.views import runs as rules
from ralph.domain.views.runs import RunView
from ralph.errors import RalphError, UsageError
from ralph.operations.agreement import is_waived
from ralph.operations.runs.read import RunRecord, require_record

KEEP = 20
DAY = 86_400.0


class Removable(NamedTuple):
    """A run to remove, and the size of its folder."""

    run: RunView
    files: int
    bytes: int


class Removal(NamedTuple):
    removed: int
    problems: Sequence[RalphError]


def named_runs(state_folder: Path, references: Iterable[str]) -> list[Removable]:
    """Raises UsageError if one of them is live."""
    with require_record(state_folder) as record:
        found = dict.fromkeys(map(record.find, references))
        runs = [run for name in found if (run := record.run(name)) is not None]
    if live := [run.id for run in runs if run.live]:
        message = f"still running: {', '.join(map(clean_line, live))}"
        raise UsageError(message, hint="stop it first, with `ralph stop`")
    return _with_size(state_folder, runs)


def old_runs(state_folder: Path, *, keep: int | None, older_than_days: float | None) -> list[Removable]:
    """All but the ``keep`` newest; with ``older_than_days``, only those inactive for that long."""
    if keep is None:
        keep = KEEP if older_than_days is None else 0
    before = None if older_than_days is None else time.time() - older_than_days * DAY
    with require_record(state_folder) as record:
        runs = rules.removable_runs(record.runs(), keep=keep, active_before=before)
    return _with_size(state_folder, runs)


def _with_size(state_folder: Path, runs: Iterable[RunView]) -> list[Removable]:
    return [Removable(run, *belongings(state_folder, run.id)) for run in runs]


def remove_runs(state_folder: Path, runs: Sequence[Removable]) -> Removal:
    """Remove what can be removed; free the space unless a run is under way."""
    _require_own(state_folder)
    problems: list[RalphError] = []
    with require_record(state_folder) as record:
        for one in runs:
            try:
                _require_ended(record, one.run.id)
                remove_run(state_folder, one.run.id)
            except RalphError as error:
                problems.append(error)
        is_idle = not any(run.live for run in record.runs(limit=0))
    removed = len(runs) - len(problems)
    if removed and is_idle:
        compact_record(state_folder)
    return Removal(removed, problems)


def _require_own(state_folder: Path) -> None:
    """A clone can bring a link to the record of another project. Raises UsageError."""
    if not state_folder.is_symlink() or is_waived(os.environ) or is_sealed(str(state_folder), os.environ):
        return
    message = f"{state_folder} is a link that ralph does not know"
    raise UsageError(
        message, hint=f"remove runs in {Path(os.path.realpath(state_folder)).parent}, where they are"
    )


def _require_ended(record: RunRecord, run_id: str) -> None:
    """It may have been resumed since it was listed."""
    now = record.run(run_id)
    if now is not None and now.live:
        message = f"run {run_id} is running again"
        raise UsageError(message)
