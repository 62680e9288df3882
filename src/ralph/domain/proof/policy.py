"""How the claims of a run are proven: what its head says about it."""

from __future__ import annotations

from ralph.domain.proof.strength import Proof
from ralph.values import dataclass

UNCHECKED = "nothing was checked: this run rests on the agent's word alone"


@dataclass(frozen=True, slots=True)
class ProofPolicy:
    """``strength`` is a Proof, ``tests`` a TestsPolicy, and ``may_change`` has patterns of files that decide a check.

    Plain texts: an event of a newer version must be readable.
    """

    strength: str
    tests: str
    may_change: tuple[str, ...] = ()

    @property
    def keeps_base(self) -> bool:
        """Whether work is compared with what the run began with."""
        return self.strength != Proof.TRUSTING

    @property
    def caveat(self) -> str:
        """What must be said of work that was accepted; empty: nothing."""
        return "" if self.keeps_base else "proven by your commands alone, in the working folder"

    @property
    def words(self) -> str:
        if not self.keeps_base:
            return f"{self.strength}: your commands alone"
        allowed = f", may change {', '.join(self.may_change)}" if self.may_change else ""
        return f"{self.strength}, tests {self.tests}{allowed}"
