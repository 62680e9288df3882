"""How `ralph work` delivers: one branch and one pull request for each task."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ralph.adapters.git import Git
from ralph.adapters.storage.earlier_runs import figures_of_task
from ralph.adapters.storage.tasks import TaskStore
from ralph.adapters.workspace.delivered_branch import BASES
from ralph.adapters.workspace.integration import Integration
from ralph.adapters.workspace.worktrees import Worktrees
from ralph.domain.delivery.progress import Ended, Fixing, Progress
from ralph.domain.delivery.receipt import Proof, Receipt
from ralph.domain.delivery.texts import Purpose
from ralph.domain.tasks.pipeline import Pipeline
from ralph.domain.tasks.task import Task, TaskStatus
from ralph.domain.tickets.told import linking_text
from ralph.engine.delivery.delivery import Delivery
from ralph.engine.delivery.ports import Proven
from ralph.engine.tasks.ports import JudgeOnce, Worktree
from ralph.engine.tasks.ship import TaskShip
from ralph.values import dataclass, replace
from ralph.wiring.delivery import Port, memory_of, order_of
from ralph.wiring.kit import Kit
from ralph.wiring.merge_check import FinalVerification
from ralph.wiring.tickets import store_of


def told_about(kit: Kit, branch: str) -> str:
    """What the first role must know about the task's pull request; empty: nothing."""
    return memory_of(kit, branch).load().told


def task_ship(
    kit: Kit,
    port: Port,
    store: TaskStore,
    merges: Integration,
    worktrees: Worktrees,
    pipeline: Pipeline,
    slots: asyncio.Semaphore,
) -> TaskShip:
    """``slots``: of the worker."""
    ship = TaskShip(
        tasks=store,
        merges=merges,
        worktrees=worktrees,
        shipment=lambda task, worktree, judge: shipments.of(task, worktree, judge),
        first_commit=lambda task: shipments.first_commit(task),
        taken=lambda task, worktree: shipments.taken(store.get(task), worktree),
        pipeline=pipeline,
        slots=slots,
        clock=kit.clock,
        control=kit.control,
        publish=kit.publish,
        patience=kit.launch.settings.pull_request.wait,
        time_over=kit.time_over,
    )
    shipments = Shipments(kit, port, store, pipeline, others=lambda: ship.under_way)
    return ship


@dataclass(frozen=True, slots=True)
class TaskShipment:
    """A delivery, as the work on tasks sees it. Its sessions are those of the task's roles, so the delivery learns from here
    what was accepted. ``base``: the ref that has the base as it was fetched last."""

    delivery: Delivery
    base: str

    async def take_up(self) -> None:
        await self.delivery.take_up()

    async def is_merging(self, commit: str) -> bool:
        branch = self.delivery.branch
        return await branch.is_merging() and await branch.tip() == commit

    def accept(self, commit: str) -> None:
        """The roles' own verifications prove nothing about the whole: the commit is not marked as proven."""
        memory = self.delivery.memory
        if memory.load().told:
            memory.save(memory.load().fix(commit))

    async def advance(self) -> Progress:
        return await self.delivery.advance()

    async def taken(self, commit: str, ended: Ended) -> str:
        delivered, branch = self.delivery.memory.load(), self.delivery.branch
        # A head that is not ours has what someone else pushed on top of ours.
        is_ours = ended.head in (delivered.pushed, *delivered.earlier)
        for there in (ended.head if is_ours else delivered.pushed, self.base):
            if there and await branch.precedes(commit, there):
                return there
        return ""

    def begin_again(self) -> None:
        memory = self.delivery.memory
        memory.save(memory.load().forget_pull())

    def hand_over(self, fixing: Fixing, *, tip: str) -> None:
        self.delivery.hand_over(fixing, tip=tip)


@dataclass(frozen=True, slots=True)
class Shipments:
    """One for each task. ``others``: how many there are now."""

    kit: Kit
    port: Port
    store: TaskStore
    pipeline: Pipeline
    others: Callable[[], int]

    async def first_commit(self, task: Task) -> str:
        """The base as the remote has it: the user's own branch may have commits that nobody else knows."""
        branch = f"ralph/{task.id}"
        there = self.port.branch(Git(self.kit.workspace, self.kit.runners.outside), branch)
        return await there.fetch(self._base(task))

    def taken(self, task: Task, worktree: Worktree) -> str:
        """Of a task that is done: what was pushed last, or the base if nothing had to be."""
        return memory_of(self.kit, worktree.branch).load().pushed or f"{BASES}{self._base(task)}"

    def of(self, task: Task, worktree: Worktree, judge: JudgeOnce) -> TaskShipment:
        kit = self.kit
        git = Git(worktree.path, kit.runners.outside, is_top=True, folder=worktree.folder)
        purpose = Purpose(
            title=f"{task.title} ({task.id})", text=self._text(task), criteria=task.acceptance_criteria
        )
        order = order_of(kit, self.port, purpose, self._receipt(task), base=task.base)
        delivery = self.port.delivery(kit, git, worktree.branch, order, self._prove(task, worktree, judge))
        delivery.others = self.others
        delivery.rebase = self._rebase(task, git)
        return TaskShipment(delivery, f"{BASES}{self._base(task)}")

    def _text(self, task: Task) -> str:
        """For people: a ticket is linked, where they can read what an agent got as a quotation."""
        known = store_of(self.kit, self.store).of_task(task.id)
        if known is None:
            return task.description
        return linking_text(known, closes=self.kit.launch.settings.tickets.close != "never")

    def _base(self, task: Task) -> str:
        return task.base or self.port.base

    def _prove(self, task: Task, worktree: Worktree, judge: JudgeOnce) -> Callable[[str], Awaitable[Proven]]:
        verification = FinalVerification(self.kit, task, self.pipeline)

        async def prove(commit: str) -> Proven:
            judged = await judge(lambda: verification.verify(worktree.workspace))
            proofs = tuple(Proof(one.command, one.success_exit_code) for one in verification.required)
            reason = judged.wrong.splitlines()[0] if judged.wrong else ""
            passed = not judged.wrong and not judged.is_cut
            return Proven(
                passed=passed, proofs=proofs, told=judged.wrong, reason=reason, is_cut=judged.is_cut
            )

        return prove

    def _rebase(self, task: Task, git: Git) -> Callable[[], Awaitable[None]]:
        """What ralph itself merged into the branch counts as accepted; it is proven before it is pushed."""

        async def rebase() -> None:
            now = self.store.get(task.id)
            if now.status is TaskStatus.ACCEPTED and (tip := await merge_into(git, now.accepted_commit)):
                at = self.kit.clock.now()
                self.store.change(task.id, lambda now: replace(now, accepted_commit=tip), at=at)

        return rebase

    def _receipt(self, task: Task) -> Callable[[], Receipt]:
        def receipt() -> Receipt:
            record = self.kit.record
            figures = figures_of_task(record.database, record.database_file, task.id)
            return Receipt(
                claim=f"every role has accepted {task.id} ({', '.join(self.pipeline.roles)})",
                sessions=figures.sessions,
                denied=figures.denied,
                cost_usd=figures.spend.cost_usd,
                tokens=figures.spend.usage.total,
                seconds=figures.spend.seconds,
                run_id=record.run_id,
            )

        return receipt


async def merge_into(git: Git, accepted: str) -> str:
    """The tip, if it merges something into exactly what was accepted; else empty. A killed process may have noted that it
    would merge, and not have done so: what else was committed meanwhile nobody has judged."""
    tip, before, other = [await git.commit_of(name) for name in ("HEAD", "HEAD^1", "HEAD^2")]
    is_merge = bool(accepted and other) and (await git.run("diff", "--quiet", accepted, before)).ok
    return tip if is_merge else ""
