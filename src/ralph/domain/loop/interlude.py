"""What lay between two processes of a run that was handed over from one to the other."""

from __future__ import annotations

from ralph.domain.loop.session_report import Spend
from ralph.values import dataclass


@dataclass(frozen=True, slots=True)
class Interlude:
    """``seconds``: the run waited for so long; ``lost``: sessions that were lost with their machine had spent this.

    ``by_user``: a person wants the run to continue, so it is resumed as on one machine.
    """

    seconds: float = 0.0
    lost: Spend = Spend()
    by_user: bool = False
