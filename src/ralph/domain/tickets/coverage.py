"""Which imported work a run is prepared for: sandbox and tokens are decided when it starts, tickets may come later."""

from __future__ import annotations

from enum import IntEnum

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
