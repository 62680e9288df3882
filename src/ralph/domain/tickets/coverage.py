"""Which imported work a run is prepared for: sandbox and tokens are decided when it starts, tickets may come later."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from ralph.domain.sandbox.kind import AUTO, STRONGEST, SandboxKind

if TYPE_CHECKING:  # every run loads this, and hardly any has a ticket
    from ralph.domain.tickets.known import KnownTicket

TOO_LATE = "came after this run had begun, which is not prepared for it: `ralph work` again works on it"


class Imports(IntEnum):
    """Each includes those before it."""

    NONE = 0
    FILES = 1  #: of the project itself: in a sandbox wherever one can be had
    TRACKERS = 2  #: where others write, too: in a sandbox or not at all, and without their tokens


def covers(imports: Imports, known: KnownTicket) -> bool:
    """Whether a run that is prepared for so much may work on this ticket."""
    return imports >= (Imports.TRACKERS if known.is_shared else Imports.FILES)


def sandbox_for(imports: Imports, kind: str | None, *, is_users: bool) -> str | None:
    """The sandbox for such work. ``kind``: as the settings say; ``is_users``: the user says so, and not the repository.

    Only their own `none` switches it off. What comes from a tracker is not done without one; what comes from the project's own
    files, wherever one can be had.
    """
    is_off = kind == SandboxKind.NONE and is_users
    is_strong = kind not in (None, AUTO, SandboxKind.NONE)
    if is_off or is_strong or imports is Imports.NONE:
        return kind
    return STRONGEST if imports is Imports.TRACKERS else AUTO
