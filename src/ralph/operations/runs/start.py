"""Start a prepared run: open it, drive it to its end, and stop it when asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from ralph.adapters.clock import SystemClock
from ralph.adapters.control.run_control import RunControl
from ralph.domain.loop.events import StopRequested
from ralph.engine.loop import RunResult
from ralph.engine.recording import Listener
from ralph.wiring import assembly
from ralph.wiring.kit import Kit
from ralph.wiring.launch import Launch

if TYPE_CHECKING:
    from ralph.domain.tasks.work_result import TaskResult

__all__ = ["Launch", "Listener", "OpenRun", "RunResult", "open_run", "task_results"]


class OpenRun:
    """A run that holds its workspace and whose record is open: other processes can ask things of it."""

    def __init__(self, kit: Kit, control: RunControl) -> None:
        self._kit = kit
        self._control = control

    def stop(self, *, now: bool = False) -> None:
        """After the current step; asked twice, or with ``now``, at once."""
        self._kit.publish(StopRequested(now=self._control.request(now=now)))

    async def drive(self) -> RunResult:
        return await assembly.drive(self._kit)


@asynccontextmanager
async def open_run(
    launch: Launch,
    listeners: Sequence[Listener],
    *,
    complain: Callable[[str], None],
    listeners_for: Callable[[str], Sequence[Listener]],
) -> AsyncIterator[OpenRun]:
    """``listeners_for`` gives the listeners of a run that is part of this one, by its title."""
    control = RunControl(SystemClock())
    async with assembly.open_run(
        launch, control, listeners, complain=complain, listeners_for=listeners_for
    ) as kit:
        yield OpenRun(kit, control)


def task_results(launch: Launch) -> Sequence[TaskResult]:
    """The results of a `ralph work`, by task; none for other runs."""
    from ralph.wiring.runs.work_run import WorkComposition

    return launch.composition.results if isinstance(launch.composition, WorkComposition) else ()
