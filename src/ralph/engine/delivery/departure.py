"""From a branch here to a pull request there: proven, pushed, opened, and described by its receipt.

Each deed is on record before or after it, and asks the remote or the forge first whether it was done already.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ralph.domain.delivery.facts import PullRequest, PullState
from ralph.domain.delivery.progress import Asking, Fixing, Waiting
from ralph.domain.delivery.receipt import Receipt, receipt_section, with_receipt
from ralph.domain.delivery.texts import answer_text, body_of, proof_objective, title_of
from ralph.domain.loop.events import Warned
from ralph.engine.delivery.order import PUT_AWAY, Order, Prove, some_of
from ralph.engine.delivery.ports import Branch, DeliveryMemory, Forge, NewPullRequest
from ralph.engine.ports import Clock, Publish
from ralph.errors import ForgeRefused


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
        """Only over what ralph pushed itself, or where nothing of anybody's is lost. ``pull``: as the forge has it now."""
        name, delivered = self.branch.name, self.memory.load()
        tip = delivered.proven  # and not what was committed since: that is proven in the next step
        if pull is not None and pull.head == delivered.pushed == tip:
            return None
        remote = await self.branch.remote_tip()
        if remote == tip:
            if delivered.pushed != tip:
                is_own = delivered.pushing == tip
                given = delivered.given if is_own else tip
                self.memory.save(replace(delivered.end_push(tip, self.clock.now()), given=given))
            return None
        if not remote and delivered.pushed:
            hint = f"`git push -u {self.order.policy.remote} {name}` brings it back, then `ralph resume`; the work is in {name} here"
            return Asking(f"someone deleted {name} on the remote", hint)
        is_own = remote in ("", delivered.pushed, delivered.pushing) and remote != (delivered.given or None)
        if (
            not is_own
            and delivered.pushed not in ("", remote)
            and await self.branch.precedes(remote, delivered.pushed)
        ):
            hint = f"`git push {self.order.policy.remote} {name}` brings it back, `git reset --hard` to that commit gives it up; then `ralph resume`"
            return Asking(f"someone reset {name} on the remote to {remote[:12]}", hint)
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
            self.publish(Warned(f"pushed {tip[:12]} to {name}", mild=True))
            self.memory.save(self.memory.load().end_push(tip, self.clock.now()))
            return None
        return Asking(f"{name} cannot be pushed: {refused.reason}", "see the rules of the remote's branches")

    def _theirs(self, remote: str) -> Asking:
        name = self.branch.name
        reason = f"someone else pushed {remote[:12]} to {name}; ralph pushes only over its own commits"
        pull = f"git pull --no-rebase {self.order.policy.remote} {name}"
        return Asking(reason, f"run `{pull}`, then `ralph resume`; your work is still here")

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

    async def answer(self, pull: PullRequest) -> None:
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
