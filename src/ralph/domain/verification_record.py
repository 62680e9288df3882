"""What is kept of each verification and of each settled stage: the seed's ``verification_results``, and figures."""

from __future__ import annotations

from dataclasses import dataclass

from ralph.domain.evidence import Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationRecord:
    """One verification of one iteration. ``at`` is in seconds since the epoch."""

    task_id: str
    role: str
    iteration: int
    method: str
    promise_found: bool
    verified: bool
    reason: str
    at: float
    seconds: float = 0.0
    run_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRecord:
    """A stage that is over: accepted, or given up. ``iterations`` are those of this visit."""

    task_id: str
    role: str
    method: str
    accepted: bool
    iterations: int
    at: float
    seconds: float = 0.0
    cost_usd: float | None = None
    tokens: int = 0
    reason: str = ""
    run_id: str = ""


def why_not(evidence: Evidence) -> str:
    """What each check that does not hold had to say, in one line; empty if all hold."""
    failing = (result for result in evidence.results if not result.holds)
    told = (f"{one.name}: {one.reason.strip().partition(chr(10))[0]}" for one in failing)
    return "; ".join(one.removesuffix(": ") for one in told)
