"""From a launch to a run: its record open, its runners ready, its parts put together, driven to its end."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ralph.adapters.clock import SystemClock
from ralph.adapters.control.run_control import RunControl
from ralph.adapters.processes.redaction import Redactor
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.shell import shell_argv
from ralph.adapters.storage.controls import Controls
from ralph.adapters.storage.elapsed import Elapsed
from ralph.adapters.storage.old_files import OldFiles
from ralph.domain.loop.events import Warned
from ralph.engine.budget_meter import Meter
from ralph.engine.loop import RunResult, run_loop
from ralph.engine.parts import LoopParts, no_loss, not_known
from ralph.engine.ports import Adviser, Control, ProcessRunner, Publish
from ralph.engine.prompts.advisers import InterruptionAdviser, LedgerAdviser, SteeringAdviser, StuckAdviser
from ralph.engine.recording import Listener, Recorder
from ralph.errors import RalphError
from ralph.wiring.announcement import proof_policy
from ralph.wiring.at_hand import load_what_decides
from ralph.wiring.confinement import (
    agent_environment,
    asks_for_sandbox,
    open_runners,
    own_programs_of,
    redactor_for,
)
from ralph.wiring.inherited_trust import with_inherited_trust
from ralph.wiring.judges import LEFT, program_files_of
from ralph.wiring.kit import Kit, end_unbegun
from ralph.wiring.launch import Driven, Launch
from ralph.wiring.quota import quota_of
from ralph.wiring.record import Record, new_run_id, open_record

if TYPE_CHECKING:
    from ralph.adapters.notify.notifiers import Notifying
    from ralph.adapters.telemetry.listener import Telemetry
    from ralph.adapters.workspace.program_files import ProgramFiles
    from ralph.domain.views.runs import RunLabel

TICK_SECONDS = 1.0


@asynccontextmanager
async def open_run(
    launch: Launch,
    control: Control,
    listeners: Sequence[Listener],
    *,
    complain: Callable[[str], None],
    environ: Mapping[str, str] = os.environ,
    listeners_for: Callable[[RunLabel], Sequence[Listener]] = lambda _: (),
    by_program: bool = False,
) -> AsyncIterator[Kit]:
    """A run with its workspace claimed, its record open and its watcher on guard until the block ends.

    ``by_program``: whoever asked for the run may change its parts, so only they can resume it.
    """
    environ = with_inherited_trust(environ, launch)
    clock = SystemClock()
    run_id = launch.resumes or new_run_id(clock.now())
    parent_id = launch.parent_id or environ.get("RALPH_RUN_ID", "")
    environment = agent_environment(launch, run_id, parent_id=parent_id, environ=environ)
    redactor = redactor_for(launch, environ, environment)
    complain = _discreetly(complain, redactor)
    own = own_programs_of(launch, environ)
    with open_record(
        launch,
        run_id,
        parent_id=parent_id,
        redactor=redactor,
        clock=clock,
        environ=environ,
        by_program=by_program,
    ) as record:
        load_what_decides(launch)
        began = clock.monotonic() - record.state.seconds

        def seconds() -> float:
            return clock.monotonic() - began

        meter = Meter(launch.budget(), record.state.spend, warn=complain, seconds=seconds)
        outside = partial(PosixProcessRunner, run_id=run_id, redactor=redactor)
        notifies = (
            outside(base_environment=own.environment, find=own.find)
            if asks_for_sandbox(launch.settings, launch.profile)
            else outside(base_environment=environ)
        )
        async with AsyncExitStack() as stack:
            notifying = _notifying(launch, notifies, run_id, complain)
            if notifying is not None:
                stack.push_async_callback(notifying.finish)
            telemetry = _telemetry(launch, record, environ, redactor, complain)
            if telemetry is not None:
                stack.push_async_callback(telemetry.finish, control)
            old_files = OldFiles(
                record.folder, launch.state_folder, keep=launch.settings.limits.keep_iterations
            )
            stack.callback(old_files.finish)
            publish = Recorder(
                record.journal,
                clock,
                [
                    meter,
                    old_files,
                    *listeners,
                    *(each for each in (notifying, telemetry) if each is not None),
                ],
                complain=complain,
                redact=redactor.redact,
            )
            try:
                runners = await stack.enter_async_context(
                    open_runners(
                        launch,
                        run_id,
                        run_folder=record.folder,
                        watcher=record.watcher,
                        own=own,
                        environment=environ,
                        agent_environment=environment,
                        redactor=redactor,
                        exempt=_spared(launch, record, control),
                        control=control,
                        report=lambda message: publish(Warned(message)),
                        around=_unchanged if telemetry is None else telemetry.around,
                    )
                )
            except RalphError as error:
                end_unbegun(publish, record, error)
                raise
            stack.callback(record.write_receipt)
            await stack.enter_async_context(_timing(record, seconds))
            try:
                finished = await _finish_merge(launch, runners.outside)
                program_files = program_files_of(launch, record, environment)
                stack.callback(_keep_left, program_files, record.folder / LEFT)
            except RalphError as error:
                end_unbegun(publish, record, error)
                raise
            await stack.enter_async_context(listening(control, record.controls, publish, complain))
            yield Kit(
                launch=launch,
                record=record,
                runners=runners,
                clock=clock,
                control=control,
                publish=publish,
                meter=meter,
                program_files=program_files,
                quota=quota_of(launch, record),
                complain=complain,
                listeners_for=listeners_for,
                finished=finished,
            )


def _spared(launch: Launch, record: Record, control: Control) -> Callable[[int], bool] | None:
    """Whatever outlives a session of this run."""
    if not launch.spares_children:
        return None
    from ralph.wiring.runs.children import spare_children

    return spare_children(record.children, control)


def _discreetly(complain: Callable[[str], None], redactor: Redactor) -> Callable[[str], None]:
    return lambda message: complain(redactor.redact(message))


@asynccontextmanager
async def assemble(
    launch: Launch,
    control: Control,
    listeners: Sequence[Listener],
    *,
    complain: Callable[[str], None],
    environ: Mapping[str, str] = os.environ,
) -> AsyncIterator[LoopParts]:
    """The parts of a run that is a loop, for whoever wants to run or change them."""
    async with (
        open_run(launch, control, listeners, complain=complain, environ=environ, by_program=True) as kit,
        parts_of(kit) as parts,
    ):
        yield parts


@asynccontextmanager
async def parts_of(kit: Kit) -> AsyncIterator[LoopParts]:
    launch, record, budget = kit.launch, kit.record, kit.launch.budget()
    assert not isinstance(launch.composition, Driven), "a run of runs has no parts of its own"
    async with launch.composition.compose(kit) as composed:
        kit.listen(*composed.listeners)
        kit.announce(
            warnings=composed.warnings, commands=composed.commands, notes=composed.notes, proof=composed.proof
        )
        await composed.begin()
        tree = kit.git_workspace()
        if tree is not None and launch.resumes:
            await tree.take_up()
        elif tree is not None and composed.workspace is None:
            await tree.snapshot()  # else the loop takes it
        advisers: list[Adviser] = [
            SteeringAdviser(record.controls, kit.clock, kit.publish),
            StuckAdviser(budget),
        ]
        if launch.settings.ledger:
            advisers.append(LedgerAdviser())
        if launch.notes_given is not None:
            advisers.append(SteeringAdviser(launch.notes_given, kit.clock, kit.publish))
        if record.was_cut and not launch.is_continued:
            advisers.append(InterruptionAdviser(record.state.iteration))
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
            budget=budget,
            advisers=[*advisers, *composed.advisers],
            workspace=composed.workspace,
            tree_change=tree.changes if tree is not None else not_known,
            loss=tree.loss if tree is not None else no_loss,
            state=kit.state,
            pace=composed.pace,
            is_due=composed.is_due,
            why_stopped=lambda: kit.control.why if isinstance(kit.control, RunControl) else "",
            time_over=kit.time_over,
            journal=record.journal,
            clock=kit.clock,
            control=kit.control,
            publish=kit.publish,
            shift=launch.shift,
            redact=kit.runners.redactor.redact,
        )


async def drive(kit: Kit) -> RunResult:
    """Run it to its end, whatever kind it is."""
    composition = kit.launch.composition
    if isinstance(composition, Driven):
        proof = proof_policy(kit.launch, kit.runners.own, has_commands=True)  # those of its tasks
        commands, notes = [*composition.commands(kit.launch)], [*composition.notes()]
        kit.announce(commands=commands, notes=notes, proof=proof)
        return await composition.drive(kit)
    async with AsyncExitStack() as stack:
        try:
            parts = await stack.enter_async_context(parts_of(kit))
        except RalphError as error:
            kit.end_unbegun(error)
            raise
        return await run_loop(parts)


async def _finish_merge(launch: Launch, runner: ProcessRunner) -> str:
    """What a killed `ralph work` left half merged in this tree: no run begins on half of it."""
    if launch.parent_id:
        return ""
    from ralph.adapters.git import Git
    from ralph.adapters.workspace.fast_forward import FastForward

    return await FastForward(Git(launch.root.workspace, runner), launch.state_folder).finish()


def _keep_left(program_files: ProgramFiles, file: Path) -> None:
    with suppress(OSError, RalphError):  # a full disk, say, is being told already
        program_files.keep_left(file)


def _notifying(
    launch: Launch, runner: ProcessRunner, run_id: str, complain: Callable[[str], None]
) -> Notifying | None:
    if not launch.settings.notify:
        return None
    # Imported here: it brings urllib along, which most runs do not need.
    from ralph.adapters.notify.notifiers import Notifying, notifier_for

    root = launch.root.workspace
    notifiers = [
        notifier_for(kind, runner=runner, root=root, shell=shell_argv) for kind in launch.settings.notify
    ]
    return Notifying(notifiers, run_id=run_id, complain=complain)


def _unchanged(runner: ProcessRunner) -> ProcessRunner:
    return runner


def _telemetry(
    launch: Launch,
    record: Record,
    environ: Mapping[str, str],
    redactor: Redactor,
    complain: Callable[[str], None],
) -> Telemetry | None:
    from ralph.domain.telemetry.destination import is_asked

    if not is_asked(launch.settings.telemetry.otlp, environ):
        return None
    # Imported here: it brings the OpenTelemetry SDK along.
    from ralph.wiring.telemetry import telemetry_of

    return telemetry_of(launch, record, environ=environ, redact=redactor.redact, complain=complain)


@asynccontextmanager
async def _timing(record: Record, seconds: Callable[[], float]) -> AsyncIterator[None]:
    """The time that the run takes is on record, also if it is killed while nothing happens."""
    elapsed = Elapsed(record.folder)

    async def tick() -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            elapsed.write(seconds())

    elapsed.write(seconds())  # not in the task: a session may begin before its first turn
    task = asyncio.create_task(tick())
    try:
        yield
    finally:
        task.cancel()
        elapsed.write(seconds())


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
