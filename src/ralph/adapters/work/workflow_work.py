"""Work that is a store of items, each on its way through a workflow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, Protocol

from ralph.domain.assignment import Assignment, Drained, Offer
from ralph.domain.decision import Accept, Continue, Decision, GiveUp
from ralph.domain.evidence import Evidence
from ralph.domain.state import LoopState
from ralph.domain.workflow import Item, Step, Workflow


class ItemStore(Protocol[Item]):
    """Where items live. ``items`` come in the order in which they are to be worked on."""

    def items(self) -> Sequence[Item]: ...

    def get(self, key: str) -> Item: ...

    def put(self, key: str, item: Item) -> None: ...

    def key(self, item: Item) -> str: ...


class WorkflowWork(Generic[Item]):
    """Offers the first item that still needs a step; settling moves it on."""

    def __init__(
        self,
        store: ItemStore[Item],
        workflow: Workflow[Item],
        *,
        objective: Callable[[Item, Step], str],
    ) -> None:
        self._store = store
        self._workflow = workflow
        self._objective = objective
        self._used: dict[tuple[str, str], int] = {}

    async def next(self, state: LoopState) -> Offer:
        for item in self._store.items():
            step = self._workflow.next_step(item)
            if step is not None:
                key = self._store.key(item)
                return Assignment(
                    key=f"{key}/{step.role}",
                    objective=self._objective(item, step),
                    role=step.role,
                    limit=step.limit,
                    used=self._used.get((key, step.role), 0),
                    promise=step.promise,
                    acceptance=step.acceptance,
                    subject=item,
                )
        given_up = [self._store.key(item) for item in self._store.items() if self._workflow.is_given_up(item)]
        return Drained(
            "given up: " + ", ".join(given_up) if given_up else "every item is done", tuple(given_up)
        )

    async def settle(self, assignment: Assignment, evidence: Evidence | None, decision: Decision) -> None:
        key, role = assignment.key.rsplit("/", 1)
        item = self._store.get(key)
        step = self._workflow.next_step(item)
        if step is None or step.role != role:
            return  # settled already: the crash came after it
        match decision:
            case Accept():
                self._store.put(key, self._workflow.advance(item, step, accepted=True))
                self._used.pop((key, role), None)
            case GiveUp(reason):
                self._store.put(key, self._workflow.advance(item, step, accepted=False, reason=reason))
                self._used.pop((key, role), None)
            case Continue():
                self._used[key, role] = assignment.used + 1
            case _:
                pass
