"""From a plan to the parts of a run, with its workspace claimed and its record open."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from time import gmtime, localtime, strftime, time
from typing import TYPE_CHECKING

from ralph.adapters.actions.scm import ScmAction
from ralph.adapters.advice.advisers import InterruptionAdviser, SteeringAdviser, StuckAdviser
from ralph.adapters.agents.registry import split_flags
from ralph.adapters.checks.command import CommandCheck
from ralph.adapters.clock import SystemClock
from ralph.adapters.control.run_control import RunControl
from ralph.adapters.processes.identity import started_of, this_process
from ralph.adapters.processes.redaction import Redactor, redact_argv, secrets_in
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.processes.shell import shell_argv
from ralph.adapters.processes.watcher import end_run_processes, start_watcher
from ralph.adapters.signals.tag import TagProbe
from ralph.adapters.storage.claims import Claims
from ralph.adapters.storage.controls import Controls
from ralph.adapters.storage.database import open_state_database
from ralph.adapters.storage.interrupted import interrupted_run
from ralph.adapters.storage.journal import SqliteJournal, TakenUp
from ralph.adapters.storage.run_request import save_request
from ralph.adapters.work.prompt_work import PromptWork
from ralph.adapters.workspace.git import GitWorkspace
from ralph.config.root import git_top
from ralph.domain.agent_events import Usage
from ralph.domain.budget import Budget, Pace
from ralph.domain.claim import Mode
from ralph.domain.decision import Rules
from ralph.domain.loop_events import RunStarted, Warned
from ralph.domain.state import LoopState
from ralph.engine.metering import Meter
from ralph.engine.parts import LoopParts
from ralph.engine.ports import (
    Action,
    Adviser,
    Agent,
    Control,
    ProcessRunner,
    Publish,
    Timeouts,
)
from ralph.engine.recording import Listener, Recorder
from ralph.engine.session import AgentSession
from ralph.errors import RalphError
from ralph.wiring.plan import Plan

if TYPE_CHECKING:
    from ralph.adapters.notify.notifiers import Notifying


def new_run_id(now: float) -> str:
    """Sorts by time, and two runs of one second still differ."""
    return f"{strftime('%Y%m%d-%H%M%S', gmtime(now))}-{os.urandom(2).hex()}"


@asynccontextmanager
async def assembled(
    plan: Plan,
    control: Control,
    listeners: Sequence[Listener],
    *,
    complain: Callable[[str], None],
    environ: Mapping[str, str] = os.environ,
) -> AsyncIterator[LoopParts]:
    """The parts of a run, with its workspace claimed, its record open and its watcher on guard until the block ends."""
    settings, clock = plan.settings, SystemClock()
    workspace = plan.root.workspace
    run_id = plan.resumes or new_run_id(clock.now())
    parent_id = environ.get("RALPH_RUN_ID", "")
    me = this_process()
    environment = {**environ, **settings.agent.environment}
    redactor = Redactor(secrets_in(environment))
    options = {
        "prompt": redactor.redact(plan.prompt.text or ""),
        "promptFile": str(plan.prompt.file) if plan.prompt.file is not None else None,
        "maximumIterations": plan.maximum,
        "completion": plan.completion,
        "agent": redactor.redact(redact_argv([settings.agent.command, *split_flags(settings.agent.flags)])),
    }
    with (
        closing(open_state_database(plan.state_folder)) as database,
        Claims(database, me=me, started_of=started_of).holding(
            str(workspace), Mode.EXECUTING, run_id=run_id, inherited=parent_id, now=clock.now()
        ),
        SqliteJournal(plan.state_folder, database, run_id, owner=me, now=clock.now()) as journal,
        start_watcher(run_id),
    ):
        left = None
        if plan.resumes:
            end_run_processes(run_id)  # whatever an earlier process of this run could not end
            taken_up = journal.take_up(options=options)
        else:
            left = interrupted_run(database, plan.state_folder / "ralph.db", here=me, started_of=started_of)
            if left is not None:
                end_run_processes(left)  # its watcher may have been killed with it
            # Before the run is on record: one that can be seen can be resumed.
            save_request(journal.run_folder, plan.request())
            journal.begin(
                profile=plan.profile.name,
                agent=plan.agent,
                root=workspace,
                options=options,
                parent_id=parent_id,
            )
            taken_up = TakenUp(LoopState(), was_cut=False)
        controls = Controls(database, plan.state_folder / "ralph.db", run_id)
        runner = PosixProcessRunner(run_id=run_id, base_environment=environ, redactor=redactor)
        agent_runner = PosixProcessRunner(run_id=run_id, base_environment=environment, redactor=redactor)
        budget = Budget(
            iterations=plan.maximum,
            cost_usd=settings.limits.max_cost,
            tokens=settings.limits.max_tokens,
            seconds=settings.limits.max_time,
            stuck_after=settings.limits.stuck_after,
        )
        meter = Meter(budget, taken_up.state.spend, now=clock.now, warn=complain)
        sessions = [
            AgentSession(
                adapter,
                agent_runner,
                tags=(plan.profile.tag,),
                show=lambda argv: redactor.redact(redact_argv(argv)),
                timeouts=Timeouts(settings.agent.timeout, settings.agent.idle_timeout),
                watch=meter.watch,
                price=_priced(plan),
                reset_time=_reset_time,
            )
            for adapter in (plan.adapter, *plan.fallbacks)
        ]
        session: Agent = sessions[0]
        if plan.fallbacks:
            from ralph.engine.fallback import FallbackAgent

            session = FallbackAgent(sessions, clock)
        if plan.profile.prompt == "continuation":
            listeners = [*listeners, _loop_state_listener(plan, clock, complain)]
        listeners = [meter, *listeners]
        notifying = _notifying(settings.notify, runner, workspace, run_id, complain)
        if notifying is not None:
            listeners = [*listeners, notifying]
        publish = Recorder(journal, clock, listeners, complain=complain)
        checks = [
            CommandCheck(
                guardrail,
                runner=runner,
                journal=journal,
                shell=shell_argv,
                root=workspace,
                state_folder=plan.state_folder,
                truncate_chars=settings.output_truncate_chars,
            )
            for guardrail in plan.guardrails
        ]
        warnings = list(plan.warnings())
        if left is not None:
            warnings.append(f"run {left} was interrupted; `ralph resume` goes on with it, this is a new one")
        actions: list[Action] = []
        if settings.scm is not None and settings.scm.tasks:
            scm = ScmAction(
                settings.scm.command,
                settings.scm.tasks,
                agent=session,
                runner=runner,
                journal=journal,
                root=workspace,
                memory=journal.run_folder / "untracked_before.json",
                completion=plan.completion,
                timeout=settings.scm.timeout,
            )
            warnings += await scm.prepare()
            actions.append(scm)
        publish(
            RunStarted(
                run_id=run_id,
                profile=plan.profile.name,
                agent=plan.agent,
                root=str(workspace),
                maximum=plan.maximum,
                notes=tuple(
                    dict.fromkeys(note for each in (plan.adapter, *plan.fallbacks) for note in each.notes)
                ),
            )
        )
        for warning in warnings:
            publish(Warned(warning))
        advisers: list[Adviser] = [SteeringAdviser(controls, clock, publish), StuckAdviser(budget)]
        if taken_up.was_cut:
            advisers.append(InterruptionAdviser(taken_up.state.iteration))
        parts = LoopParts(
            root=workspace,
            work=PromptWork(plan.prompt.read),
            agent=session,
            probes=[TagProbe(plan.profile.tag, plan.completion, first=plan.profile.first_tag_decides)],
            checks=checks,
            actions=actions,
            prompt=plan.prompt_style(),
            rules=Rules(
                acceptance=plan.profile.acceptance,
                max_attempts=settings.limits.max_attempts,
                faults_count=plan.profile.faults_count,
                wait_for_limits=settings.limits.wait_for_limits,
            ),
            budget=budget,
            advisers=advisers,
            workspace=GitWorkspace(workspace, runner, top=top) if (top := git_top(workspace)) else None,
            state=taken_up.state,
            pace=Pace(plan.profile.restart_delay),
            journal=journal,
            clock=clock,
            control=control,
            publish=publish,
            redact=redactor.redact,
        )
        try:
            async with listening(control, controls, publish, complain):
                yield parts
        finally:
            with suppress(RalphError):  # if the record cannot be written, that is being told already
                _write_receipt(database, journal, run_id)
            if notifying is not None:
                await notifying.finish()


def _write_receipt(database: sqlite3.Connection, journal: SqliteJournal, run_id: str) -> None:
    from ralph.adapters.storage.receipts import write_receipt

    journal.flush()
    write_receipt(database, journal.run_folder, run_id)


def _priced(plan: Plan) -> Callable[[Usage, str], float | None]:
    """The table is loaded when the first agent leaves the price of its tokens open."""

    def price(usage: Usage, model: str) -> float | None:
        from ralph.domain.prices import cost_of, with_own

        return cost_of(usage, model, with_own(plan.own_prices))

    return price


def _reset_time(text: str) -> float | None:
    from ralph.domain.reset_time import reset_time

    now = time()
    return reset_time(text, now, utc_offset=localtime(now).tm_gmtoff)


def _notifying(
    kinds: Sequence[str], runner: ProcessRunner, root: Path, run_id: str, complain: Callable[[str], None]
) -> Notifying | None:
    if not kinds:
        return None
    # Imported here: it brings urllib along, which most runs do not need.
    from ralph.adapters.notify.notifiers import Notifying, notifier_for

    notifiers = [notifier_for(kind, runner=runner, root=root, shell=shell_argv) for kind in kinds]
    return Notifying(notifiers, run_id=run_id, complain=complain)


def _loop_state_listener(plan: Plan, clock: SystemClock, complain: Callable[[str], None]) -> Listener:
    """Shows the run to others in `.ralph/state/ralph-loop.json` (seed 000)."""
    from ralph.adapters.storage.loop_state_file import LoopStateListener, loop_state_file

    file = loop_state_file(plan.root.workspace, report=complain, now=clock.now)
    return LoopStateListener(file, task=plan.prompt.read(), promise=plan.completion, started_at=clock.now())


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
