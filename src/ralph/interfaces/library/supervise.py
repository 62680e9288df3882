"""Seed 003's loop for programs that run the agent themselves: a callback is called until the DONE file is there."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from ralph.adapters.bus.loop_posts import LoopPosts
from ralph.adapters.bus.message_bus import MessageBus
from ralph.adapters.clock import SystemClock
from ralph.adapters.documents.task_place import clear_marker, make_task_folder
from ralph.adapters.signals.bus_message import BusMessageProbe
from ralph.adapters.signals.done_file import DoneFile
from ralph.adapters.signals.exit_code import ExitCodeProbe
from ralph.adapters.signals.marker_file import MarkerFileProbe
from ralph.domain.loop.budget import Budget
from ralph.domain.loop.claims import Claim
from ralph.domain.loop.decision import Rules
from ralph.domain.loop.events import LoopEvent, RunStarted, Warned
from ralph.domain.loop.session_report import AgentReport, Ending, Fatal, Spend, Transient
from ralph.domain.loop.state import LoopState
from ralph.domain.supervision.message import WAIT_WITHOUT_RESTART
from ralph.domain.supervision.rules import WAIT_EXIT_CODE, Launches, RestartPace, Supervision
from ralph.domain.supervision.task_folder import (
    DONE,
    ID_HINT,
    PROJECT_BUS,
    TASK_BUS,
    WAIT_MARKER,
    problem_with_id,
)
from ralph.engine.agents.restarted import RootAgent
from ralph.engine.loop import RunResult, run_loop
from ralph.engine.parts import LoopParts
from ralph.engine.ports import AgentRequest, Clock, Control, Publish, SessionFiles
from ralph.engine.recording import Listener, Recorder
from ralph.engine.stop_token import StopToken
from ralph.engine.supervision.work import SupervisedWork
from ralph.errors import RalphError, UsageError
from ralph.interfaces.library.project import Report, warn

RootRunner = Callable[[int], Awaitable[int | None]]
"""Runs the agent once; gets the attempt, from 0. Gives its exit code (None is 0), or raises.

FileNotFoundError, PermissionError and RalphError end the loop: trying again cannot help. Anything else is a failed launch.
"""


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
    """Until ``task_dir/DONE`` is there: completed. Or ``max_restarts`` launches were made: exhausted. Or the agent waits.

    ``children`` names the child runs that are still active. The project's bus is beside the task folder. A callback that
    takes longer than ``agent_timeout`` seconds is cancelled: it has failed, and what it started is its own to end.
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
    make_task_folder(folder)
    done, marker = DoneFile(folder / DONE), folder / WAIT_MARKER
    clear_marker(marker)
    clock = clock or SystemClock()
    control = control or StopToken()
    task_bus = MessageBus(folder / TASK_BUS, now=clock.now)
    posts = LoopPosts(
        task_bus,
        MessageBus(folder.parent / PROJECT_BUS, now=clock.now),
        project=project,
        task=task,
        run="",
        complain=report,
    )
    journal = _Unrecorded(folder)
    publish = Recorder(journal, clock, [posts, *listeners], complain=report)
    bus_probe = BusMessageProbe(
        task_bus.read_piece,
        WAIT_WITHOUT_RESTART,
        Claim.WAITING,
        run="",
        complain=lambda message: publish(Warned(message)),
        offset=task_bus.end(),
    )
    launches = Launches()
    publish(RunStarted("", "supervised", "callback", str(folder), max_restarts))
    return await run_loop(
        LoopParts(
            root=folder,
            work=SupervisedWork(
                str,
                done,
                figures,
                waits=lambda: _wait_reason(marker, bus_probe),
                children=children,
                environment={},
                clock=clock,
                control=control,
                publish=publish,
            ),
            agent=RootAgent(
                _Callback(run_root, agent_timeout), launches, is_done=done.exists, waits_for_limits=True
            ),
            probes=[
                done,
                ExitCodeProbe(WAIT_EXIT_CODE, Claim.WAITING),
                MarkerFileProbe(marker, Claim.WAITING),
                bus_probe,
            ],
            rules=Rules(faults_count=True),
            budget=Budget(iterations=max_restarts),
            pace=RestartPace(delay=restart_delay, launches=launches, chance=random.random, now=clock.now),
            journal=journal,
            clock=clock,
            control=control,
            publish=publish,
        )
    )


def _wait_reason(marker: Path, bus_probe: BusMessageProbe) -> str:
    if marker.is_file():
        return f"{marker.name} is there"
    signals = bus_probe.signals()
    return (signals[0].reason or f"a {WAIT_WITHOUT_RESTART} message was posted") if signals else ""


class _Callback:
    """The ``Agent`` that a callback is."""

    name = "callback"

    def __init__(self, run_root: RootRunner, timeout: float | None) -> None:
        self._run_root = run_root
        self._timeout = timeout

    async def run(
        self, request: AgentRequest, publish: Publish, *, stop: Awaitable[object] | None = None
    ) -> AgentReport:
        began = time.monotonic()
        attempt = int(request.environment["RALPH_ATTEMPT"])
        limit = asyncio.timeout(self._timeout)
        try:
            async with limit:
                code = await self._run_root(attempt) or 0
        except (FileNotFoundError, PermissionError, RalphError) as error:
            return AgentReport(exit_code=None, is_orderly=False, fault=Fatal(f"Fatal error: {error}"))
        except Exception as error:  # whatever it is: a launch that failed
            spend = Spend(seconds=time.monotonic() - began)
            if limit.expired():
                return AgentReport(ending=Ending.TIMED_OUT, exit_code=None, is_orderly=False, spend=spend)
            publish(Warned(f"agent failed on restart #{attempt}: {error!r}"))
            return AgentReport(exit_code=1, is_orderly=False, fault=Transient(str(error)), spend=spend)
        spend = Spend(seconds=time.monotonic() - began)
        return AgentReport(exit_code=code, is_orderly=code == 0, spend=spend)


class _Unrecorded:
    """A journal for who keeps a record of their own: nothing is written, nothing is remembered."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open_session(self, prompt: str, *, iteration: int, attempt: int, purpose: str = "") -> SessionFiles:
        return SessionFiles(self._folder / "prompt.txt", self._folder / "agent.log")

    def check_log(self, iteration: int, slug: str) -> Path:
        return self._folder / f"guardrail_{iteration:03}_{slug}.log"

    def append(self, event: LoopEvent, *, at: float) -> None:
        pass

    def flush(self) -> None:
        pass

    def commit(self, state: LoopState) -> None:
        pass
