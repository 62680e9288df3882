"""The runs that a run's agent starts: which are active, and which processes are theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ralph.adapters.processes.child_ralphs import child_ralphs, is_child_ralph
from ralph.adapters.storage.child_runs import ChildRuns
from ralph.adapters.storage.controls import Controls
from ralph.domain.loop.asks import Ask
from ralph.domain.loop.decision import Outcome
from ralph.engine.ports import Control
from ralph.errors import RalphError

if TYPE_CHECKING:
    from ralph.wiring.record import Record


class StartedRuns:
    """Child runs, and those ralphs that the agent started which are still on their way to becoming one."""

    def __init__(self, record: Record, *, now: Callable[[], float]) -> None:
        self._record = record
        self._now = now
        self._seen: set[str] = set()

    def active(self) -> Sequence[str]:
        active = self._record.children.active()
        self._seen.update(child.id for child in active)
        registered = {child.owner.pid for child in active}
        starting = [
            f"a ralph that is starting (pid {pid})"
            for pid in child_ralphs(self._record.run_id)
            if pid not in registered
        ]
        return [*(f"{child.id} (pid {child.owner.pid})" for child in active), *starting]

    def failures(self) -> Sequence[str]:
        """One that has its record elsewhere cannot be asked."""
        seen, self._seen = self._seen, set()
        return [
            f"child run {end.id} {f'ended as {end.outcome}: {end.reason}' if end.outcome else 'died'}"
            for end in self._record.children.ends(seen)
            if end.outcome != Outcome.COMPLETED
        ]

    def stop(self) -> None:
        """One that has its record elsewhere cannot be asked."""
        record = self._record
        with suppress(RalphError):
            for child in record.children.active():
                with suppress(RalphError):
                    Controls(record.database, record.database_file, child.id).ask(
                        Ask.STOP_NOW, at=self._now()
                    )


def spare_children(children: ChildRuns, control: Control) -> Callable[[int], bool]:
    """Which processes the clean-up after a launch leaves alone: children, unless everything is to end at once."""

    def is_spared(pid: int) -> bool:
        if control.stopping_now:
            return False
        try:
            if children.is_child(pid):
                return True
        except RalphError:  # the record cannot be read: what looks like a ralph is still left alone
            pass
        return is_child_ralph(pid)

    return is_spared
