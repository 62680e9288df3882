"""What the reading commands have in common: finding the record, and the run that is meant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ralph.config.root import STATE_FOLDER, find_root
from ralph.domain.text.safe_text import clean_line
from ralph.domain.views.runs import LAST, matching
from ralph.errors import UsageError

if TYPE_CHECKING:
    from ralph.adapters.storage.run_reader import RunReader
    from ralph.domain.views.runs import RunView

SHOWN_CANDIDATES = 10

project_dir_option: Callable[[Any], Any] = click.option(
    "--project-dir",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Project to look at.  [default: where .ralph or .git is]",
)


def state_folder(project_dir: Path | None) -> Path:
    return find_root(Path.cwd(), project_dir).state / STATE_FOLDER


@contextmanager
def reading(folder: Path) -> Iterator[RunReader]:
    """The record of a project that has one. Raises UsageError if nothing has run there."""
    from ralph.adapters.storage.run_reader import open_reader

    reader = open_reader(folder)
    if reader is None:
        raise _no_runs()
    with reader:
        yield reader


def find_run(reader: RunReader, reference: str) -> str:
    """The run that a name, its beginning, its end or ``last`` means. Raises UsageError with the candidates."""
    names = reader.ids()
    if not names:
        raise _no_runs()
    found = matching(reference, names)
    if len(found) == 1:
        return found[0]
    shown = [clean_line(name) for name in (found or names)[:SHOWN_CANDIDATES]]
    more = " …" if len(found or names) > len(shown) else ""
    if found:
        message = f"{clean_line(reference)!r} may mean {len(found)} runs"
        raise UsageError(message, hint=f"say more of its name: {', '.join(shown)}{more}")
    message = f"there is no run {clean_line(reference)!r} here"
    raise UsageError(message, hint=f"the runs here are: {', '.join(shown)}{more}")


def view_of(reader: RunReader, reference: str = LAST) -> RunView:
    from ralph.adapters.processes.identity import started_of, this_process

    run_id = find_run(reader, reference)
    view = reader.run(run_id, here=this_process(), started_of=started_of)
    if view is None:  # removed since
        message = f"run {clean_line(run_id)} was removed meanwhile"
        raise UsageError(message)
    return view


def _no_runs() -> UsageError:
    return UsageError("there are no runs here yet", hint="start one with `ralph run`, or give --project-dir")
