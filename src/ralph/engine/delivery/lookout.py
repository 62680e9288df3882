"""Looks at a pull request: all the facts about one head commit, as often as something may have changed, and no oftener."""

from __future__ import annotations

from collections.abc import Callable

from ralph.domain.delivery import pace
from ralph.domain.delivery.deliver import Ask, Step, Wait
from ralph.domain.delivery.facts import Facts, Policy, PullState, Required
from ralph.domain.delivery.progress import Waiting
from ralph.domain.delivery.seen import SeenCheck
from ralph.domain.delivery.standing import Standing, begun_again, checks_of
from ralph.domain.loop.events import PullRequestSeen
from ralph.engine.delivery.ports import Branch, DeliveryMemory, Forge
from ralph.engine.ports import Clock, Publish
from ralph.values import dataclass, field, replace

RULES_KEPT = 300.0
"""Seconds for which the base's rules are not asked for again."""


@dataclass(slots=True, kw_only=True)
class Lookout:
    """``others``: how many pull requests this process looks after. ``told``: what an earlier process told last, and when; a
    run that was handed over neither repeats it nor looks oftener again."""

    forge: Forge
    branch: Branch
    memory: DeliveryMemory
    policy: Policy
    publish: Publish
    clock: Clock
    others: Callable[[], int]
    told: tuple[PullRequestSeen, float] | None = None

    _told: PullRequestSeen | None = field(default=None, init=False)
    _waiting: Waiting | None = field(default=None, init=False)
    _unchanged: int = field(default=0, init=False)
    _pulse: str = field(default="", init=False)
    _looked: float = field(default=float("-inf"), init=False)
    _rules: tuple[float, Required] = field(default=(float("-inf"), Required()), init=False)

    def __post_init__(self) -> None:
        if self.told is not None:
            self._told, _ = self.told

    async def rest(self) -> Waiting | None:
        """Where many pull requests wait, one question about all of them tells which to look at."""
        between = pace.between_whole_looks(self.others(), self.forge.look_cost)
        number = self.memory.load().number
        if self._waiting is None or not between or not number:
            return None
        pulse = (await self.forge.pulse()).get(number, "")
        is_due = self.clock.monotonic() - self._looked >= between
        if pulse != self._pulse or is_due:
            return None
        return self.wait(self._waiting.reason, for_people=self._waiting.for_people)

    def stir(self) -> None:
        self._waiting, self._unchanged = None, 0

    async def look(self, number: int) -> Facts:
        """All of it about the head that the pull request has now."""
        if pace.between_whole_looks(
            self.others(), self.forge.look_cost
        ):  # before: what comes later is noticed
            self._pulse = (await self.forge.pulse()).get(number, "")
        self._looked = self.clock.monotonic()
        pull, delivered = await self.forge.pull(number), self.memory.load()
        if pull.state is not PullState.OPEN:
            return Facts(pull=pull, ours=delivered.pushed)
        checks = await self.forge.checks(pull.head)
        if done := begun_again(delivered.rerunning, checks):
            delivered = delivered.end_rerun(pull.head, done)
            self.memory.save(delivered)
        names = tuple(dict.fromkeys((*delivered.checks, *(run.name for run in checks))))
        if names != delivered.checks:
            delivered = replace(delivered, checks=names)
            self.memory.save(delivered)
        tip = await self.forge.tip(pull.base)
        opinions = await self.forge.opinions(number)
        facts = Facts(
            pull=pull,
            ours=delivered.pushed,
            earlier=frozenset(delivered.earlier),
            checks=checks,
            base_checks=await self.forge.checks(tip) if tip else (),
            required=await self._required(pull.base),
            reviews=opinions.reviews,
            remarks=opinions.remarks,
            has_moved=bool(tip) and not await self.branch.contains(tip),
            age=self.clock.now() - delivered.pushed_at,
            policy=self.policy,
            tried=delivered.tried(pull.head),
        )
        on_base = tuple(check.name for check in checks_of(facts) if check.standing is Standing.ON_BASE)
        if on_base and on_base != delivered.on_base:
            self.memory.save(replace(delivered, on_base=on_base))
        return facts

    async def _required(self, base: str) -> Required:
        at, known = self._rules
        now = self.clock.monotonic()
        if now - at < RULES_KEPT:
            return known
        found = await self.forge.required(base)
        self._rules = (now, found)
        return found

    def tell(self, facts: Facts, step: Step) -> None:
        seen = see(facts, step)
        if seen == self._told:
            return
        self._told, self._unchanged, self.told = seen, 0, None
        self.publish(seen)

    def wait(self, reason: str, *, for_people: bool) -> Waiting:
        if self.told is not None:
            age = self.clock.now() - self.told[1]
            self._unchanged, self.told = pace.looks_within(age, for_people=for_people), None
        seconds = pace.until_next_look(self._unchanged, for_people=for_people)
        self._unchanged += 1
        self._waiting = Waiting(reason, seconds, for_people, self._told)
        return self._waiting


def see(facts: Facts, step: Step) -> PullRequestSeen:
    """For the screens."""
    pull = facts.pull
    return PullRequestSeen(
        number=pull.number,
        url=pull.url,
        title=pull.title,
        branch=pull.branch,
        base=pull.base,
        head=pull.head,
        state=str(pull.state),
        step=type(step).__name__.lower(),
        reason=step.reason,
        checks=tuple(
            SeenCheck(
                check.name,
                str(check.standing),
                check.run.url if check.run is not None else "",
                check.is_flaky,
                check.is_required,
            )
            for check in checks_of(facts)
        ),
        for_people=isinstance(step, Wait) and step.for_people,
        is_draft=pull.is_draft,
        strangers=sum(not remark.is_trusted for remark in facts.remarks),
        hint=step.hint if isinstance(step, Ask) else "",
    )
