"""A workflow says which step an item needs, and which changes an agent may make meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

from ralph.domain.decision import Acceptance

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Step:
    """One stage of an item's way."""

    role: str
    promise: str = ""
    limit: int | None = None
    acceptance: Acceptance = Acceptance.CLAIM_AND_PROOF


@dataclass(frozen=True, slots=True)
class Violation:
    """A change that the step's role was not allowed to make."""

    item: str
    message: str


class Workflow(Protocol[Item]):
    """Pure. ``next_step`` judges one item; ``advance`` is what a settled step makes of it."""

    def next_step(self, item: Item) -> Step | None: ...

    def advance(self, item: Item, step: Step, *, accepted: bool, reason: str = "") -> Item: ...

    def is_given_up(self, item: Item) -> bool:
        """Needs no further step, and yet is not done."""
        ...

    def audit(self, before: Item, after: Item, step: Step) -> tuple[Violation, ...]: ...
