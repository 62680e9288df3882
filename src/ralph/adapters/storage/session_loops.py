"""The promise loop of a Claude Code session (``/ralph:loop``), which holds its project as a run does."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ralph.adapters import beneath
from ralph.adapters.storage.places import local_folder
from ralph.domain.holder import Hold, Mode
from ralph.domain.text.strict_json import parse_json


def session_hold(workspace: Path) -> Hold | None:
    """Whether its process is alive is for the caller to say. None also if that process is not known."""
    folder = local_folder(workspace)
    if not os.path.lexists(folder):
        return None
    from ralph.adapters.storage.state_files import MOST_BYTES
    from ralph.domain.promise.loop_state import RALPH_LOOP_STATE_FILE, state_from_document
    from ralph.domain.promise.session_loop import owner_of, session_of

    path = folder / f"{RALPH_LOOP_STATE_FILE}.json"
    with suppress(OSError, ValueError):
        state, _ = state_from_document(
            parse_json(beneath.read_plain(path, MOST_BYTES, path.parents[1]).decode()).value
        )
        if state is not None and state.active and (session := session_of(state)):
            owner = owner_of(state)
            since = path.lstat().st_mtime
            if owner is not None:
                return Hold(str(workspace), Mode.EXECUTING, owner, since, session=session)
    return None
