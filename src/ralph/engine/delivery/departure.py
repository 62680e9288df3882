"""From a branch here to a pull request there: proven, pushed, opened, and described by its receipt.

Each deed is on record before or after it, and asks the remote or the forge first whether it was done already.
"""

from __future__ import annotations

from collections.abc import Callable

from ralph.domain.delivery.facts import PullRequest, PullState
from ralph.domain.delivery.memory import Delivered
from ralph.domain.delivery.progress import Asking, Fixing, Waiting
from ralph.domain.delivery.push import Push, RemoteBranch, judge_push
from ralph.domain.delivery.receipt import Receipt, receipt_section, with_receipt
from ralph.domain.delivery.texts import answer_text, body_of, proof_objective, title_of
from ralph.domain.loop.events import Warned
from ralph.engine.delivery.order import PUT_AWAY, Order, Prove, some_of
from ralph.engine.delivery.ports import Branch, DeliveryMemory, Forge, NewPullRequest
from ralph.engine.ports import Clock, Publish
from ralph.errors import ServiceRefused
from ralph.values import dataclass, field, replace


@dataclass(slots=True, kw_only=True)
class Departure:
    """``redact`` takes secrets out of what is sent."""

    forge: Forge
    branch: Branch
    memory: DeliveryMemory
    order: Order
    prove: Prove
    publish: Publish
    clock: Clock
    redact: Callable[[str], str]

    _before: int = field(default=0, init=False)  # the number that an earlier run left

    def begin(self, run_id: str) -> None:
        """From now on this run delivers it."""
        delivered = self.memory.load()
        self._before = delivered.number if delivered.run_id != run_id else 0
        self.memory.save(replace(delivered, run_id=run_id))

    async def known_pull(self) -> PullRequest | None:
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
            return None  # ``open_pull`` finds it too, and completes it
        self.memory.save(replace(delivered, number=found.number, url=found.url))
        return found

    async def _is_another(self, pull: PullRequest) -> bool:
        """The number means another one: of another repository, or one that is over, and a new run brings new work."""
        if pull.url != self.memory.load().url:
            return True
        is_left, self._before = self._before == pull.number, 0
        is_over = pull.state is not PullState.OPEN
        return is_left and is_over and not await self.branch.precedes(await self.branch.tip(), pull.head)

    async def is_new(self) -> bool:
        return await self.branch.is_new_to(await self.branch.fetch(self.order.base))

    def require_base(self, pull: PullRequest | None) -> Asking | None:
        """A pull request that is there may be for another branch than the user said."""
        wanted = self.order.base
        if (
            pull is None
            or pull.state is not PullState.OPEN
            or not self.order.is_base_named
            or pull.base == wanted
        ):
            return None
        reason = f"#{pull.number} is for {pull.base}, and not for {wanted}"
        return Asking(reason, f"change its base on the forge, or ship it for {pull.base}")

    async def prove_tip(self) -> Fixing | Asking | Waiting | None:
        """The commit that ``push`` pushes. What is in the working tree must be this commit."""
        tip, delivered = await self.branch.tip(), self.memory.load()
        if delivered.proven == tip:
            return None
        if not await self.branch.is_checked_out():
            return self.elsewhere()
        if edited := await self.branch.edited():
            if delivered.told:
                return Fixing("it was not accepted", delivered.told, delivered.asked)
            why = f"files here are not committed, so the commit cannot be proven: {some_of(edited)}"
            return Asking(why, PUT_AWAY)
        proven = await self.prove(tip)
        if proven.is_cut:
            return Waiting(proven.reason or "the proof was cut short", 0.0)
        if proven.passed:
            is_fixed = delivered.told and not delivered.handed and tip != delivered.pushed
            self.memory.save((delivered.fix(tip) if is_fixed else delivered).prove(tip, proven.proofs))
            return None
        attempt = delivered.sessions + 1
        told = proof_objective(branch=self.branch.name, told=proven.told, attempt=attempt)
        return Fixing(proven.reason, self.redact(told))

    def elsewhere(self) -> Asking:
        name = self.branch.name
        return Asking(f"{name} is not checked out here any more", f"`git switch {name}`, then `ralph resume`")

    async def push(self, pull: PullRequest | None) -> Asking | None:
        """The commit that was proven. ``pull``: as the forge has it now."""
        delivered = self.memory.load()
        commit = delivered.proven  # and not what was committed since: that is proven in the next step
        if pull is not None and pull.head == delivered.pushed == commit:
            return None
        remote = await self._remote(delivered)
        match judge_push(delivered, commit, remote):
            case Push.ALLOWED:
                return await self._push(commit, over=remote.tip)
            case Push.THERE:
                self._take_as_pushed(delivered, commit)
                return None
            case hindered:
                return self._hindered(hindered, remote.tip)

    async def _remote(self, delivered: Delivered) -> RemoteBranch:
        tip = await self.branch.remote_tip()
        return RemoteBranch(
            tip=tip,
            is_contained=bool(tip) and await self.branch.contains(tip),
            is_earlier=bool(tip and delivered.pushed) and await self.branch.precedes(tip, delivered.pushed),
        )

    async def _push(self, commit: str, *, over: str) -> Asking | None:
        self.memory.save(self.memory.load().begin_push(commit))
        refused = await self.branch.push(commit, expected=over)
        if refused is not None and not refused.is_theirs:
            reason = f"{self.branch.name} cannot be pushed: {refused.reason}"
            return Asking(reason, "see the rules of the remote's branches")
        # A push of a process that was killed may have arrived in between.
        if refused is not None and (now := await self.branch.remote_tip()) != commit:
            return self._hindered(Push.THEIRS, now)
        self.publish(Warned(f"pushed {commit[:12]} to {self.branch.name}", mild=True))
        self.memory.save(self.memory.load().end_push(commit, self.clock.now()))
        return None

    def _take_as_pushed(self, delivered: Delivered, commit: str) -> None:
        """By a process of ours that was killed; else it was someone else who pushed it."""
        if delivered.pushed != commit:
            given = delivered.given if delivered.pushing == commit else commit
            self.memory.save(replace(delivered.end_push(commit, self.clock.now()), given=given))

    def _hindered(self, why: Push, tip: str) -> Asking:
        name, remote = self.branch.name, self.order.policy.remote
        match why:
            case Push.DELETED:
                reason = f"someone deleted {name} on the remote"
                hint = f"`git push -u {remote} {name}` brings it back, then `ralph resume`; the work is in {name} here"
            case Push.RESET:
                reason = f"someone reset {name} on the remote to {tip[:12]}"
                hint = f"`git push {remote} {name}` brings it back, `git reset --hard` to that commit gives it up; then `ralph resume`"
            case _:
                reason = f"someone else pushed {tip[:12]} to {name}; ralph pushes only over its own commits"
                hint = f"run `git pull --no-rebase {remote} {name}`, then `ralph resume`; your work is still here"
        return Asking(reason, hint)

    async def open_pull(self) -> PullRequest:
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

    async def describe(self, pull: PullRequest) -> None:
        """The receipt in its text is of the commit that is there. Its text is read again: a person may have edited it while
        the guardrails ran."""
        if self.memory.load().is_announced:
            return
        pull = await self.forge.pull(pull.number)
        body = self.redact(with_receipt(pull.body, receipt_section(self._receipt())))
        if body != pull.body:
            try:
                await self.forge.describe(pull.number, body=body)
            except ServiceRefused as error:  # it can be merged without
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

    async def answer(self, pull: PullRequest) -> None:
        for answer in self.memory.load().answering:
            delivered, remark = self.memory.load(), answer.remark
            is_there = not answer.commit or await self.branch.contains(answer.commit)
            text = answer_text(remark, answer.commit if is_there else delivered.pushed)
            try:
                await self.forge.answer(pull.number, remark, text)
            except ServiceRefused as error:  # the conversation may be locked
                who = f"{remark.author} could not be answered"
                self.publish(Warned(f"#{pull.number}: {who}: {error.message}"))
            self.memory.save(delivered.answer(remark))
