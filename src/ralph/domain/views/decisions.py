"""What people read about a decision: the words and the tone of every screen and report."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from ralph.domain.loop.claims import Claim
from ralph.domain.loop.decision import DecisionKind
from ralph.domain.loop.evidence import Verdict

if TYPE_CHECKING:
    from ralph.domain.views.iterations import IterationView  # `ralph run` does not need the fold


class Tone(StrEnum):
    """How the words are meant; each face has its own colour for it."""

    GOOD = "good"
    OPEN = "open"  #: more to do, or in progress
    QUIET = "quiet"  #: it says nothing about the work
    WARNING = "warning"
    BAD = "bad"


class Wording(NamedTuple):
    """``now`` replaces ``words`` at the moment it happens."""

    words: str
    tone: Tone
    now: str = ""

    @property
    def announcement(self) -> str:
        """The start of a sentence at the moment it happens."""
        said = self.now or self.words
        return said[:1].upper() + said[1:]


WORDINGS = {
    DecisionKind.ACCEPT: Wording("accepted", Tone.GOOD),
    DecisionKind.CONTINUE: Wording("not done yet", Tone.OPEN),  # also after the last iteration allowed
    DecisionKind.RETRY: Wording("tried again", Tone.QUIET, now="trying again"),
    DecisionKind.GIVE_UP: Wording("given up", Tone.BAD),
    DecisionKind.STOP: Wording("stopped", Tone.WARNING, now="stopping"),
}
SENT_BACK = Wording("sent back", Tone.OPEN)
UNDER_WAY = Wording("under way", Tone.OPEN)
INTERRUPTED = Wording("interrupted", Tone.BAD)


def describe_decision(decision: str, claims: Sequence[str] = ()) -> Wording:
    """``claims`` are those of the judged session: one that rejects the work of another has done its own.

    A decision that this version of ralph does not know is shown as it is.
    """
    if decision == DecisionKind.GIVE_UP and any(claim.startswith(Claim.REJECTED) for claim in claims):
        return SENT_BACK
    try:
        return WORDINGS[DecisionKind(decision)]
    except ValueError:
        return Wording(decision, Tone.OPEN)


def stage_count(role: str, used: int, limit: int | None) -> str:
    """Whose turn it is, and which of the iterations that it may have: the prompt counts them so too."""
    return f"{role} {used}" if limit is None else f"{role} {used} of {limit}"


def describe_verdict(verdict: Verdict) -> str:
    """A check that errored says nothing about the work."""
    return "not judged" if verdict is Verdict.ERRORED else verdict.value


def describe_iteration(each: IterationView, *, live: bool = False) -> Wording:
    """``live``: the run is active, so an iteration without a decision may be too."""
    if each.decision:
        return describe_decision(each.decision, each.claims)
    return UNDER_WAY if live and each.last_seq is None else INTERRUPTED
