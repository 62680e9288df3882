"""Hold a workspace in a mode: planning, executing and verifying exclude each other."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from ralph.adapters.clock import SystemClock
from ralph.adapters.processes.process_table import started_of, this_process
from ralph.adapters.storage.claims import Claims, ModeCheck, ModeRegistry
from ralph.adapters.storage.database import open_state_database
from ralph.config.root import STATE_FOLDER, find_root
from ralph.domain.holder import Mode
from ralph.errors import UsageError


def can_start_mode(mode: Mode | str, *, root: Path | None = None) -> ModeCheck:
    """Whether ``mode`` could start now; if not, ``blocked_by`` names the mode in the way. Writes nothing."""
    wanted = _mode(mode)
    if not _database(root).exists():
        return ModeCheck(allowed=True)
    with open_modes(root) as modes:
        return modes.can_start(wanted)


def start_mode(
    mode: Mode | str, details: Mapping[str, object] | None = None, *, root: Path | None = None
) -> bool:
    """Hold the workspace in this mode until ``end_mode`` or the end of this process. False if another mode is in the way."""
    with open_modes(root) as modes:
        return modes.start(_mode(mode), details)


def end_mode(mode: Mode | str, *, root: Path | None = None) -> bool:
    """True if this process had started the mode."""
    wanted = _mode(mode)
    if not _database(root).exists():
        return False
    with open_modes(root) as modes:
        return modes.end(wanted)


@contextmanager
def open_modes(root: Path | None) -> Iterator[ModeRegistry]:
    """The modes of a workspace, with their own database connection: safe from any thread."""
    with closing(open_state_database(_database(root).parent)) as database:
        claims = Claims(database, me=this_process(), started_of=started_of)
        workspace = str(find_root(Path.cwd(), root).workspace)
        started_by = os.environ.get("RALPH_RUN_ID", "")  # the run whose agent started this process
        yield ModeRegistry(claims, workspace, now=SystemClock().now, inherited=started_by)


def _database(root: Path | None) -> Path:
    return find_root(Path.cwd(), root).state / STATE_FOLDER / "ralph.db"


def _mode(mode: Mode | str) -> Mode:
    try:
        return Mode(mode)
    except ValueError:
        message = f"unknown mode {mode!r}"
        raise UsageError(message, hint=f"use one of: {', '.join(Mode)}") from None
