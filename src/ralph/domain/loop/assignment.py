"""What one iteration is asked to do, and the other answers of ``Work``."""

from __future__ import annotations

from collections.abc import Mapping

from ralph.domain.loop.decision import Acceptance
from ralph.domain.loop.evidence import Evidence
from ralph.values import dataclass, field


@dataclass(frozen=True, slots=True)
class Assignment:
    """``key`` names it in the journal and on screens; ``used`` of ``limit`` are its own iterations.

    ``forgets_unjudged``: a session of it that nobody could judge is not judged again; a new one is run.
    ``subject`` is the task or story as it was *before* the session: the trusted snapshot for checks and ``settle``.
    """

    key: str
    objective: str
    role: str = ""
    limit: int | None = None
    used: int = 0
    promise: str = ""
    acceptance: Acceptance | None = None
    forgets_unjudged: bool = False
    subject: object = None
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_exhausted(self) -> bool:
        return self.limit is not None and self.used >= self.limit


@dataclass(frozen=True, slots=True)
class Drained:
    """Nothing is left to do. ``unfinished``: what was given up, so the run is not complete."""

    reason: str = ""
    unfinished: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Blocked:
    """Something is left, but nothing can be done now. ``hint``: what must be done first."""

    reason: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Pending:
    """Nothing can be done now, but soon: the work is asked again after ``seconds``, without a session."""

    reason: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Judged:
    """A claim that needed no session was judged. The work is asked again, unless whoever judges must be waited for."""

    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Settled:
    """The iteration under way was judged by a process that was killed before the record said so. It counts now."""

    evidence: Evidence
    acceptance: Acceptance | None = None


Offer = Assignment | Drained | Blocked | Pending | Judged | Settled
