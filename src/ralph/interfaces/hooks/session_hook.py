"""SessionStart and SessionEnd: the notes of the session are removed, so that its alerts are armed again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ralph.interfaces.hooks.session_files import ALERTS, BLOCKS, forget, session_file

if TYPE_CHECKING:
    from ralph.interfaces.hooks.event import HookEvent


def tidy_session(event: HookEvent) -> None:
    for kind in (ALERTS, BLOCKS):
        if path := session_file(kind, event.session, event.environ):
            forget(path)
