"""The state of a run between two iterations: everything that a resumed run needs."""

from __future__ import annotations

from ralph.domain.loop.decision import Accept, Continue, Decision, Outcome, Retry, Stop, Troubles, is_denied
from ralph.domain.loop.evidence import Evidence
from ralph.domain.loop.feedback import Feedback
from ralph.domain.loop.ledger import Ledger, attempt_of
from ralph.domain.loop.session_report import Obstacle, Spend
from ralph.domain.loop.unjudged import UnjudgedSession
from ralph.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class LoopState:
    """Immutable; each step of the loop makes the next one."""

    iteration: int = 0  # judged sessions so far; the next one is iteration + 1
    attempt: int = 0  # launches of the next iteration so far
    troubles: Troubles = Troubles()
    spend: Spend = Spend()
    assignment: str = ""  # whose feedback this is
    feedback: tuple[Feedback, ...] = ()  # for the next prompt
    failing: tuple[str, ...] = ()  # the checks that failed last time
    failures: tuple[str, ...] = ()  # and how
    concerns: tuple[str, ...] = ()
    accepted: str = ""  # the assignment accepted last: a resumed run must not repeat it
    fingerprint: str = ""
    commit: str = ""  # of the workspace; empty: unknown
    unchanged: int = 0  # iterations in a row that left the workspace as it was
    repeated: int = 0  # iterations in a row that failed with exactly the same message
    green: int = 0  # iterations in a row that passed every check, without a claim
    seconds: float = 0.0  # of the run so far, in all its processes
    denied: int = 0  # claims that the checks denied
    unjudged: UnjudgedSession | None = None  # judged by the next iteration, which has no session of its own
    ledger: Ledger = Ledger()  # what earlier sessions did

    def timed(self, seconds: float) -> LoopState:
        return replace(self, seconds=seconds)

    def launching(self, assignment: str, *, forgets_unjudged: bool = False) -> LoopState:
        """What is left of another assignment is not for this one; nor is, if it says so, its own unjudged session."""
        is_same = assignment == self.assignment
        return replace(
            self,
            attempt=self.attempt + 1,
            assignment=assignment,
            feedback=self.feedback if is_same else (),
            unjudged=self.unjudged if is_same and not forgets_unjudged else None,
        )

    def spending(self, spend: Spend) -> LoopState:
        """Every session costs money and time, including commit messages and retries."""
        return replace(self, spend=self.spend + spend)

    def concerned(self, concern: str) -> LoopState:
        """Each concern is kept once."""
        return self if concern in self.concerns else replace(self, concerns=(*self.concerns, concern))

    def judged(self, evidence: Evidence, decision: Decision) -> LoopState:
        """What was there without a session was judged: that costs too, and may be of concern."""
        state = self
        for result in evidence.results:
            state = state.spending(result.spend)
            state = state.concerned(result.concern) if result.concern else state
        if isinstance(decision, Retry):
            return replace(state, troubles=self._more_troubles(evidence, decision))
        return replace(state, troubles=Troubles())

    def after(self, evidence: Evidence, decision: Decision) -> LoopState:
        """The state after a session. Only a judged one counts; others keep the feedback for the next."""
        is_unjudged = evidence.hindrance is not None and evidence.report.hindrance is None
        kept = replace(self, unjudged=UnjudgedSession.of(evidence.report)) if is_unjudged else self
        if isinstance(decision, Retry):
            return replace(kept, troubles=self._more_troubles(evidence, decision))
        if isinstance(decision, Stop) and (
            decision.outcome is Outcome.CANCELLED or evidence.hindrance is not None
        ):
            return kept
        unchanged = bool(evidence.fingerprint) and evidence.fingerprint == self.fingerprint
        repeated = bool(evidence.failures) and evidence.failures == self.failures
        return replace(
            self,
            iteration=self.iteration + 1,
            attempt=0,
            troubles=Troubles(),
            unjudged=None,
            feedback=decision.feedback if isinstance(decision, Continue) else (),
            denied=self.denied
            + is_denied(claimed=evidence.claimed, has_failed=bool(evidence.failed), decision=decision.kind),
            failing=evidence.failing,
            failures=evidence.failures,
            accepted=self.assignment if isinstance(decision, Accept) else self.accepted,
            fingerprint=evidence.fingerprint,
            commit=evidence.commit or self.commit,
            # A role that accepts the work of another changes nothing, and is still progress.
            unchanged=self.unchanged + 1 if unchanged and not isinstance(decision, Accept) else 0,
            repeated=self.repeated + 1 if repeated else 0,
            green=self.green + 1 if evidence.is_unclaimed and isinstance(decision, Continue) else 0,
            ledger=self.ledger.noted(attempt_of(self.iteration + 1, self.assignment, evidence, decision)),
        )

    def resumed(self, uncounted: Spend, *, seconds: float, was_cut: bool = False) -> LoopState:
        """For a later process: with what was spent since it was last saved, and the time that it took in all.

        The user wants it to continue, so standstill and temporary faults count from zero. ``was_cut``: the launch that
        was under way counts, because every launch does.
        """
        return replace(
            self,
            iteration=self.iteration + was_cut,
            attempt=0 if was_cut else self.attempt,
            spend=self.spend + uncounted,
            # A clock that was set back must not reduce the time.
            seconds=max(self.seconds, seconds),
            troubles=Troubles(),
            unchanged=0,
            repeated=0,
        )

    def continued(self, uncounted: Spend, *, seconds: float) -> LoopState:
        """For the next process of a run that was handed over: nobody looked at it, so everything counts on."""
        return replace(self, spend=self.spend + uncounted, seconds=max(self.seconds, seconds))

    @property
    def standstill(self) -> int:
        """Iterations in a row without any sign of progress."""
        return max(self.unchanged, self.repeated)

    def _more_troubles(self, evidence: Evidence, decision: Retry) -> Troubles:
        # A limit, or a network that is away, says nothing about faults: waiting must not use up the retries.
        hindrance = evidence.hindrance
        if decision.since is not None:
            return Troubles(offline=self.troubles.offline + 1, offline_since=decision.since)
        if hindrance is not None and hindrance.obstacle is Obstacle.RATE_LIMITED:
            return Troubles(limits=self.troubles.limits + 1)
        return Troubles(faults=self.troubles.faults + 1)
