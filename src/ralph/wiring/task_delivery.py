"""How `ralph work` delivers: one branch and one pull request for each task."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from ralph.adapters.git import Git
from ralph.adapters.storage.deliveries import Deliveries
from ralph.adapters.storage.earlier_runs import figures_of_task
from ralph.adapters.storage.tasks import TaskStore
from ralph.adapters.workspace.delivered_branch import DeliveredBranch
from ralph.adapters.workspace.integration import Integration
from ralph.adapters.workspace.worktrees import Worktrees
from ralph.domain.delivery.receipt import Proof, Receipt
from ralph.domain.delivery.texts import Purpose
from ralph.domain.tasks.pipeline import Pipeline
from ralph.domain.tasks.task import Task
from ralph.engine.delivery.delivery import Delivery
from ralph.engine.delivery.ports import Proven
from ralph.engine.tasks.ports import Worktree
from ralph.engine.tasks.ship import TaskShip
from ralph.wiring.delivery import Port, order_of
from ralph.wiring.kit import Kit
from ralph.wiring.merge_check import FinalVerification


def told_about(kit: Kit, branch: str) -> str:
    """What the first role must know about the task's pull request; empty: nothing."""
    record = kit.record
    memory = Deliveries(
        record.database, record.database_file, branch, run_id=record.run_id, now=kit.clock.now
    )
    return memory.load().told


def task_ship(
    kit: Kit, port: Port, store: TaskStore, merges: Integration, worktrees: Worktrees, pipeline: Pipeline
) -> TaskShip:
    ship = TaskShip(
        tasks=store,
        merges=merges,
        worktrees=worktrees,
        shipment=lambda task, worktree: shipments.of(task, worktree),
        first_commit=lambda task: shipments.first_commit(task),
        pipeline=pipeline,
        clock=kit.clock,
        control=kit.control,
        publish=kit.publish,
        patience=kit.launch.settings.pull_request.wait,
    )
    shipments = Shipments(kit, port, store, pipeline, others=lambda: ship.waiting)
    return ship


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
        there = self._branch(Git(self.kit.workspace, self.kit.runners.outside), branch)
        return await there.fetch(task.base or self.port.base)

    def of(self, task: Task, worktree: Worktree) -> Delivery:
        kit = self.kit
        git = Git(worktree.path, kit.runners.outside, is_top=True, folder=worktree.folder)
        purpose = Purpose(
            title=f"{task.title} ({task.id})", text=task.description, criteria=task.acceptance_criteria
        )
        order = order_of(kit, self.port, purpose, self._receipt(task), base=task.base)
        delivery = self.port.delivery(kit, git, worktree.branch, order, self._prove(task, worktree))
        delivery.others = self.others
        delivery.rebase = self._rebase(task, git)
        return delivery

    def _branch(self, git: Git, name: str) -> DeliveredBranch:
        port = self.port
        return DeliveredBranch(git, name, address=port.address, outside=port.outside, options=port.login)

    def _prove(self, task: Task, worktree: Worktree) -> Callable[[str], Awaitable[Proven]]:
        verification = FinalVerification(self.kit, task, self.pipeline)

        async def prove(commit: str) -> Proven:
            wrong = await verification.verify(worktree.workspace)
            proofs = tuple(Proof(one.command, one.success_exit_code) for one in verification.required)
            reason = wrong.splitlines()[0] if wrong else ""
            return Proven(passed=not wrong, proofs=proofs, told=wrong, reason=reason)

        return prove

    def _rebase(self, task: Task, git: Git) -> Callable[[], Awaitable[None]]:
        """What ralph itself merged into the branch counts as accepted; it is proven before it is pushed."""

        async def rebase() -> None:
            if not await git.commit_of("MERGE_HEAD"):
                tip = await git.commit_of("HEAD")
                self.store.change(
                    task.id, lambda now: replace(now, accepted_commit=tip), at=self.kit.clock.now()
                )

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
