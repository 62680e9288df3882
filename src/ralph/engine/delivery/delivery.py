"""One branch on its way through its pull request: prove, push, open, look, and do what ``deliver`` decides.

Each step is on record before or after it, and asks the remote or the forge first whether it was done already: so a
process may be killed anywhere, and the next one neither repeats nor forgets anything.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from ralph.domain.delivery import pace
from ralph.domain.delivery.deliver import Ask, Done, Fix, Merge, Rerun, Step, Update, Wait, deliver
from ralph.domain.delivery.facts import Facts, Policy, PullRequest, PullState, Remark, Required
from ralph.domain.delivery.memory import Delivered
from ralph.domain.delivery.progress import Asking, Ended, Fixing, Progress, Waiting
from ralph.domain.delivery.receipt import Proof, Receipt, receipt_section, with_receipt
from ralph.domain.delivery.seen import SeenCheck
from ralph.domain.delivery.standing import Standing, begun_again, checks_of
from ralph.domain.delivery.texts import (
    FailureLog,
    Purpose,
    answer_text,
    body_of,
    fix_objective,
    proof_objective,
    title_of,
)
from ralph.domain.loop.events import PullRequestSeen, Warned
from ralph.engine.delivery.ports import Branch, DeliveryMemory, Forge, NewPullRequest, Proven
from ralph.engine.ports import Clock, Publish
from ralph.errors import ForgeAway, ForgeRefused

MOST_STEPS = 20
"""Of ralph's own in a row, without a look at what came of them."""
RULES_KEPT = 300.0
"""Seconds for which the base's rules are not asked for again."""
MOST_LOGS = 5
"""Failed checks whose logs one session gets."""

MOST_FILES = 3
PUT_AWAY = "commit them or put them away (git stash -u), then `ralph resume`"

Prove = Callable[[str], Awaitable[Proven]]
"""Runs what must pass before a commit is pushed."""


async def nothing_to_rebase() -> None:
    """Nobody compares anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is wanted. ``receipt``: what the work took so far, for the text of the pull request."""

    base: str
    purpose: Purpose = Purpose()
    policy: Policy = Policy()
    is_draft: bool = False
    labels: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    most_chars: int = 5000
    receipt: Callable[[], Receipt] = Receipt


@dataclass(slots=True, kw_only=True)
class Delivery:
    """``others``: how many deliveries this process looks after; ``redact`` takes secrets out of what is sent. ``rebase``: what
    the base brought into the tree is what later sessions are compared with."""

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

    _told: PullRequestSeen | None = field(default=None, init=False)
    _waiting: Waiting | None = field(default=None, init=False)
    _unchanged: int = field(default=0, init=False)
    _away: int = field(default=0, init=False)
    _pulse: str = field(default="", init=False)
    _looked: float = field(default=float("-inf"), init=False)
    _rules: tuple[float, Required] = field(default=(float("-inf"), Required()), init=False)
    _before: int = field(default=0, init=False)  # the number that an earlier run left

    async def advance(self) -> Progress:
        """Everything that can be done now, and what is next. Raises ForgeRefused and GitFailed."""
        try:
            progress = await self._advance()
        except ForgeAway as error:
            self._away += 1
            delay = pace.AWAY.delay(self._away) if error.after is None else error.after
            return Waiting(error.message, max(1.0, delay))
        self._away = 0
        return progress

    def begin(self, run_id: str) -> None:
        """From now on this run delivers it."""
        delivered = self.memory.load()
        self._before = delivered.number if delivered.run_id != run_id else 0
        self.memory.save(replace(delivered, run_id=run_id))

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

    def leave(self, tip: str) -> None:
        """A session was not accepted. If it has committed nothing, whatever is committed later is the user's."""
        delivered = self.memory.load()
        if delivered.handed == tip:
            self.memory.save(replace(delivered, handed=""))

    async def _advance(self) -> Progress:
        for _ in range(MOST_STEPS):
            progress = await self._step()
            if progress is not None:
                return progress
        return Waiting("too much happens at once", pace.until_next_look(0, for_people=False))

    async def _step(self) -> Progress | None:
        """None: something was done, and there may be more to do."""
        if (quiet := await self._quiet()) is not None:
            return quiet
        await self._take_base()
        pull = await self._known_pull()
        if pull is None and not await self._is_new():
            return Ended(
                f"there is nothing to deliver: {self.order.base} has every commit of {self.branch.name}"
            )
        if await self._is_unaccepted():
            return await self._again(pull)
        if pull is None or pull.state is PullState.OPEN:
            if (hindered := await self._prove() or await self._push()) is not None:
                return hindered
            pull = pull or await self._open()
            await self._describe(pull)
            await self._answer(pull)
        facts = await self._look(pull.number)
        step = deliver(facts)
        self._tell(facts, step)
        return await self._do(step, facts)

    # --- before there is anything to look at ---

    async def _known_pull(self) -> PullRequest | None:
        """The one that is on record; else the one that is open for this branch, whoever opened it, or that took this very
        commit."""
        delivered = self.memory.load()
        if delivered.number:
            pull = await self.forge.pull(delivered.number)
            if not await self._is_another(pull):
                return pull
            delivered = delivered.forget_pull()
            self.memory.save(delivered)
        found = await self.forge.find(self.branch.name)
        if found is None or (found.state is not PullState.OPEN and found.head != await self.branch.tip()):
            return None
        if found.state is PullState.OPEN and delivered.is_opening:
            return None  # ``_open`` finds it too, and completes it
        self.memory.save(replace(delivered, number=found.number, url=found.url))
        return found

    async def _is_another(self, pull: PullRequest) -> bool:
        """The number means another one: of another repository, or one that is over, and a new run brings new work."""
        if pull.url != self.memory.load().url:
            return True
        is_left, self._before = self._before == pull.number, 0
        is_over = pull.state is not PullState.OPEN
        return is_left and is_over and not await self.branch.precedes(await self.branch.tip(), pull.head)

    async def _take_base(self) -> None:
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
        facts = await self._look(pull.number)
        step = deliver(facts)
        self._tell(facts, step)
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

    async def _is_new(self) -> bool:
        return await self.branch.is_new_to(await self.branch.fetch(self.order.base))

    async def _prove(self) -> Fixing | Asking | None:
        tip, delivered = await self.branch.tip(), self.memory.load()
        if delivered.proven == tip:
            return None
        if edited := await self.branch.edited():
            if delivered.told:
                return self._told_again("it was not accepted")
            why = f"files here are not committed, so the commit cannot be proven: {_some(edited)}"
            return Asking(why, PUT_AWAY)
        proven = await self.prove(tip)
        if proven.passed:
            is_fixed = delivered.told and not delivered.handed and tip != delivered.pushed
            self.memory.save((delivered.fix(tip) if is_fixed else delivered).prove(tip, proven.proofs))
            return None
        attempt = delivered.fixes + 1
        told = proof_objective(branch=self.branch.name, told=proven.told, attempt=attempt)
        return Fixing(proven.reason, self.redact(told))

    async def _push(self) -> Asking | None:
        """Only over what ralph pushed itself, or where nothing of anybody's is lost."""
        tip, name, delivered = await self.branch.tip(), self.branch.name, self.memory.load()
        remote = await self.branch.remote_tip()
        if remote == tip:
            if delivered.pushed != tip:
                self.memory.save(delivered.end_push(tip))
            return None
        if not remote and delivered.pushed:
            hint = f"`git push -u <remote> {name}` brings it back, then `ralph resume`; the work is in {name} here"
            return Asking(f"someone deleted {name} on the remote", hint)
        is_own = remote in ("", delivered.pushed, delivered.pushing)
        if not is_own and delivered.pushed and await self.branch.precedes(remote, delivered.pushed):
            hint = f"`git push <remote> {name}` brings it back, `git reset --hard` to that commit gives it up; then `ralph resume`"
            return Asking(f"someone took {name} on the remote back to {remote[:12]}", hint)
        if not is_own and not await self.branch.is_ahead_of(remote):
            return self._theirs(remote)
        self.memory.save(delivered.begin_push(tip))
        refused = await self.branch.push(tip, expected=remote)
        if refused is not None and refused.is_theirs:
            # A push of a process that was killed may have arrived in between.
            remote = await self.branch.remote_tip()
            if remote != tip:
                return self._theirs(remote)
            refused = None
        if refused is None:
            self.memory.save(self.memory.load().end_push(tip))
            self._forget_quiet()
            return None
        return Asking(f"{name} cannot be pushed: {refused.reason}", "see the rules of the remote's branches")

    def _theirs(self, remote: str) -> Asking:
        name = self.branch.name
        reason = f"someone else pushed {remote[:12]} to {name}; ralph pushes only over its own commits"
        return Asking(
            reason, f"take it over with `git pull` in {name}, then `ralph resume`; your work is still here"
        )

    async def _open(self) -> PullRequest:
        order, name = self.order, self.branch.name
        base = await self.branch.fetch(order.base)
        subjects = await self.branch.subjects(base)
        body = with_receipt(body_of(order.purpose, subjects), receipt_section(self._receipt()))
        self.memory.save(replace(self.memory.load(), is_opening=True))
        pull, told = await self.forge.open(
            NewPullRequest(
                branch=name,
                base=order.base,
                title=self.redact(title_of(order.purpose, subjects, name)),
                body=self.redact(body),
                is_draft=order.is_draft,
                labels=order.labels,
                reviewers=order.reviewers,
                assignees=order.assignees,
            )
        )
        for note in told:
            self.publish(Warned(f"#{pull.number}: {note}"))
        # The first look will find out whether its text is the one that was wanted.
        self.memory.save(replace(self.memory.load(), number=pull.number, url=pull.url, is_opening=False))
        return pull

    async def _describe(self, pull: PullRequest) -> None:
        """The receipt in its text is of the commit that is there. Its text is read again: a person may have edited it while
        the guardrails ran."""
        if self.memory.load().is_announced:
            return
        pull = await self.forge.pull(pull.number)
        body = self.redact(with_receipt(pull.body, receipt_section(self._receipt())))
        if body != pull.body:
            try:
                await self.forge.describe(pull.number, body=body)
            except ForgeRefused as error:  # it can be merged without
                self.publish(Warned(f"#{pull.number}: its text could not be changed: {error.message}"))
        self.memory.save(replace(self.memory.load(), is_announced=True))

    def _receipt(self) -> Receipt:
        delivered, receipt = self.memory.load(), self.order.receipt()
        return replace(
            receipt,
            commit=delivered.proven,
            proofs=delivered.proofs or receipt.proofs,
            fixes=delivered.fixes,
            flaky=delivered.flaky,
        )

    async def _answer(self, pull: PullRequest) -> None:
        for answer in self.memory.load().answering:
            delivered, remark = self.memory.load(), answer.remark
            is_there = not answer.commit or await self.branch.contains(answer.commit)
            text = answer_text(remark, answer.commit if is_there else delivered.pushed)
            try:
                await self.forge.answer(pull.number, remark, text)
            except ForgeRefused as error:  # the conversation may be locked
                who = f"{remark.author} could not be answered"
                self.publish(Warned(f"#{pull.number}: {who}: {error.message}"))
            self.memory.save(delivered.answer(remark))

    # --- looking ---

    async def _quiet(self) -> Waiting | None:
        """Where many pull requests wait, one question about all of them tells which to look at."""
        between = pace.between_whole_looks(self.others(), self.forge.look_cost)
        number = self.memory.load().number
        if self._waiting is None or not between or not number:
            return None
        pulse = (await self.forge.pulse()).get(number, "")
        is_due = self.clock.monotonic() - self._looked >= between
        if pulse != self._pulse or is_due or await self.branch.tip() != self.memory.load().pushed:
            self._pulse = pulse
            return None
        return self._wait(self._waiting.reason, for_people=self._waiting.for_people)

    def _forget_quiet(self) -> None:
        self._waiting, self._unchanged = None, 0

    async def _look(self, number: int) -> Facts:
        """All of it about the head that the pull request has now."""
        self._looked = self.clock.monotonic()
        pull, delivered = await self.forge.pull(number), self.memory.load()
        if pull.state is not PullState.OPEN:
            return Facts(pull=pull, ours=delivered.pushed)
        checks = await self.forge.checks(pull.head)
        if done := begun_again(delivered.rerunning, checks):
            delivered = delivered.end_rerun(pull.head, done)
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
            policy=self.order.policy,
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

    def _tell(self, facts: Facts, step: Step) -> None:
        seen = see(facts, step)
        if seen == self._told:
            return
        self._told, self._unchanged = seen, 0
        self.publish(seen)

    def _wait(self, reason: str, *, for_people: bool) -> Waiting:
        seconds = pace.until_next_look(self._unchanged, for_people=for_people)
        self._unchanged += 1
        self._waiting = Waiting(reason, seconds, for_people)
        return self._waiting

    # --- doing ---

    async def _do(self, step: Step, facts: Facts) -> Progress | None:
        match step:
            case Wait(reason, for_people):
                return self._wait(reason, for_people=for_people)
            case Done(reason, is_good):
                is_merged = facts.pull.state is PullState.MERGED
                return Ended(reason + await self._left_behind(facts.pull), is_good, is_merged)
            case Ask(reason, hint):
                return Asking(reason, hint)
            case Rerun():
                return await self._rerun(step, facts)
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
            except ForgeRefused as error:
                return Asking(f"{run.name} cannot be run again: {error.message}", error.hint)
        names = tuple(check.name for check in step.checks)
        self.memory.save(self.memory.load().end_rerun(facts.pull.head, names))
        self._forget_quiet()
        return self._wait(step.reason, for_people=False)

    async def _update(self, facts: Facts, reason: str) -> Progress | None:
        """The base, merged here: what results is proven like everything else before it is pushed."""
        pull, is_begun = facts.pull, await self.branch.is_merging()
        if not is_begun and (changed := await self.branch.uncommitted()):
            if self.memory.load().told:
                return self._told_again(reason)
            return Asking(f"{reason}, but files here are not committed: {_some(changed)}", PUT_AWAY)
        base = await self.branch.fetch(pull.base)
        if not is_begun:
            self.memory.save(replace(self.memory.load(), updating=base))
        conflicts = await self.branch.merge(base, message=f"Merge {pull.base} into {pull.branch}")
        await self._take_base()
        if conflicts:
            return replace(self._fixing(facts, reason, conflicts=conflicts), base=base, is_fault=False)
        delivered = self.memory.load()
        if facts.ours == await self.branch.tip():  # the forge's own view is older than ours
            return self._wait(reason, for_people=False)
        self.memory.save(replace(delivered, updates=delivered.updates + 1))
        return None

    async def _fix(self, step: Fix, facts: Facts) -> Fixing:
        runs = [check.run for check in step.checks[:MOST_LOGS] if check.run is not None]
        logs = [await self.forge.failure(run) for run in runs]
        return self._fixing(facts, step.reason, logs=logs, remarks=step.remarks)

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
            attempt=self.memory.load().fixes + 1,
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
        except ForgeRefused as error:
            hint = error.hint or f"see {pull.url}"
            return Asking(f"{pull.url} cannot be merged: {error.message}", hint)
        self.memory.save(replace(self.memory.load(), merging=pull.head))
        self.publish(Warned(f"#{pull.number}: {told}", mild=True))
        self._forget_quiet()
        return None


def _some(files: Sequence[str]) -> str:
    return ", ".join(files[:MOST_FILES]) + (" …" if len(files) > MOST_FILES else "")


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
