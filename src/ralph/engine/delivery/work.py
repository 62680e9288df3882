"""Work that is delivered when it is done: first what it is, then its way through the pull request, in one run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ralph.domain.delivery.patience import Patience
from ralph.domain.delivery.progress import Asking, Ended, Fixing, Waiting
from ralph.domain.delivery.receipt import Proof
from ralph.domain.loop.assignment import Assignment, Blocked, Drained, Offer, Pending
from ralph.domain.loop.decision import Accept, Acceptance, Decision
from ralph.domain.loop.evidence import Evidence, Verdict
from ralph.domain.loop.state import LoopState
from ralph.engine.delivery.delivery import Delivery
from ralph.engine.ports import Clock, Work

ROLE = "delivery"
"""Of the sessions that work on a pull request."""
KEY = "pull request"
CONTINUE = "`ralph resume` continues"
STAYS = 60.0
"""Seconds between two looks at one that is ready, and waits for somebody to merge it."""


class NoWork:
    """For a branch that is there already: nothing has to be done before it is delivered. ``why``: to tell."""

    def __init__(self, why: str = "") -> None:
        self._why = why

    async def next(self, state: LoopState) -> Offer:
        return Drained(self._why)

    async def settle(self, assignment: Assignment, evidence: Evidence | None, decision: Decision) -> None:
        """Nothing was offered."""


class DeliveredWork:
    """``patience``: seconds without any change after which a wait for CI ends the run; ``stays``: also while people are
    waited for, and for as long as it takes. ``rebase``: what is there now is what later sessions are compared with."""

    def __init__(
        self,
        work: Work,
        delivery: Delivery,
        *,
        run_id: str,
        clock: Clock,
        patience: float,
        rebase: Callable[[], Awaitable[None]],
        stays: bool = False,
    ) -> None:
        self._work = work
        self._delivery = delivery
        self._run_id = run_id
        self._clock = clock
        self._patience = Patience(patience)
        self._rebase = rebase
        self._stays = stays
        self._fixing: Fixing | None = None  # what the next session is about

    async def next(self, state: LoopState) -> Offer:
        if not self._is_begun:
            offer = await self._work.next(state)
            if not isinstance(offer, Drained) or offer.unfinished:
                return offer
            await self._begin()
        progress = await self._delivery.advance()
        match progress:
            case Waiting():
                return self._wait(progress)
            case Fixing(objective=objective):
                self._fixing = progress
                return Assignment(
                    key=KEY, objective=objective, role=ROLE, acceptance=Acceptance.CLAIM_AND_PROOF
                )
            case Asking(reason, hint):
                return Blocked(reason, hint or CONTINUE)
            case Ended(reason, is_good=False):
                return Blocked(
                    reason, f"reopen it on the forge, then `ralph resume`; or ship {self._name} again"
                )
            case Ended(reason, is_merged=False) if self._stays:
                return Pending(reason, STAYS)
            case Ended(reason):
                return Drained(reason)

    async def begin_session(self) -> None:
        """From here on, what is committed may be the session's: nothing of it is pushed before it is accepted."""
        if self._fixing is not None:
            self._delivery.hand_over(self._fixing, tip=await self._delivery.branch.tip())

    async def settle(self, assignment: Assignment, evidence: Evidence | None, decision: Decision) -> None:
        if assignment.role != ROLE:
            return await self._work.settle(assignment, evidence, decision)
        if isinstance(decision, Accept) and evidence is not None:
            commit = await self._delivery.branch.commit_left(f"Fix what keeps {self._name} from being merged")
            self._delivery.accept(commit, proofs_of(evidence))
            await self._rebase()
        else:
            await self._delivery.leave()
        return None

    @property
    def _name(self) -> str:
        return self._delivery.branch.name

    @property
    def _is_begun(self) -> bool:
        return self._delivery.memory.load().run_id == self._run_id

    async def _begin(self) -> None:
        """What was accepted is a commit from here on, and the run's further sessions are about the pull request."""
        if not isinstance(self._work, NoWork) and not self._delivery.memory.load().handed:
            await self._delivery.branch.commit_left(self._delivery.order.purpose.title or "Accepted work")
            await self._rebase()
        self._delivery.begin(self._run_id)

    def _wait(self, waiting: Waiting) -> Offer:
        left = self._patience.left(self._clock.monotonic(), waiting.seen)
        if self._stays:
            return Pending(waiting.reason, waiting.seconds)
        if waiting.for_people:
            return Blocked(
                waiting.reason, f"{CONTINUE} when that has happened; `ralph ship --watch` waits for it"
            )
        if left <= 0:
            return Blocked(waiting.reason, f"{CONTINUE}; `ralph ship --watch` waits for as long as it takes")
        return Pending(waiting.reason, min(waiting.seconds, left))


def proofs_of(evidence: Evidence) -> tuple[Proof, ...]:
    """The commands that passed, each once."""
    passed = (
        Proof(result.command, result.exit_code)
        for result in evidence.results
        if result.command and result.verdict is Verdict.PASSED
    )
    return tuple(dict.fromkeys(passed))
