"""What the ralph that does one shift of a job is told: how far it may go, and what happened since the shift before."""

from __future__ import annotations

from ralph.domain.fleet.shift import Steer
from ralph.domain.sandbox.kind import STRONGEST
from ralph.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftTerms:
    """``continues``: it takes over a run that was handed over; False: its first shift, or a person wants one that had ended
    to continue. ``waited`` and ``lost_*``: as in ``ShiftOrder``. ``sandbox``: what this machine's owner demands at least.
    ``repository``: the address of the job's.
    """

    sessions: int = 1
    longest_wait: float = 2.0
    may_merge: bool = False
    continues: bool = False
    waited: float = 0.0
    lost_cost: float = 0.0
    lost_tokens: int = 0
    notes: tuple[Steer, ...] = ()
    sandbox: str = STRONGEST
    repository: str = ""
