"""Supervise a callback: call it until the DONE file exists. For programs that run the agent themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ralph.adapters.clock import SystemClock
from ralph.domain.loop.events import RunStarted
from ralph.domain.supervision.rules import Supervision
from ralph.domain.supervision.task_folder import ID_HINT, problem_with_id
from ralph.engine.loop import RunResult, run_loop
from ralph.engine.ports import Clock, Control
from ralph.engine.recording import Listener
from ralph.engine.stop_token import StopToken
from ralph.errors import UsageError
from ralph.operations.states import Report, warn
from ralph.wiring.runs.callback_run import RootRunner, callback_parts


def _no_children() -> Sequence[str]:
    return ()


async def supervise(
    run_root: RootRunner,
    task_dir: Path,
    *,
    max_restarts: int = 100,
    restart_delay: float = 1.0,
    wait_timeout: float = 300.0,
    poll_interval: float = 1.0,
    agent_timeout: float | None = None,
    project: str = "",
    task: str = "",
    children: Callable[[], Sequence[str]] = _no_children,
    control: Control | None = None,
    clock: Clock | None = None,
    listeners: Sequence[Listener] = (),
    report: Report = warn,
) -> RunResult:
    """Ends completed when ``task_dir/DONE`` exists, exhausted after ``max_restarts`` launches, or waiting.

    ``children`` names the child runs that are still active. The project's bus is beside the task folder. A callback that
    takes longer than ``agent_timeout`` seconds is cancelled and has failed; it must end whatever it started.
    """
    figures = Supervision(
        max_restarts=max_restarts,
        restart_delay=restart_delay,
        wait_timeout=wait_timeout,
        poll_interval=poll_interval,
        agent_timeout=agent_timeout,
    )
    if problem := figures.problem():
        raise UsageError(problem)
    folder = task_dir.absolute()  # noqa: ASYNC240 - a name only
    task = task or folder.name
    for name, what in ((task, "task"), (project or task, "project")):
        if problem := problem_with_id(name, what=what):
            raise UsageError(problem, hint=ID_HINT)
    parts = callback_parts(
        run_root,
        folder,
        figures,
        project=project,
        task=task,
        children=children,
        control=control or StopToken(),
        clock=clock or SystemClock(),
        listeners=listeners,
        complain=report,
    )
    parts.publish(RunStarted("", "supervised", "callback", str(folder), max_restarts))
    return await run_loop(parts)
