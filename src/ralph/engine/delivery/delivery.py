"""One branch on its way through its pull request: prove, push, open, look, and do what ``deliver`` decides.

Each step is on record before or after it, and asks the remote or the forge first whether it was done already: so a
process may be killed anywhere, and the next one neither repeats nor forgets anything.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import assert_never

from ralph.domain.delivery import pace
from ralph.domain.delivery.deliver import Ask, Done, Fix, Merge, Rerun, Step, Update, Wait, deliver
from ralph.domain.delivery.facts import Facts, PullRequest, PullState, Remark
from ralph.domain.delivery.memory import Delivered
from ralph.domain.delivery.progress import Asking, Ended, Fixing, Progress, Waiting
from ralph.domain.delivery.receipt import Proof
from ralph.domain.delivery.standing import Standing
from ralph.domain.delivery.texts import FailureLog, fix_objective
from ralph.domain.loop.events import PullRequestSeen, Warned
from ralph.domain.proof.protection import is_ci
from ralph.domain.text.figures import whole_duration
from ralph.engine.delivery.departure import Departure
from ralph.engine.delivery.lookout import Lookout
from ralph.engine.delivery.order import PUT_AWAY, Order, Prove, some_of
from ralph.engine.delivery.ports import Branch, DeliveryMemory, Forge
from ralph.engine.ports import Clock, Publish
from ralph.errors import ServiceAway, ServiceRefused
from ralph.values import dataclass, field, replace

MOST_STEPS = 20
"""Of ralph's own in a row, without a look at what came of them."""
MOST_LOGS = 5
"""Failed checks whose logs one session gets."""


async def nothing_to_rebase() -> None:
    """Nobody compares anything."""


@dataclass(slots=True, kw_only=True)
class Delivery:
    """``others``: how many deliveries this process looks after; ``redact`` takes secrets out of what is sent. ``rebase``: what
    the base brought into the tree is what later sessions are compared with. ``is_protected``: files that no session may change."""

    forge: Forge
    branch: Branch
    memory: DeliveryMemory
    order: Order
    prove: Prove
    publish: Publish
    clock: Clock
    redact: Callable[[str], str] = str
    others: Callable[[], int] = lambda: 1
    rebase: Callable[[], Awaitable[None]] = nothing_to_rebase
    is_protected: Callable[[str], bool] = is_ci
    told: tuple[PullRequestSeen, float] | None = None  # by an earlier process

    _departure: Departure = field(init=False)
    _lookout: Lookout = field(init=False)
    _away: tuple[int, str] = field(default=(0, ""), init=False)  # how often in a row, and what was told of it

    def __post_init__(self) -> None:
        self._departure = Departure(
            forge=self.forge,
            branch=self.branch,
            memory=self.memory,
            order=self.order,
            prove=lambda commit: self.prove(commit),
            publish=self.publish,
            clock=self.clock,
            redact=self.redact,
        )
        self._lookout = Lookout(
            forge=self.forge,
            branch=self.branch,
            memory=self.memory,
            policy=self.order.policy,
            publish=self.publish,
            clock=self.clock,
            others=lambda: self.others(),
            told=self.told,
        )

    async def advance(self) -> Progress:
        """Everything that can be done now, and what is next. Raises ServiceRefused and GitFailed."""
        try:
            progress = await self._advance()
        except ServiceAway as error:
            return self._wait_for_forge(error)
        self._away = (0, "")
        return progress

    def _wait_for_forge(self, error: ServiceAway) -> Waiting:
        times, told = self._away
        self._away = (times + 1, error.message)
        seconds = max(1.0, pace.AWAY.delay(times + 1) if error.after is None else error.after)
        if error.message != told:
            self.publish(Warned(f"{error.message}; ralph tries again in {whole_duration(seconds)}"))
        return Waiting(error.message, seconds)

    def begin(self, run_id: str) -> None:
        """From now on this run delivers it."""
        self._departure.begin(run_id)

    @property
    def base(self) -> str:
        """The commit of the base that was merged last, or the branch began with; empty: not known."""
        return self.memory.load().base

    @property
    def pushed(self) -> str:
        return self.memory.load().pushed

    def hand_over(self, fixing: Fixing, *, tip: str = "") -> None:
        """A session will work on this: what it is told, and what it answers, survives a kill. ``tip``: the commit that it
        begins with; what it commits is pushed only after ``accept``. Without one, whoever calls sees to that."""
        self.memory.save(self.memory.load().hand_over(fixing.objective, fixing.remarks, tip))

    def accept(self, commit: str, proofs: tuple[Proof, ...]) -> None:
        """A session's work was judged and accepted: this is its commit. Idempotent."""
        delivered = self.memory.load()
        if delivered.told or delivered.proven != commit:
            delivered = delivered.fix(commit)
            self.memory.save(delivered if delivered.proven == commit else delivered.prove(commit, proofs))

    async def leave(self) -> None:
        """A session was not accepted. If it has committed nothing, whatever is committed later is the user's. A branch that it
        left checked out is not what the next command is to work on."""
        if left := await self.branch.return_home():
            self.publish(
                Warned(f"the session left {left} checked out; {self.branch.name} is checked out again")
            )
        delivered, tip = self.memory.load(), await self.branch.tip()
        if delivered.handed == tip:
            self.memory.save(replace(delivered, handed=""))

    async def _advance(self) -> Progress:
        for _ in range(MOST_STEPS):
            progress = await self._step()
            if progress is not None:
                return progress
        return Waiting(
            "the pull request changes faster than ralph can follow", pace.until_next_look(0, for_people=False)
        )

    async def _step(self) -> Progress | None:
        """None: something was done, and there may be more to do."""
        if (resting := await self._lookout.rest()) is not None:
            return resting
        await self.take_up()
        pull = await self._departure.known_pull()
        if pull is None and not await self._departure.is_new():
            reason = f"there is nothing to deliver: {self.order.base} has every commit of {self.branch.name}"
            return Ended(reason, is_merged=True)
        if (other := self._departure.require_base(pull)) is not None:
            return other
        if await self._is_unaccepted():
            return await self._again(pull)
        if pull is None or pull.state is PullState.OPEN:
            found = await self._depart(pull)
            if not isinstance(found, PullRequest):
                return found
            pull = found
        return await self._look_and_do(pull)

    async def _depart(self, pull: PullRequest | None) -> PullRequest | Fixing | Asking | Waiting:
        """The pull request, with everything that is here and may be there."""
        departure, before = self._departure, self.pushed
        if (hindered := await departure.prove_tip() or await departure.push(pull)) is not None:
            return hindered
        if self.pushed != before:
            self._lookout.stir()
        pull = pull or await departure.open_pull()
        await departure.describe(pull)
        await departure.answer(pull)
        return pull

    async def _look_and_do(self, pull: PullRequest) -> Progress | None:
        facts = await self._lookout.look(pull.number)
        step = deliver(facts)
        self._lookout.tell(facts, step)
        return await self._do(step, facts)

    async def take_up(self) -> None:
        """What the base has brought is nobody's change: also if ralph was killed before it could say so."""
        if self.memory.load().updating:
            await self.rebase()
            self.memory.save(replace(self.memory.load(), updating=""))

    async def _is_unaccepted(self) -> bool:
        """A session has committed something that was denied, or that nobody has judged because ralph was killed."""
        handed = self.memory.load().handed
        return bool(handed) and await self.branch.tip() != handed

    async def _again(self, pull: PullRequest | None) -> Progress | None:
        """Nothing of that is pushed: another session must bring it to an end, unless it is no longer needed. One of the run
        that began it: what the session may not change is compared with how that run found it."""
        delivered = self.memory.load()
        if pull is None:
            is_own = delivered.handed_by == delivered.run_id
            return self._told_again("it was not accepted") if is_own else self._unjudged(delivered)
        facts = await self._lookout.look(pull.number)
        step = deliver(facts)
        self._lookout.tell(facts, step)
        if isinstance(step, Fix | Update) and delivered.handed_by != delivered.run_id:
            return self._unjudged(delivered)
        if isinstance(step, Update) or (isinstance(step, Fix) and step.is_conflict):
            return self._told_again(step.reason)
        return await self._do(step, facts)

    def _unjudged(self, delivered: Delivered) -> Asking:
        name, since = self.branch.name, delivered.handed[:12]
        reason = f"{name} has commits since {since} of a session that was not accepted"
        hint = (
            f"`ralph resume {delivered.handed_by}` lets a session finish it; `git reset --keep {since}` drops them;"
            " `git switch -c NAME` makes them a branch of your own, which you can ship"
        )
        return Asking(reason, hint)

    def _told_again(self, reason: str) -> Fixing:
        delivered = self.memory.load()
        return Fixing(reason, delivered.told, delivered.asked)

    # --- doing ---

    async def _do(self, step: Step, facts: Facts) -> Progress | None:
        match step:
            case Wait(reason, for_people):
                return self._lookout.wait(reason, for_people=for_people)
            case Done(reason, is_good):
                is_merged = facts.pull.state is PullState.MERGED
                head = facts.pull.head if is_merged else ""
                return Ended(reason + await self._left_behind(facts.pull), is_good, is_merged, head)
            case Ask(reason, hint):
                return Asking(reason, hint)
            case Rerun():
                return await self._rerun(step, facts)
            case Update() | Fix() if not await self.branch.is_checked_out():
                return self._departure.elsewhere()
            case Update(reason):
                return await self._update(facts, reason)
            case Fix(is_conflict=True):
                return await self._update(facts, step.reason)
            case Fix():
                return await self._fix(step, facts)
            case Merge():
                return await self._merge(step, facts)
            case _:  # pragma: no cover
                assert_never(step)

    async def _left_behind(self, pull: PullRequest) -> str:
        """Someone may have merged it while a session worked."""
        is_merged = pull.state is PullState.MERGED
        if not is_merged or await self.branch.precedes(await self.branch.tip(), pull.head):
            return ""
        return f"; {self.branch.name} here has commits that were not in it"

    async def _rerun(self, step: Rerun, facts: Facts) -> Progress:
        """On record before and after: whoever is killed in between sees by newer runs that it was asked for."""
        flaky = tuple(check.name for check in step.checks if check.standing is Standing.FLAKY)
        for name in flaky:
            self.publish(Warned(f"{name} is flaky: it passed and failed on {facts.pull.head[:12]}"))
        runs = tuple(check.run for check in step.checks if check.run is not None)
        self.memory.save(self.memory.load().begin_rerun(runs, flaky))
        for run in runs:
            try:
                await self.forge.rerun(run)
            except ServiceRefused as error:
                return Asking(f"{run.name} cannot be run again: {error.message}", error.hint)
        names = tuple(check.name for check in step.checks)
        self.memory.save(self.memory.load().end_rerun(facts.pull.head, names))
        self._lookout.stir()
        return self._lookout.wait(step.reason, for_people=False)

    async def _update(self, facts: Facts, reason: str) -> Progress | None:
        """The base, merged here: what results is proven like everything else before it is pushed."""
        pull, is_begun = facts.pull, await self.branch.is_merging()
        if is_begun and not await self.branch.uncommitted():  # undone, but for git's note of it
            await self.branch.abort_merge()
            is_begun = False
        if not is_begun and (changed := await self.branch.uncommitted()):
            if self.memory.load().told:
                return self._told_again(reason)
            return Asking(f"{reason}, but files here are not committed: {some_of(changed)}", PUT_AWAY)
        base = await self.branch.fetch(pull.base)
        self.memory.save(replace(self.memory.load(), base=base, updating="" if is_begun else base))
        conflicts = await self.branch.merge(base, message=f"Merge {pull.base} into {pull.branch}")
        untouchable = [name for name in conflicts if self.is_protected(name)]
        if untouchable and not is_begun:  # one that is under way has a session's work in it
            return await self._give_up_merge(pull, untouchable)
        await self.take_up()
        if conflicts:
            return replace(self._fixing(facts, reason, conflicts=conflicts), base=base, is_fault=False)
        delivered = self.memory.load()
        if facts.ours == await self.branch.tip():  # the forge's own view is older than ours
            return self._lookout.wait(reason, for_people=False)
        self.memory.save(replace(delivered, updates=delivered.updates + 1))
        return None

    async def _give_up_merge(self, pull: PullRequest, files: Sequence[str]) -> Asking:
        """A session would have to change what it may not."""
        await self.branch.abort_merge()
        self.memory.save(replace(self.memory.load(), updating=""))
        reason = f"{pull.branch} conflicts with {pull.base} in {some_of(files)}, which no session may change"
        return Asking(reason, f"merge {pull.base} into {pull.branch} yourself, then `ralph resume`")

    async def _fix(self, step: Fix, facts: Facts) -> Fixing | Asking:
        if not self.memory.load().told and (changed := await self.branch.uncommitted()):
            why = f"{step.reason}; but files here are not committed, and would become part of the fix: {some_of(changed)}"
            return Asking(why, PUT_AWAY)
        runs = [check.run for check in step.checks[:MOST_LOGS] if check.run is not None]
        logs = [self._masked(await self.forge.failure(run)) for run in runs]
        return self._fixing(facts, step.reason, logs=logs, remarks=step.remarks)

    def _masked(self, log: FailureLog) -> FailureLog:
        """Before it is cut: half a secret would not be known for one."""
        return replace(log, text=self.redact(log.text))

    def _fixing(
        self,
        facts: Facts,
        reason: str,
        *,
        logs: Sequence[FailureLog] = (),
        remarks: tuple[Remark, ...] = (),
        conflicts: Sequence[str] = (),
    ) -> Fixing:
        objective = fix_objective(
            pull=facts.pull,
            purpose=self.order.purpose,
            reason=reason,
            attempt=self.memory.load().sessions + 1,
            logs=logs,
            remarks=remarks,
            conflicts=conflicts,
            most_chars=self.order.most_chars,
        )
        return Fixing(reason, self.redact(objective), remarks)

    async def _merge(self, step: Merge, facts: Facts) -> Progress | None:
        """The forge compares the head once more, and its rules decide."""
        pull = facts.pull
        try:
            told = await self.forge.merge(pull.number, head=pull.head, method=step.method)
        except ServiceRefused as error:
            hint = error.hint or f"see {pull.url}"
            return Asking(f"{pull.url} cannot be merged: {error.message}", hint)
        self.memory.save(replace(self.memory.load(), merging=pull.head))
        self.publish(Warned(f"#{pull.number}: {told}", mild=True))
        self._lookout.stir()
        return None
