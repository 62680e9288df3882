"""The parts of a loop whose agent is a callback: what a program that runs the agent itself hands to ``supervise``."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from ralph.adapters.bus.listeners import LoopPosts
from ralph.adapters.bus.message_bus import MessageBus
from ralph.adapters.documents.task_folder_files import clear_marker, make_task_folder
from ralph.adapters.files import real_path
from ralph.adapters.signals.bus_message import BusMessageProbe
from ralph.adapters.signals.done_file import DoneFile
from ralph.adapters.signals.probes import ExitCodeProbe, MarkerFileProbe
from ralph.domain.loop.budget import Budget
from ralph.domain.loop.claims import Claim
from ralph.domain.loop.decision import Rules
from ralph.domain.loop.events import LoopEvent, Warned
from ralph.domain.loop.session_report import AgentReport, Ending, Fatal, Spend, Transient
from ralph.domain.loop.state import LoopState
from ralph.domain.supervision.message import WAIT_WITHOUT_RESTART
from ralph.domain.supervision.rules import WAIT_EXIT_CODE, Launches, RestartPace, Supervision
from ralph.domain.supervision.task_folder import DONE, PROJECT_BUS, TASK_BUS, WAIT_MARKER
from ralph.engine.agents.restarted import RootAgent
from ralph.engine.parts import LoopParts
from ralph.engine.ports import AgentRequest, Clock, Control, Publish, SessionFiles
from ralph.engine.recording import Listener, Recorder
from ralph.engine.supervision.children import Family
from ralph.engine.supervision.work import SupervisedWork
from ralph.errors import RalphError

RootRunner = Callable[[int], Awaitable[int | None]]
"""Runs the agent once; gets the attempt, from 0. Gives its exit code (None is 0), or raises.

FileNotFoundError, PermissionError and RalphError end the loop: trying again cannot help. Anything else is a failed launch.
"""


def callback_parts(
    run_root: RootRunner,
    folder: Path,
    figures: Supervision,
    *,
    project: str,
    task: str,
    children: Callable[[], Sequence[str]],
    control: Control,
    clock: Clock,
    listeners: Sequence[Listener],
    complain: Callable[[str], None],
) -> LoopParts:
    """Makes the task folder; the project's bus is beside it."""
    folder = real_path(folder)
    make_task_folder(folder)
    done, marker = DoneFile(folder / DONE), folder / WAIT_MARKER
    clear_marker(marker)
    task_bus = MessageBus(folder / TASK_BUS, now=clock.now)
    posts = LoopPosts(
        task_bus,
        MessageBus(folder.parent / PROJECT_BUS, now=clock.now),
        project=project,
        task=task,
        run="",
        complain=complain,
    )
    journal = _Unrecorded(folder)
    publish = Recorder(journal, clock, [posts, *listeners], complain=complain)
    bus_probe = BusMessageProbe(
        task_bus.read_piece,
        WAIT_WITHOUT_RESTART,
        Claim.WAITING,
        run="",
        complain=lambda message: publish(Warned(message)),
        offset=task_bus.end(),
    )
    launches = Launches()
    return LoopParts(
        root=folder,
        work=SupervisedWork(
            str,
            done,
            figures,
            waits=lambda: _wait_reason(marker, bus_probe),
            family=Family(
                _Named(children),
                figures,
                is_done=done.exists,
                clock=clock,
                control=control,
                publish=publish,
            ),
            environment={},
            control=control,
            publish=publish,
        ),
        agent=RootAgent(
            _Callback(run_root, figures.agent_timeout), launches, is_done=done.exists, waits_for_limits=True
        ),
        probes=[
            done,
            ExitCodeProbe(WAIT_EXIT_CODE, Claim.WAITING),
            MarkerFileProbe(marker, Claim.WAITING),
            bus_probe,
        ],
        rules=Rules(faults_count=True),
        budget=Budget(iterations=figures.max_restarts),
        pace=RestartPace(delay=figures.restart_delay, launches=launches, chance=random.random, now=clock.now),
        journal=journal,
        clock=clock,
        control=control,
        publish=publish,
    )


def _wait_reason(marker: Path, bus_probe: BusMessageProbe) -> str:
    if MarkerFileProbe(marker, Claim.WAITING).is_there():
        return f"{marker.name} is there"
    signals = bus_probe.signals()
    return (signals[0].reason or f"a {WAIT_WITHOUT_RESTART} message was posted") if signals else ""


class _Named:
    """Children of which nothing is known but their names."""

    def __init__(self, active: Callable[[], Sequence[str]]) -> None:
        self.active = active

    def failures(self) -> Sequence[str]:
        return ()

    def stop(self) -> None:
        """They are the program's own."""


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
    """A journal for a program that keeps a record of its own: nothing is written, nothing is remembered."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open_session(self, prompt: str, *, iteration: int, attempt: int, purpose: str = "") -> SessionFiles:
        return SessionFiles(self._folder / "prompt.txt", self._folder / "agent.log")

    def check_log(self, iteration: int, slug: str) -> Path:
        return self._folder / f"guardrail_{iteration:03}_{slug}.log"

    def name_of(self, log: Path) -> str:
        return str(log)

    def append(self, event: LoopEvent, *, at: float) -> None:
        pass

    def flush(self) -> None:
        pass

    def commit(self, state: LoopState) -> None:
        pass
