"""Where a run stands between two iterations: everything a resumed run needs to know."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ralph.domain.decision import Continue, Decision, Outcome, Retry, Stop
from ralph.domain.evidence import Evidence
from ralph.domain.feedback import Feedback
from ralph.domain.report import Spend


@dataclass(frozen=True, slots=True)
class LoopState:
    iteration: int = 0  # judged sessions so far; the next one is iteration + 1
    attempt: int = 0  # launches of the next iteration so far
    spend: Spend = Spend()
    feedback: tuple[Feedback, ...] = ()  # for the next prompt
    concerns: tuple[str, ...] = ()
    fingerprint: str = ""
    unchanged: int = 0
    started_at: float = 0.0
    earlier_seconds: float = 0.0  # used by this run before it was resumed

    def elapsed(self, now: float) -> float:
        # A clock that was set back must not give time back.
        return self.earlier_seconds + max(0.0, now - self.started_at)

    def launching(self) -> LoopState:
        return replace(self, attempt=self.attempt + 1)

    def spending(self, spend: Spend) -> LoopState:
        """Money and time count whatever becomes of the session: commit messages and retries too."""
        return replace(self, spend=self.spend + spend)

    def concerned(self, concerns: tuple[str, ...]) -> LoopState:
        return replace(self, concerns=self.concerns + concerns) if concerns else self

    def after(self, evidence: Evidence, decision: Decision) -> LoopState:
        """The state after a session. Only a judged one counts; the others leave the feedback for the next."""
        unjudged = isinstance(decision, Stop) and (
            decision.outcome is Outcome.CANCELLED or evidence.report.fault is not None
        )
        if unjudged or isinstance(decision, Retry):
            return self
        same = bool(evidence.fingerprint) and evidence.fingerprint == self.fingerprint
        return replace(
            self,
            iteration=self.iteration + 1,
            attempt=0,
            feedback=decision.feedback if isinstance(decision, Continue) else (),
            fingerprint=evidence.fingerprint,
            unchanged=self.unchanged + 1 if same else 0,
        )
