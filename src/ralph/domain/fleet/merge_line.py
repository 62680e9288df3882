"""Who may move a base: one job at a time, in the order in which they asked."""

from __future__ import annotations

from collections.abc import Iterable

from ralph.values import dataclass


@dataclass(frozen=True, slots=True)
class MergeLine:
    """The first has the turn, the others wait."""

    jobs: tuple[str, ...] = ()

    @property
    def holder(self) -> str:
        return self.jobs[0] if self.jobs else ""

    def asked(self, job: str) -> MergeLine:
        """Asking twice changes nothing."""
        return self if job in self.jobs else MergeLine((*self.jobs, job))

    def without(self, gone: Iterable[str]) -> MergeLine:
        left = frozenset(gone)
        return MergeLine(tuple(job for job in self.jobs if job not in left))
