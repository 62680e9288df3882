"""What happens next to a pull request? One pure function, ``deliver``, from facts to a step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ralph.domain.delivery.facts import (
    CheckState,
    Facts,
    MergeMethod,
    PullRequest,
    PullState,
    Remark,
    RemarkKind,
    Verdict,
)
from ralph.domain.delivery.standing import CheckStanding, Standing, checks_of
from ralph.values import dataclass

MOST_UPDATES = 10
"""Times in a row that a moving base is merged into a branch which nobody works on: others may merge faster than CI runs."""
MOST_NAMED = 5
LATE = 60.0
"""Seconds within which the checks of a commit should have started."""
NO_CHECK = (
    "no check has started, and a pull request without checks is not green"
    " (if the repository has none: pullRequest.ci is false)"
)
_ENDED = {
    CheckState.CANCELLED: "was cancelled",
    CheckState.TIMED_OUT: "timed out",
    CheckState.BROKEN: "could not start",
}


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing can be done now. ``for_people``: CI will not change that."""

    reason: str
    for_people: bool = False


@dataclass(frozen=True, slots=True)
class Fix:
    """A session must work on it: on failed checks, on a conflict with the base, on what reviewers said."""

    reason: str
    checks: tuple[CheckStanding, ...] = ()
    remarks: tuple[Remark, ...] = ()
    is_conflict: bool = False


@dataclass(frozen=True, slots=True)
class Rerun:
    """Run these checks once more on the same commit."""

    reason: str
    checks: tuple[CheckStanding, ...]


@dataclass(frozen=True, slots=True)
class Update:
    """Merge the base, which has moved, into the branch."""

    reason: str


@dataclass(frozen=True, slots=True)
class Merge:
    """By the forge's own rules."""

    reason: str
    method: MergeMethod


@dataclass(frozen=True, slots=True)
class Ask:
    """Only a person can decide. ``hint``: what they can do."""

    reason: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing is left to do for ralph. ``is_good`` False: it was closed without being merged."""

    reason: str
    is_good: bool = True


Step = Wait | Fix | Rerun | Update | Merge | Ask | Done


def deliver(facts: Facts) -> Step:
    """The first rule that applies decides; each is about the commit at the head of the pull request, and no other."""
    pull = facts.pull
    if (over := _over(pull)) is not None:
        return over
    if (moved := _head_moved(facts)) is not None:
        return moved
    if pull.is_mergeable is False:  # its checks, however green, are of a commit that can no longer be merged
        return Fix(f"{pull.branch} conflicts with {pull.base}", is_conflict=True)
    checks = checks_of(facts)
    if under_way := [check.name for check in checks if check.standing is Standing.PENDING and check.run]:
        return Wait(f"waits for {_list(under_way)}")  # one session for all that fails, not one for each
    if remarks := open_remarks(facts):
        return Fix(_said_by(remarks), remarks=remarks, checks=_standing_in(checks, Standing.FAILED))
    if not checks and facts.policy.has_ci:
        return Wait(NO_CHECK)
    return _judge(facts, checks)


def _judge(facts: Facts, checks: Sequence[CheckStanding]) -> Step:
    """Every check that has begun has ended."""
    if again := _standing_in(checks, Standing.TRANSIENT, Standing.FLAKY):
        return Rerun(_why_again(again), again)
    if failed := _standing_in(checks, Standing.FAILED):
        if (repaired := _repaired(facts, failed)) is not None:
            return repaired
        if facts.tried.is_futile:
            return _futile(failed, facts.tried.reruns)
        return Fix(f"failed: {_list([check.name for check in failed])}", checks=failed)
    if stubborn := _standing_in(checks, Standing.STUBBORN):
        return _stubborn(stubborn)
    if missing := _named(checks, Standing.PENDING):
        return Wait(_not_begun(facts, missing))
    if held := _named(checks, Standing.HELD):
        return Wait(f"{_list(held)} needs a person's approval to run", for_people=True)
    if on_base := _named(checks, Standing.ON_BASE):
        base = facts.pull.base
        reason = f"{_list(on_base)} fails on {base} too: that is not this branch's doing"
        return Ask(reason, f"repair {base}, then `ralph resume`: the branch is updated from it")
    return _green(facts, checks)


def _not_begun(facts: Facts, names: Sequence[str]) -> str:
    """One that runs on the base alone, such as a deployment, never begins here: say where it is known from."""
    if facts.policy.checks or facts.required.checks is not None:
        return f"waits for {_list(names)}, which has not started"
    on_base = {run.name for run in facts.base_checks}
    if not on_base.intersection(names):
        return f"waits for {_list(names)}, which ran on an earlier commit and has not started on this one"
    only = "pullRequest.checks can name the checks that count"
    return f"waits for {_list(names)}, which ran on {facts.pull.base} and has not started here ({only})"


def _green(facts: Facts, checks: Sequence[CheckStanding]) -> Step:
    pull, policy = facts.pull, facts.policy
    if (
        facts.tried.is_merging and not facts.required.is_strict
    ):  # a push would take it out of the forge's queue
        return _merging()
    if facts.has_moved and (facts.tried.updates < MOST_UPDATES or facts.required.is_strict):
        return Update(f"{pull.base} has moved since the checks ran")
    if _may_be_late(facts):
        return Wait("waits a moment for checks that may still start: nobody says which there are")
    if objecting := [review.author for review in facts.reviews if review.verdict is Verdict.OBJECTS]:
        return Wait(f"waits for another review by {_list(objecting)}", for_people=True)
    approvals = sum(review.verdict is Verdict.APPROVED for review in facts.reviews)
    if approvals < facts.required.approvals:
        return Wait(
            f"waits for reviews: {approvals} of {facts.required.approvals} approvals", for_people=True
        )
    if pull.is_mergeable is None:
        return Wait("the forge has not said yet whether it can be merged")
    if policy.merge is MergeMethod.OFF:
        return Done(_ready(facts, checks))
    if pull.is_draft:
        return Wait("it is a draft: a person must mark it as ready", for_people=True)
    if facts.tried.is_merging:
        return _merging()
    return Merge("green", policy.merge)


def _may_be_late(facts: Facts) -> bool:
    """Neither the settings nor the forge, the base or an earlier commit say which checks there are: another one may start
    any second."""
    is_named = facts.policy.checks or facts.required.checks is not None
    was_seen = facts.base_checks or (facts.earlier and facts.tried.seen)
    return facts.policy.has_ci and not is_named and not was_seen and facts.age < LATE


def _merging() -> Wait:
    return Wait("the forge merges it when its own rules hold", for_people=True)


def open_remarks(facts: Facts) -> tuple[Remark, ...]:
    """What people who may write have said about the change, and nobody has answered yet; talk besides asks for nothing."""
    if not facts.policy.answers_reviews:
        return ()
    return tuple(
        remark
        for remark in facts.remarks
        if remark.is_trusted
        and remark.kind is not RemarkKind.COMMENT
        and remark.id not in facts.tried.answered
    )


def _over(pull: PullRequest) -> Done | None:
    by = f" by {pull.by}" if pull.by else ""
    match pull.state:
        case PullState.MERGED:
            commit = f" as {pull.merge_commit[:12]}" if pull.merge_commit else ""
            return Done(f"merged{by}{commit}")
        case PullState.CLOSED:
            return Done(f"closed{by} without being merged; {pull.branch} keeps the work", is_good=False)
        case PullState.OPEN:
            return None


def _head_moved(facts: Facts) -> Step | None:
    pull = facts.pull
    if pull.head == facts.ours:
        return None
    if pull.head in facts.earlier:
        return Wait("the forge has not processed the push yet")
    reason = f"someone else pushed {pull.head[:12]} to {pull.branch}; ralph pushes only over its own commits"
    pull_it = f"git pull --no-rebase {facts.policy.remote} {pull.branch}"
    hint = f"run `{pull_it}`, then `ralph resume`, or continue by hand"
    return Ask(reason, hint)


def _stubborn(checks: Sequence[CheckStanding]) -> Step:
    """What hangs twice is likely the work's own; what is cancelled twice, or cannot start, is not."""
    hung = tuple(check for check in checks if check.run and check.run.state is CheckState.TIMED_OUT)
    if hung:
        return Fix(f"timed out twice: {_list([check.name for check in hung])}", checks=hung)
    words = ", ".join(f"{check.name} {_ended(check)}" for check in checks)
    return Ask(f"twice without a result: {words}", "look at it there, then `ralph resume`")


def _repaired(facts: Facts, failed: Iterable[CheckStanding]) -> Update | None:
    """What failed on the base as well, and does not any more, may be repaired by the base: that costs no session."""
    names = [check.name for check in failed if check.name in facts.tried.on_base]
    if not names or not facts.has_moved or facts.tried.updates:
        return None
    return Update(f"{_list(names)} does not fail on {facts.pull.base} any more")


def _futile(checks: tuple[CheckStanding, ...], reruns: frozenset[str]) -> Step:
    """A session found nothing to change, and what must pass here passes: another one would find nothing either."""
    names = _list([check.name for check in checks])
    if again := tuple(check for check in checks if check.name not in reruns):
        return Rerun(f"{names} failed, but a session found nothing to change", again)
    reason = f"{names} failed again, and a session found nothing to change"
    return Ask(reason, "see its log; commit what it needs, or let it pass there, then `ralph resume`")


def _why_again(checks: Sequence[CheckStanding]) -> str:
    words = (
        f"{check.name} passed and failed on one commit"
        if check.standing is Standing.FLAKY or check.run is None
        else f"{check.name} {_ended(check)}"
        for check in checks[:MOST_NAMED]
    )
    return "; ".join(words)


def _ended(check: CheckStanding) -> str:
    return _ENDED.get(check.run.state, "ended") if check.run is not None else "ended"


def _ready(facts: Facts, checks: Sequence[CheckStanding]) -> str:
    flaky = [check.name for check in checks if check.is_flaky]
    note = f" ({_list(flaky)} is flaky)" if flaky else ""
    passed = "no checks, as the settings say" if not facts.checks else "every check passed"
    draft = "; it is still a draft" if facts.pull.is_draft else ""
    return f"ready to be merged: {passed}{note}{draft}"


def _said_by(remarks: Sequence[Remark]) -> str:
    number = "a remark" if len(remarks) == 1 else f"{len(remarks)} remarks"
    return f"{number} by {_list(dict.fromkeys(remark.author for remark in remarks))}"


def _standing_in(checks: Iterable[CheckStanding], *standings: Standing) -> tuple[CheckStanding, ...]:
    return tuple(check for check in checks if check.standing in standings)


def _named(checks: Iterable[CheckStanding], standing: Standing) -> list[str]:
    return [check.name for check in checks if check.standing is standing]


def _list(names: Iterable[str]) -> str:
    found = list(names)
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return ", ".join(found[:MOST_NAMED]) + more
