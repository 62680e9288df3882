"""The port ``ShiftProcess``: a ralph of its own does one shift in a job's clone, and dies with this process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Protocol

from ralph.adapters.files import make_private_folder, write_private
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.processes.shift_console import ShiftConsole
from ralph.adapters.processes.watcher import Watcher
from ralph.domain.fleet.commands import refusal_of_command, refusal_of_flags
from ralph.domain.fleet.exits import CANNOT_RUN, INTERRUPTED
from ralph.domain.fleet.shift import Beat, ShiftEnd, ShiftOrder
from ralph.domain.fleet.shift_variable import SHIFT
from ralph.domain.fleet.terms import ShiftTerms
from ralph.domain.loop.session_report import Ending
from ralph.domain.trust.demand import VARIABLE as TRUST
from ralph.engine.fleet.ports import Stopping
from ralph.engine.ports import Command, Exit, Running
from ralph.errors import UsageError
from ralph.values import dataclass

RALPH = (sys.executable, "-P", "-m", "ralph")  # -P: no `ralph` of the project
FOLDER = "shift"
"""Beside the job's clone: its order, its end, and its task if it has one."""
BEAT_SECONDS = 1.0
APART_SECONDS = 0.5
"""Between two signals, which would else be one."""
LAST_SECONDS = 20.0
"""That a ralph gets which was told to stop at once: it has its agent to end."""
SAID_LINES, SAID_CHARS = 10, 1_500
WIDE = "160"

_OURS = ("TEMPORAL_", "RALPH_FLEET_KEY")
"""What opens the fleet is not for agents, nor for checks."""
_OUTER = frozenset((
    SHIFT, TRUST, "RALPH_ATTEMPT", "RALPH_ITERATION", "RALPH_MAX_ITERATIONS", "RALPH_PARENT_RUN_ID", "RALPH_PROJECT_ID",
    "RALPH_ROLE", "RALPH_RUN_ID", "RALPH_SANDBOX", "RALPH_SPAWN_ID", "RALPH_TASK_ID",
))  # fmt: skip
"""Of a run whose agent started this worker."""


class KeepConsole(Protocol):
    def __call__(self, run_folder: Path, turn: int, lines: Sequence[str], *, top: Path) -> None: ...


class Figures(Protocol):
    """What sessions have used since it was made."""

    def look(self) -> tuple[int, float, int]:
        """The iteration, the cost and the tokens."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftRunner:
    """``sandbox``: what this machine's owner demands at least. ``state_folder``: its name in a project. ``read_end``: None if
    the shift's folder has none. ``keep_console``: as a file of the run's folder."""

    watcher: Watcher
    environment: Mapping[str, str]
    sandbox: str
    state_folder: str
    run_folder: Callable[[Path, str], Path]
    write_terms: Callable[[Path, ShiftTerms], None]
    read_end: Callable[[Path], ShiftEnd | None]
    keep_console: KeepConsole
    figures: Callable[[Path], Figures]
    program: Sequence[str] = RALPH

    async def run(
        self,
        order: ShiftOrder,
        project: Path,
        *,
        run_id: str,
        beat: Callable[[Beat], None],
        stopping: Stopping,
    ) -> ShiftEnd:
        """One without outcome and want has not happened: ``exit_code``, ``reason`` and ``hint`` say why. Raises UsageError for
        what no job may be."""
        words = words_of(order, run_id)
        folder = project.parent / FOLDER
        make_private_folder(folder)
        if order.job.is_task and not run_id:
            ended = await self._add_task(order, project, folder)
            if ended is not None:
                return ended
        self.write_terms(
            folder, terms_of(order, continues=bool(run_id) and not order.resumes, sandbox=self.sandbox)
        )
        console = ShiftConsole()
        figures = self.figures(project / self.state_folder)
        try:
            async with _beating(lambda: beat(_beat_of(order, console, figures))):
                exited = await self._ralph(words, project, console, {SHIFT: str(folder)}, stopping)
        finally:
            figures.close()
        end = self.read_end(folder)
        if end is None:
            return _without_end(exited, console)
        if end.run_id:
            runs = self.run_folder(project / self.state_folder, end.run_id)
            self.keep_console(runs, order.turn, console.kept(), top=project)
        return end

    async def _add_task(self, order: ShiftOrder, project: Path, folder: Path) -> ShiftEnd | None:
        """None: it is there."""
        file, console = folder / "task.json", ShiftConsole()
        write_private(file, json.dumps([_without_dependencies(order.job.task)]).encode())
        exited = await self._ralph(("task", "add", "-f", str(file)), project, console, {}, None)
        return None if exited.code == 0 else _without_end(exited, console)

    async def _ralph(
        self,
        words: Sequence[str],
        project: Path,
        console: ShiftConsole,
        variables: Mapping[str, str],
        stopping: Stopping | None,
    ) -> Exit:
        runner = PosixProcessRunner(
            run_id=f"fleet-{os.getpid()}",
            base_environment=shift_environment(self.environment),
            watcher=self.watcher,
        )
        command = Command(
            (*self.program, *words),
            project,
            environment={"COLUMNS": WIDE, TRUST: "1", **variables},
            merge_stderr=True,
        )
        tasks: list[asyncio.Task[None]] = []

        def pass_on(running: Running) -> None:
            if stopping is not None:
                tasks.append(asyncio.create_task(_pass_on(stopping, running)))

        try:
            return await runner.run(command, on_start=pass_on, on_lines=console.take)
        finally:
            for task in tasks:
                task.cancel()


def words_of(order: ShiftOrder, run_id: str) -> tuple[str, ...]:
    """What to type for this shift. No word that comes from elsewhere can be an option, but those of a command that jobs may
    be. Raises UsageError for any other."""
    job = order.job
    refusal = refusal_of_flags(job.command) if job.is_task else refusal_of_command(job.command)
    if refusal is not None:
        message = f"this is no job: {refusal.message}"
        raise UsageError(message, hint=refusal.hint)
    if run_id:
        return ("resume", "--", run_id)
    if not job.is_task:
        return job.command
    return ("work", "--max-parallel", "1", *job.command, "--", _id_of(job.task))


def terms_of(order: ShiftOrder, *, continues: bool, sandbox: str) -> ShiftTerms:
    """What the ralph of this shift is told of its order."""
    return ShiftTerms(
        may_merge=order.may_merge,
        continues=continues,
        waited=order.waited,
        lost_cost=order.lost_cost,
        lost_tokens=order.lost_tokens,
        notes=order.notes,
        sandbox=sandbox,
        repository=order.job.repository,
    )


def shift_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The worker's own, for a ralph that runs agents."""
    return {
        name: value for name, value in environ.items() if not name.startswith(_OURS) and name not in _OUTER
    }


async def _pass_on(stopping: Stopping, running: Running) -> None:
    """As Ctrl-C does: once, after the current step; twice, at once."""
    await stopping.requested()
    _interrupt(running)
    await asyncio.sleep(APART_SECONDS)
    await stopping.requested_now()
    _interrupt(running)
    running.finish_within(LAST_SECONDS)


def _interrupt(running: Running) -> None:
    with suppress(ProcessLookupError):
        os.kill(running.pid, signal.SIGINT)


@asynccontextmanager
async def _beating(beat: Callable[[], None]) -> AsyncIterator[None]:
    async def go_on() -> None:
        while True:
            beat()
            await asyncio.sleep(BEAT_SECONDS)

    task = asyncio.create_task(go_on())
    try:
        yield
    finally:
        task.cancel()
    beat()


def _beat_of(order: ShiftOrder, console: ShiftConsole, figures: Figures) -> Beat:
    iteration, cost, tokens = figures.look()
    first_line, lines = console.newest()
    return Beat(
        turn=order.turn, iteration=iteration, cost=cost, tokens=tokens, first_line=first_line, lines=lines
    )


def _without_end(exited: Exit, console: ShiftConsole) -> ShiftEnd:
    """A ralph whose run did not begin has said why; one that was killed has not."""
    code = exited.code
    if code in (INTERRUPTED, -signal.SIGINT):
        return ShiftEnd(exit_code=INTERRUPTED, reason="stopped")
    if exited.ending is Ending.NOT_STARTED:
        return ShiftEnd(exit_code=CANNOT_RUN, reason=exited.error)
    _, said = console.newest(lines=SAID_LINES, chars=SAID_CHARS)
    if code is None or code < 0:
        how = f"was killed by {signal.Signals(-code).name}" if code is not None else "was lost"
        hint = "if that was SIGKILL, the machine may have run out of memory"
    else:
        how, hint = f"ended with exit code {code} before its run could begin", ""
    words = "".join(f"\n  {line}" for line in said)
    return ShiftEnd(
        exit_code=code if code is not None and code > 0 else CANNOT_RUN,
        reason=f"ralph {how}{words}",
        hint=hint,
    )


def _id_of(task: str) -> str:
    """Raises UsageError if it has none: then all tasks would be worked on."""
    found = _entry(task).get("id")
    if not isinstance(found, str) or not found:
        message = "this is no job: its task has no id"
        raise UsageError(message, hint="submit it again, from a file of tasks")
    return found


def _entry(task: str) -> dict[str, object]:
    try:
        found = json.loads(task)
    except (ValueError, RecursionError):
        found = None
    inner = found.get("task") if isinstance(found, dict) else None
    if isinstance(inner, dict):
        found = inner
    return found if isinstance(found, dict) else {}


def _without_dependencies(task: str) -> dict[str, object]:
    """The fleet keeps them: the tasks they name are jobs of their own, and not in this record."""
    return {key: value for key, value in _entry(task).items() if key != "dependencies"}
