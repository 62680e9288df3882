"""From a launch to the parts of a run, with its workspace claimed and its record open."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from dataclasses import replace
from pathlib import Path
from time import gmtime, strftime
from typing import TYPE_CHECKING

from ralph.adapters.agents.registry import split_flags
from ralph.adapters.clock import SystemClock
from ralph.adapters.control.run_control import RunControl
from ralph.adapters.processes.identity import started_of, this_process
from ralph.adapters.processes.redaction import Redactor, redact_argv, secrets_in
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.processes.watcher import end_run_processes, start_watcher
from ralph.adapters.shell import shell_argv
from ralph.adapters.storage.child_runs import ChildRuns, registered_child
from ralph.adapters.storage.claims import Claims
from ralph.adapters.storage.controls import Controls
from ralph.adapters.storage.database import open_state_database
from ralph.adapters.storage.interrupted import interrupted_run
from ralph.adapters.storage.journal import SqliteJournal, TakenUp
from ralph.adapters.storage.run_request import save_flags, save_request
from ralph.domain.holder import Mode
from ralph.domain.loop.events import Warned
from ralph.domain.loop.state import LoopState
from ralph.engine.budget_meter import Meter
from ralph.engine.loop import RunResult, run_loop
from ralph.engine.parts import LoopParts
from ralph.engine.ports import (
    Adviser,
    Control,
    ProcessRunner,
    Publish,
)
from ralph.engine.prompts.advisers import InterruptionAdviser, SteeringAdviser, StuckAdviser
from ralph.engine.recording import Listener, Recorder
from ralph.errors import RalphError
from ralph.wiring.confinement import confinement_of, open_sandbox
from ralph.wiring.kit import Kit, end_unbegun, pricing
from ralph.wiring.launch import Driven, Launch
from ralph.wiring.runs.children import spare_children

if TYPE_CHECKING:
    from ralph.adapters.notify.notifiers import Notifying


def new_run_id(now: float) -> str:
    """Sorts by time, and two runs of one second still differ."""
    return f"{strftime('%Y%m%d-%H%M%S', gmtime(now))}-{os.urandom(2).hex()}"


@asynccontextmanager
async def open_run(
    launch: Launch,
    control: Control,
    listeners: Sequence[Listener],
    *,
    complain: Callable[[str], None],
    environ: Mapping[str, str] = os.environ,
    listeners_for: Callable[[str], Sequence[Listener]] = lambda _: (),
    by_program: bool = False,
) -> AsyncIterator[Kit]:
    """A run with its workspace claimed, its record open and its watcher on guard until the block ends.

    ``by_program``: the parts of the run may be changed by who asked for it, so only he can resume it.
    """
    settings, clock = launch.settings, SystemClock()
    workspace = launch.root.workspace
    run_id = launch.resumes or new_run_id(clock.now())
    parent_id = launch.parent_id or environ.get("RALPH_RUN_ID", "")
    me = this_process()
    environment = {**environ, **settings.agent.environment}
    # What a supervised parent told its agent is not about the agent of this run.
    environment.pop("RALPH_ATTEMPT", None)
    environment |= {
        "RUN_FOLDER": str((launch.state_folder / "runs" / run_id).absolute()),
        "RALPH_PARENT_RUN_ID": parent_id,
    }
    redactor = Redactor(
        secrets_in(environment).union(*(secrets_in(own.environment) for own in settings.agents.values()))
    )
    options = _options(launch, redactor)
    with (
        closing(open_state_database(launch.state_folder)) as database,
        Claims(database, me=me, started_of=started_of).holding(
            str(workspace), Mode.EXECUTING, run_id=run_id, inherited=parent_id, now=clock.now()
        ),
        SqliteJournal(launch.state_folder, database, run_id, owner=me, now=clock.now()) as journal,
        start_watcher(run_id),
        registered_child(environ, run_id, me),
    ):
        left = None
        children = ChildRuns(database, launch.state_folder, run_id, here=me, started_of=started_of)
        if launch.resumes:
            # Whatever an earlier process of this run could not end; its child runs live on.
            end_run_processes(run_id, spared=[child.owner.pid for child in children.active()])
            taken_up = journal.take_up(options=options, price=pricing(launch), parent_id=launch.parent_id)
            if launch.flags:
                save_flags(journal.run_folder, launch.flags)
        else:
            if not launch.parent_id:
                left = interrupted_run(
                    database, launch.state_folder / "ralph.db", workspace, here=me, started_of=started_of
                )
            if left is not None:
                end_run_processes(left)  # its watcher may have been killed with it
            # Before the run is on record: one that can be seen can be resumed.
            save_request(journal.run_folder, replace(launch.request(), by_program=by_program))
            journal.begin(
                profile=launch.profile.name,
                agent=launch.agent,
                root=workspace,
                options=options,
                parent_id=parent_id,
            )
            taken_up = TakenUp(LoopState(), was_cut=False)
        controls = Controls(database, launch.state_folder / "ralph.db", run_id)
        runner = PosixProcessRunner(run_id=run_id, base_environment=environ, redactor=redactor)
        agent_runner = PosixProcessRunner(
            run_id=run_id,
            base_environment=environment,
            redactor=redactor,
            ladder=launch.ladder,
            exempt=spare_children(children, control),
        )
        budget = launch.budget()
        meter = Meter(budget, taken_up.state.spend, warn=complain)
        notifying = _notifying(settings.notify, runner, workspace, run_id, complain)
        publish = Recorder(
            journal,
            clock,
            [meter, *listeners, *((notifying,) if notifying is not None else ())],
            complain=complain,
        )
        async with AsyncExitStack() as stack:
            try:
                confinement = await confinement_of(
                    launch,
                    runner,
                    run_id=run_id,
                    run_folder=journal.run_folder,
                    environment=environment,
                    report=lambda message: publish(Warned(message)),
                )
                await stack.enter_async_context(open_sandbox(confinement, runner))
            except RalphError as error:
                end_unbegun(publish, journal, taken_up.state, error)
                raise
            outside: ProcessRunner = runner
            if confinement.sandbox is not None:
                from ralph.adapters.isolation.outside_git import safe_git_variables

                safe = {**environ, **safe_git_variables(environ)}
                outside = confinement.wary(
                    PosixProcessRunner(run_id=run_id, base_environment=safe, redactor=redactor)
                )
            kit = Kit(
                launch=launch,
                run_id=run_id,
                run_folder=journal.run_folder,
                database=database,
                journal=journal,
                controls=controls,
                clock=clock,
                control=control,
                publish=publish,
                redactor=redactor,
                environment=environment,
                runner=confinement.around(runner) if settings.sandbox_checks else runner,
                agent_runner=confinement.around(agent_runner),
                outside=outside,
                confinement=confinement,
                environ=environ,
                budget=budget,
                meter=meter,
                state=taken_up.state,
                is_resumed=bool(launch.resumes),
                was_cut=taken_up.was_cut,
                interrupted=left or "",
                complain=complain,
                listeners_for=listeners_for,
            )
            try:
                async with listening(control, controls, publish, complain):
                    yield kit
            finally:
                with suppress(RalphError):  # if the record cannot be written, that is being told already
                    _write_receipt(database, journal, run_id)
                if notifying is not None:
                    await notifying.finish()


@asynccontextmanager
async def assemble(
    launch: Launch,
    control: Control,
    listeners: Sequence[Listener],
    *,
    complain: Callable[[str], None],
    environ: Mapping[str, str] = os.environ,
) -> AsyncIterator[LoopParts]:
    """The parts of a run that is a loop, for who wants to run or change them by himself."""
    async with (
        open_run(launch, control, listeners, complain=complain, environ=environ, by_program=True) as kit,
        parts_of(kit) as parts,
    ):
        yield parts


@asynccontextmanager
async def parts_of(kit: Kit) -> AsyncIterator[LoopParts]:
    launch, publish = kit.launch, kit.publish
    assert not isinstance(launch.composition, Driven), "a run of runs has no parts of its own"
    async with launch.composition.compose(kit) as composed:
        kit.listen(*composed.listeners)
        kit.announce(composed.warnings)
        advisers: list[Adviser] = [
            SteeringAdviser(kit.controls, kit.clock, publish),
            StuckAdviser(kit.budget),
        ]
        if kit.was_cut:
            advisers.append(InterruptionAdviser(kit.state.iteration))
        yield LoopParts(
            root=kit.workspace,
            work=composed.work,
            agent=composed.agent,
            probes=composed.probes,
            checks=composed.checks,
            checks_of=composed.checks_of,
            actions=composed.actions,
            prompt=composed.prompt,
            rules=composed.rules,
            budget=kit.budget,
            advisers=[*advisers, *composed.advisers],
            workspace=composed.workspace,
            state=kit.state,
            pace=composed.pace,
            journal=kit.journal,
            clock=kit.clock,
            control=kit.control,
            publish=publish,
            redact=kit.redactor.redact,
        )


async def drive(kit: Kit) -> RunResult:
    """Run it to its end, whatever kind it is."""
    composition = kit.launch.composition
    if isinstance(composition, Driven):
        kit.announce(())
        return await composition.drive(kit)
    async with AsyncExitStack() as stack:
        try:
            parts = await stack.enter_async_context(parts_of(kit))
        except RalphError as error:
            kit.end_unbegun(error)
            raise
        return await run_loop(parts)


def _options(launch: Launch, redactor: Redactor) -> dict[str, object]:
    """What the record shows of how the run was asked for."""
    agent = launch.settings.agent
    described = {
        **launch.composition.describe(),
        "maximumIterations": launch.maximum,
        "agent": redact_argv([agent.command, *split_flags(agent.flags)]),
    }
    return {
        key: redactor.redact(value) if isinstance(value, str) else value for key, value in described.items()
    }


def _write_receipt(database: sqlite3.Connection, journal: SqliteJournal, run_id: str) -> None:
    from ralph.adapters.storage.receipts import write_receipt

    journal.flush()
    write_receipt(database, journal.run_folder, run_id)


def _notifying(
    kinds: Sequence[str], runner: ProcessRunner, root: Path, run_id: str, complain: Callable[[str], None]
) -> Notifying | None:
    if not kinds:
        return None
    # Imported here: it brings urllib along, which most runs do not need.
    from ralph.adapters.notify.notifiers import Notifying, notifier_for

    notifiers = [notifier_for(kind, runner=runner, root=root, shell=shell_argv) for kind in kinds]
    return Notifying(notifiers, run_id=run_id, complain=complain)


@asynccontextmanager
async def listening(
    control: Control, controls: Controls, publish: Publish, complain: Callable[[str], None]
) -> AsyncIterator[None]:
    """Hear what other terminals ask, if the control can."""
    if not isinstance(control, RunControl):
        yield
        return

    def report(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            complain(f"requests from other terminals are no longer heard: {error}")

    task = asyncio.create_task(control.watch(controls, publish))
    task.add_done_callback(report)
    try:
        yield
    finally:
        task.cancel()
