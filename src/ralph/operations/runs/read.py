"""Read the record of a project's runs: which there are, and what happened in them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from ralph.adapters.processes.identity import started_of, this_process
from ralph.adapters.storage.run_reader import RunReader, open_reader
from ralph.domain.text.safe_text import clean_line
from ralph.domain.views.runs import LAST, RunView, match_runs
from ralph.errors import StoreError, UsageError

if TYPE_CHECKING:
    from ralph.domain.loop.events import LoopEvent

SHOWN_CANDIDATES = 10
MAX_RECEIPT = 64 * 1024 * 1024


class RecordedEvent(NamedTuple):
    """``event`` is None for one that this version of ralph does not know."""

    seq: int
    at: float
    event: LoopEvent | None


class RunRecord:
    """The runs of one project, for one thread. Use as a context manager."""

    def __init__(self, reader: RunReader, state_folder: Path) -> None:
        self._reader = reader
        self.state_folder = state_folder

    def close(self) -> None:
        self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def count(self) -> int:
        return self._reader.count()

    def runs(self, *, limit: int | None = None) -> list[RunView]:
        """Live ones first, then the newest. A live one is never left out."""
        return self._reader.runs(here=this_process(), started_of=started_of, limit=limit)

    def run(self, run_id: str) -> RunView | None:
        """None: there is no such run, or it was removed."""
        return self._reader.run(run_id, here=this_process(), started_of=started_of)

    def find(self, reference: str) -> str:
        """The run that a name, its beginning, its end or ``last`` means. Raises UsageError with the candidates."""
        names = self._reader.ids()
        if not names:
            raise _no_runs()
        found = match_runs(reference, names)
        if len(found) == 1:
            return found[0]
        shown = [clean_line(name) for name in (found or names)[:SHOWN_CANDIDATES]]
        more = " …" if len(found or names) > len(shown) else ""
        if found:
            message = f"{clean_line(reference)!r} may mean {len(found)} runs"
            raise UsageError(message, hint=f"give more of its name: {', '.join(shown)}{more}")
        message = f"there is no run {clean_line(reference)!r} here"
        raise UsageError(message, hint=f"the runs here are: {', '.join(shown)}{more}")

    def view(self, reference: str = LAST) -> RunView:
        run_id = self.find(reference)
        view = self.run(run_id)
        if view is None:
            message = f"run {clean_line(run_id)} has just been removed"
            raise UsageError(message)
        return view

    def events(self, run_id: str, *, after: int = 0, iteration: int | None = None) -> Iterator[RecordedEvent]:
        """In order, those that are there now; more may come."""
        from ralph.adapters.storage.restored_events import restore

        for row in self._reader.events(run_id, after=after, iteration=iteration):
            yield RecordedEvent(row.seq, row.at, restore(row.data))


def open_record(state_folder: Path) -> RunRecord | None:
    """None if nothing has run here yet."""
    reader = open_reader(state_folder)
    return None if reader is None else RunRecord(reader, state_folder)


def require_record(state_folder: Path) -> RunRecord:
    """Raises UsageError if nothing has run here yet."""
    record = open_record(state_folder)
    if record is None:
        raise _no_runs()
    return record


def recent_runs(state_folder: Path, *, limit: int) -> list[RunView]:
    """Live ones first, then the newest; none if nothing has run here yet."""
    record = open_record(state_folder)
    if record is None:
        return []
    with record:
        return record.runs(limit=limit)


def run_view(state_folder: Path, reference: str) -> RunView:
    with require_record(state_folder) as record:
        return record.view(reference)


def read_receipt(state_folder: Path, run: RunView) -> object:
    """What ``receipt.json`` says, as JSON values."""
    import json

    path = state_folder / "runs" / run.id / "receipt.json"
    try:
        with path.open("rb") as file:
            return json.loads(file.read(MAX_RECEIPT + 1))
    except FileNotFoundError:
        hint = (
            "none was written when it ended"
            if run.ended_at is not None
            else "it is written when the run ends"
        )
        message = f"run {run.id} has no receipt"
        raise UsageError(message, hint=hint) from None
    except (OSError, ValueError) as error:
        message = f"cannot read {path}: {error}"
        raise StoreError(message, hint="without --receipt the record itself is shown") from error


def _no_runs() -> UsageError:
    return UsageError("there are no runs here yet", hint="start one with `ralph run`, or give --project-dir")
