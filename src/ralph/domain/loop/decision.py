"""What next? One pure function, ``decide``, from evidence to decision."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, assert_never

from ralph.domain.agent.network import no_network
from ralph.domain.loop.budget import Backoff
from ralph.domain.loop.claims import Claim
from ralph.domain.loop.evidence import Evidence, Verdict
from ralph.domain.loop.feedback import Feedback
from ralph.domain.loop.session_report import AgentReport, Ending, Hindrance, Obstacle, Transient
from ralph.domain.proof.layer_names import check_list
from ralph.domain.text.exits import exit_words
from ralph.domain.text.figures import whole_duration
from ralph.values import dataclass, replace


class Outcome(StrEnum):
    """How a run ended."""

    COMPLETED = "completed"  #: nothing is left to do
    EXHAUSTED = "exhausted"  #: a limit was reached: iterations, money, time, stuck
    WAITING = "waiting"  #: something outside must happen first
    CANCELLED = "cancelled"  #: the user said stop
    FAILED = "failed"  #: it cannot continue


class Acceptance(StrEnum):
    """What an assignment needs to be accepted."""

    CLAIM = "claim"
    PROOF = "proof"
    CLAIM_AND_PROOF = "claim_and_proof"


class DecisionKind(StrEnum):
    """The word in events, JSON and the database; ``domain/views/decisions`` has the words for people.

    Read back it is a plain ``str``: another version of ralph may have written another word.
    """

    ACCEPT = "accept"
    CONTINUE = "continue"
    RETRY = "retry"
    GIVE_UP = "giveup"
    STOP = "stop"


STOPPED = "stopped by the user"

JUDGED = frozenset({DecisionKind.ACCEPT, DecisionKind.CONTINUE, DecisionKind.GIVE_UP})
"""The decisions about the work itself."""


def is_denied(*, claimed: bool, has_failed: bool, decision: str) -> bool:
    """It claimed to be done, and what was checked proved otherwise. ``decision``: its word."""
    return claimed and has_failed and decision in JUDGED and decision != DecisionKind.ACCEPT


@dataclass(frozen=True, slots=True)
class Accept:
    """The assignment is done."""

    reason: str
    kind: ClassVar[DecisionKind] = DecisionKind.ACCEPT


@dataclass(frozen=True, slots=True)
class Continue:
    """Another iteration, with this feedback in its prompt."""

    reason: str
    feedback: tuple[Feedback, ...] = ()
    kind: ClassVar[DecisionKind] = DecisionKind.CONTINUE


@dataclass(frozen=True, slots=True)
class Retry:
    """The same iteration again, not counted: after ``delay`` seconds, and not before ``until`` (epoch).

    ``since``: there has been no network since then (epoch). ``obstacle``: what it waits for to pass.
    """

    reason: str
    delay: float = 0.0
    until: float | None = None
    since: float | None = None
    obstacle: Obstacle | None = None
    kind: ClassVar[DecisionKind] = DecisionKind.RETRY


@dataclass(frozen=True, slots=True)
class GiveUp:
    """This assignment will not be accepted as it is; its work decides what happens to it."""

    reason: str
    kind: ClassVar[DecisionKind] = DecisionKind.GIVE_UP


@dataclass(frozen=True, slots=True)
class Stop:
    """The run ends here. ``is_final``: the session did that, so its assignment fails with it."""

    outcome: Outcome
    reason: str
    hint: str = ""
    is_final: bool = False
    kind: ClassVar[DecisionKind] = DecisionKind.STOP


Decision = Accept | Continue | Retry | GiveUp | Stop


def was_cut_short(decision: str | None, outcome: str | None) -> bool:
    """Whether a run's last recorded session ended before it was judged: its work may be half done.

    ``decision`` None: the run's process was killed. ``outcome`` is that of the run after the session: only CANCELLED
    means that the user stopped it; None: killed first, probably by a user who had asked for a stop.
    """
    if decision is None:
        return True
    return decision == DecisionKind.STOP and outcome in (None, Outcome.CANCELLED)


@dataclass(frozen=True, slots=True)
class Rules:
    """What a profile demands. ``max_attempts``: launches per iteration before a temporary fault ends the run."""

    acceptance: Acceptance = Acceptance.CLAIM_AND_PROOF
    max_attempts: int = 4
    faults_count: bool = False  # a faulty session counts as an iteration instead of being retried
    wait_for_limits: bool = True
    wait_for_network: float = 43_200.0  # seconds without a network; then it is a fault like any other
    longest_limit: float = 8 * 86_400.0  # a reset farther away than any known limit is not believed
    backoff: Backoff = Backoff()
    limit_backoff: Backoff = Backoff(first=60.0, longest=900.0)
    network_backoff: Backoff = Backoff(longest=300.0)

    @property
    def waits_for_network(self) -> bool:
        """Not if every launch counts: a supervised run has a pace of its own."""
        return self.wait_for_limits and self.wait_for_network > 0 and not self.faults_count


def is_judgeable(report: AgentReport, rules: Rules) -> bool:
    """A session that was cut off or failed for outside reasons says nothing about the work: no checks."""
    if report.ending in (Ending.STOPPED, Ending.LIMITED):
        return False
    return report.fault is None or (rules.faults_count and isinstance(report.fault, Transient))


@dataclass(frozen=True, slots=True)
class Troubles:
    """How many launches in a row met a temporary fault, a limit, or no network (since when) before this one."""

    faults: int = 0
    limits: int = 0
    offline: int = 0
    offline_since: float | None = None


NO_TROUBLES = Troubles()


def decide(
    evidence: Evidence,
    rules: Rules,
    *,
    now: float,
    troubles: Troubles = NO_TROUBLES,
    acceptance: Acceptance | None = None,
    promise: str = "",
) -> Decision:
    """``acceptance`` and ``promise`` are the assignment's own, if any; ``now`` is compared with reset times."""
    report = evidence.report
    if report.ending is Ending.STOPPED:
        return Stop(Outcome.CANCELLED, STOPPED)
    if (own := report.hindrance) is not None and (
        decision := _decide_hindrance(own, rules, troubles, now)
    ) is not None:
        return decision
    demand = rules.acceptance if acceptance is None else acceptance
    if rejected := evidence.claim(Claim.REJECTED):
        return GiveUp(rejected.reason or "rejected")
    # A claim that could not be judged is neither accepted nor denied, whatever it needs besides.
    if own is None and (judges := evidence.hindrance) is not None and demand is not Acceptance.CLAIM:
        judges = replace(judges, reason=f"not judged yet: {judges.reason}")
        decision = _decide_hindrance(judges, rules, troubles, now)
        if decision is not None:
            return decision
    if _accepts(evidence, demand):
        return Accept(_why_accepted(evidence, demand))
    if waiting := evidence.claim(Claim.WAITING):
        return Stop(Outcome.WAITING, waiting.reason or f"the agent waits ({waiting.source})")
    return Continue(_why_not(evidence, demand, rules, promise), evidence.feedback)


def _decide_hindrance(hindrance: Hindrance, rules: Rules, troubles: Troubles, now: float) -> Decision | None:
    """None: it counts as an iteration that was judged."""
    reason, until = hindrance.reason, hindrance.until
    match hindrance.obstacle:
        case Obstacle.LIMIT_REACHED:
            return Stop(Outcome.EXHAUSTED, reason)
        case Obstacle.FATAL:
            return Stop(Outcome.FAILED, reason, hindrance.hint)
        case Obstacle.RATE_LIMITED:
            if not rules.wait_for_limits:
                return Stop(Outcome.WAITING, reason)
            if until is not None and now < until <= now + rules.longest_limit:
                return Retry(reason, delay=rules.backoff.first, until=until, obstacle=hindrance.obstacle)
            # No reset time, or an impossible one (it has passed and we are still refused): try now and then.
            return Retry(reason, rules.limit_backoff.delay(troubles.limits + 1), obstacle=hindrance.obstacle)
        case Obstacle.OFFLINE if rules.waits_for_network:
            return _wait_for_network(reason, rules, troubles, now)
        case Obstacle.TRANSIENT | Obstacle.OFFLINE:
            if rules.faults_count:
                return None
            tried = troubles.faults + 1
            if tried >= rules.max_attempts:
                return Stop(Outcome.FAILED, f"{reason} ({tried} times in a row)")
            return Retry(reason, delay=rules.backoff.delay(tried), obstacle=hindrance.obstacle)
        case _:  # pragma: no cover
            assert_never(hindrance.obstacle)


def _wait_for_network(reason: str, rules: Rules, troubles: Troubles, now: float) -> Decision:
    """Nobody can tell whether it comes back in a minute or in the morning: pauses grow, and each says since when."""
    since = now if troubles.offline_since is None else min(now, troubles.offline_since)
    away = now - since
    lasting = f" for {whole_duration(away)}" if away >= 1 else ""
    words = f"{no_network(reason, lasting=lasting)} ({reason})"
    if away >= rules.wait_for_network:
        return Stop(Outcome.FAILED, words, "limits.waitForNetwork says how long ralph waits for it")
    delay = rules.network_backoff.delay(troubles.offline + 1)
    delay = min(delay, rules.wait_for_network - away)
    return Retry(words, delay=delay, since=since, obstacle=Obstacle.OFFLINE)


def _accepts(evidence: Evidence, demand: Acceptance) -> bool:
    match demand:
        case Acceptance.CLAIM:
            return evidence.claimed
        case Acceptance.PROOF:
            return evidence.proven and evidence.has_proof
        case Acceptance.CLAIM_AND_PROOF:
            return evidence.claimed and evidence.proven


def _why_accepted(evidence: Evidence, demand: Acceptance) -> str:
    number = sum(1 + each.contains for each in evidence.results if each.verdict is Verdict.PASSED)
    passed = "1 check passed" if number == 1 else f"{number} checks passed"
    done = evidence.claim(Claim.DONE)
    if done is None:  # not demanded
        return passed
    match demand:
        case Acceptance.CLAIM:
            return done.words
        case Acceptance.PROOF:
            return passed
        case Acceptance.CLAIM_AND_PROOF:
            return (
                f"{done.words} and {passed}" if evidence.has_proof else f"{done.words}; nothing was checked"
            )


def _why_not(evidence: Evidence, demand: Acceptance, rules: Rules, promise: str) -> str:
    if evidence.failing and demand is not Acceptance.CLAIM:
        failing = check_list(evidence.failing)
        done = evidence.claim(Claim.DONE)
        return f"{done.words}, but still failing: {failing}" if done is not None else f"failing: {failing}"
    if evidence.report.ending is Ending.TIMED_OUT:
        return "the session ran out of time"
    if evidence.report.ending is Ending.IDLE:
        return "the session went silent and was ended"
    if not evidence.report.is_orderly:
        if rules.faults_count:  # its claim is a file, which counts whatever the exit code
            return f"{exit_words(evidence.report.exit_code)}; DONE is not there"
        if evidence.report.reason:
            return f"the session was cut short ({evidence.report.reason}): what it said does not count"
        return f"the agent failed ({exit_words(evidence.report.exit_code)}): what it said does not count"
    passes = "every check passes, but " if evidence.is_unclaimed else ""
    missing = f"<promise>{promise}</promise>" if promise else "DONE"
    said = ", ".join(f"<{tag.name}>{tag.content[:40]}</{tag.name}>" for tag in evidence.report.tags[:3])
    return f"{passes}the agent did not say {missing}{f' (it said {said})' if said else ''}"
