"""The state file of a loop inside a session, as ``ralph`` itself keeps it: ``.ralph/state/ralph-loop.json``."""
# Importing pathlib alone would cost a hook a quarter of its start.
# ruff: noqa: PTH118

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ralph.interfaces.hooks.places import STATE_FOLDER, project_of
from ralph.operations.atomic_files import read_whole

if TYPE_CHECKING:
    from ralph.domain.promise.loop_state import RalphLoopState
    from ralph.interfaces.hooks.protocol import HookEvent

STATE_FILE = f"{STATE_FOLDER}/state/ralph-loop.json"
LARGEST_STATE = 1_000_000


def loop_places(event: HookEvent) -> list[str]:
    """Where a loop of this session may be kept; a new one goes to the first. None in the project of another user."""
    projects = (project_of(start, event.environ) for start in event.starts)
    return [os.path.join(project, STATE_FILE) for project in projects if project is not None]


def loop_file(event: HookEvent) -> str | None:
    """The file, if there is one."""
    return next(filter(os.path.lexists, loop_places(event)), None)


def read_loop(path: str | None) -> RalphLoopState | None:
    """None if there is none or it makes no sense; ``ralph`` sets such a file aside, a hook leaves it alone."""
    import json

    from ralph.domain.promise.loop_state import state_from_document

    data = read_whole(path, LARGEST_STATE) if path is not None else None
    try:
        document = json.loads(data) if data else None
    except (ValueError, RecursionError):
        return None
    return state_from_document(document)[0]


def write_loop(path: str, state: RalphLoopState) -> None:
    import json
    from pathlib import Path

    from ralph.domain.promise.loop_state import state_to_document
    from ralph.operations.atomic_files import make_state_folder, write_atomic

    file = Path(path)
    make_state_folder(file.parent.parent)
    file.parent.mkdir(0o700, exist_ok=True)
    write_atomic(file, json.dumps(state_to_document(state), indent=2) + "\n")
