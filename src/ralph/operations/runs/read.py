"""Read the record of a project's runs: which runs there are, what happened in them, what their agents printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from ralph.adapters.processes.process_table import started_of, this_process
from ralph.adapters.storage.run_reader import RunReader, open_reader
from ralph.domain.text.safe_text import clean_line
from ralph.domain.views.runs import LAST, RunView, match_runs
from ralph.errors import StoreError, UsageError
from ralph.operations.runs.files import RunFiles
from ralph.patterns import pattern

if TYPE_CHECKING:
    from ralph.domain.loop.events import LoopEvent
    from ralph.domain.views.runs import RunLabel

SHOWN_CANDIDATES = 10
MAX_RECEIPT = 64 * 1024 * 1024
CHUNK = 256 * 1024

# The last part is the name of a fallback agent.
_SESSION = pattern(r"agent_(\d+)(?:_attempt(\d+))?(?:_(\w+?))?(?:\.([\w-]+))?\.ndjson")


class RecordedEvent(NamedTuple):
    """``event`` is None if this version of ralph does not know it."""

    seq: int
    at: float
    event: LoopEvent | None


class RunRecord:
    """The runs of one project, for one thread. Use as a context manager."""

    def __init__(self, reader: RunReader, state_folder: Path) -> None:
        self._reader = reader
        self.state_folder = state_folder
        self.close, self.count, self.owners = reader.close, reader.count, reader.owners

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def runs(self, *, limit: int | None = None) -> list[RunView]:
        """Live runs first, then the newest. Live runs are never left out."""
        return self._reader.runs(here=this_process(), started_of=started_of, limit=limit)

    def run(self, run_id: str) -> RunView | None:
        """None if there is no such run, or it was removed."""
        return self._reader.run(run_id, here=this_process(), started_of=started_of)

    def find(self, reference: str) -> str:
        """The run that ``reference`` names: an id, its beginning or end, ``last``, or a task, whose newest run it means.
        Raises UsageError with candidates."""
        names = self._reader.ids()
        if not names:
            raise _no_runs()
        if reference == LAST and (newest := self._reader.newest()) is not None:
            return newest
        found = match_runs(reference, names)
        if len(found) == 1:
            return found[0]
        if not found and (of_task := self._reader.newest_of_task(reference)) is not None:
            return of_task
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

    def tasks_of(self, run_id: str) -> list[tuple[str, RunLabel]]:
        """The runs of the tasks that a `ralph work` worked on, in the order in which they began."""
        return self._reader.tasks_of(run_id)

    def events(self, run_id: str, *, after: int = 0, iteration: int | None = None) -> Iterator[RecordedEvent]:
        """The events recorded so far, in order."""
        from ralph.adapters.storage.wire import restore

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
    """Live runs first, then the newest; empty if nothing has run here yet."""
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

    files = RunFiles(state_folder, run.id)
    try:
        with files.open("receipt.json") as file:
            return json.loads(file.read(MAX_RECEIPT + 1))
    except FileNotFoundError:
        has_ended = run.ended_at is not None
        hint = "none was written when it ended" if has_ended else "it is written when the run ends"
        message = f"run {run.id} has no receipt"
        raise UsageError(message, hint=hint) from None
    except (OSError, ValueError, RecursionError) as error:
        message = f"cannot read {files.folder / 'receipt.json'}: {error}"
        raise StoreError(message, hint="without --receipt the record itself is shown") from error


class AgentLogs:
    """What the agents of a run printed, byte for byte, session after session; remembers how much was read."""

    def __init__(
        self,
        state_folder: Path,
        run_id: str,
        *,
        iteration: int | None = None,
        complain: Callable[[str], None],
    ) -> None:
        self._run = RunFiles(state_folder, run_id)
        self._iteration = iteration
        self._complain = complain
        self._offsets: dict[str, int] = {}
        self._finished: set[str] = set()

    @property
    def folder(self) -> Path:
        return self._run.folder

    @property
    def found(self) -> bool:
        """Whether there is any log so far."""
        return bool(self._offsets)

    def removed_to(self) -> int:
        """The last iteration whose stream was removed, with all before it; 0: none was."""
        return self._run.removed_to()

    def new(self) -> Iterator[bytes]:
        """What was printed since the last call."""
        for name in self._names():
            yield from self._read(name)

    def _names(self) -> list[str]:
        found: list[tuple[int, int, str, str]] = []
        for name in self._run.names():
            if match := _SESSION.fullmatch(name):
                iteration, attempt = int(match[1]), int(match[2] or 1)
                if self._iteration in (None, iteration):
                    found.append((iteration, attempt, f"{match[3] or ''} {match[4] or ''}", name))
        return [name for *_, name in sorted(found)]

    def _read(self, name: str) -> Iterator[bytes]:
        known = self._offsets.setdefault(name, 0)
        if name in self._finished:
            return
        if self._run.is_compressed(
            name
        ):  # nothing is added to it, and to find a place in it means to read it all
            self._finished.add(name)
        try:
            with self._run.open(name) as file:
                file.seek(known)
                while chunk := file.read(CHUNK):
                    self._offsets[name] += len(chunk)
                    yield chunk
        except OSError as error:
            self._complain(f"cannot read {self.folder / name}: {error.strerror or error}")


def _no_runs() -> UsageError:
    return UsageError("there are no runs here yet", hint="start one with `ralph run`, or give --project-dir")
