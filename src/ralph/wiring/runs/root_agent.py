"""The parts of a supervised run: a root agent, its task folder, its buses and its children."""

from __future__ import annotations

import random
import shlex
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from ralph.adapters.bus.listeners import LoopPosts, Postman
from ralph.adapters.bus.message_bus import MessageBus
from ralph.adapters.bus.outbox import Outbox
from ralph.adapters.documents.task_folder_files import clear_marker, make_task_folder
from ralph.adapters.signals.bus_message import BusMessageProbe
from ralph.adapters.signals.done_file import DoneFile, DoneWatch
from ralph.adapters.signals.probes import ExitCodeProbe, MarkerFileProbe
from ralph.adapters.storage.child_runs import cut_off
from ralph.config.loading import Loaded
from ralph.config.sources import DEFAULT
from ralph.domain.loop.claims import Claim
from ralph.domain.supervision.message import WAIT_WITHOUT_RESTART
from ralph.domain.supervision.rules import (
    WAIT_EXIT_CODE,
    Launches,
    RestartPace,
    Supervision,
    shown_children,
    span,
)
from ralph.domain.supervision.task_folder import DONE, PROJECT_BUS, TASK_BUS, WAIT_MARKER
from ralph.engine.agents.restarted import RootAgent
from ralph.engine.ports import Agent, Check, Probe, Timeouts
from ralph.engine.supervision.children import Family, FamilyAgent, SettledProbe
from ralph.engine.supervision.work import SupervisedWork
from ralph.values import dataclass
from ralph.wiring.announcement import proof_policy
from ralph.wiring.kit import Kit
from ralph.wiring.launch import Composed, Launch
from ralph.wiring.proof import prompt_layers
from ralph.wiring.runs.children import StartedRuns
from ralph.wiring.runs.prompt_run import Prompt

POST_SECONDS = 2.0
"""The loop waits no longer than this for a bus that someone has locked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisedComposition:
    """A root agent and its task folder. Either a prompt for the configured agent, or a ``command`` of its own."""

    supervision: Supervision
    task: str
    project: str
    task_folder: Path
    parent_id: str = ""
    prompt: Prompt | None = None
    command: tuple[str, ...] = ()

    def arguments(self) -> Mapping[str, object]:
        prompt = self.prompt or Prompt()
        return {
            "task": self.task,
            "project": self.project,
            "taskFolder": str(self.task_folder),
            "parent": self.parent_id,
            "prompt": prompt.text,
            "promptFile": str(prompt.file) if prompt.file is not None else None,
            "command": list(self.command),
        }

    def describe(self) -> Mapping[str, object]:
        text = self.prompt.text if self.prompt is not None else None
        return {**self.arguments(), "prompt": text or ""}

    def warnings(self, launch: Launch) -> Iterator[str]:
        if self.prompt is not None and DONE not in self.prompt.read():
            yield (
                f"the prompt does not say how to finish; tell the agent to write the file $TASK_FOLDER/{DONE} "
                "when everything is done"
            )
        settings = launch.settings
        if settings.profiles.supervised.guardrails and settings.guardrails:
            yield "the guardrails at the top of the settings are not used: profiles.supervised has its own"
        if settings.scm is not None:
            yield "scm is not used: a supervised run leaves commits to its agent"

    def commands(self) -> Iterator[str]:
        return iter(())

    @asynccontextmanager
    async def compose(self, kit: Kit) -> AsyncIterator[Composed]:
        make_task_folder(self.task_folder)
        done = DoneFile(self.task_folder / DONE)
        marker = self.task_folder / WAIT_MARKER
        task_bus = MessageBus(self.task_folder / TASK_BUS, lock_seconds=POST_SECONDS)
        project_bus = MessageBus(kit.launch.state_folder / PROJECT_BUS, lock_seconds=POST_SECONDS)
        run_id, figures, settings = kit.record.run_id, self.supervision, kit.launch.settings
        named = {"project": self.project, "task": self.task, "run": run_id}
        warnings = list(self._first_warnings(done, marker))
        bus_probe = BusMessageProbe(
            task_bus.read_piece,
            WAIT_WITHOUT_RESTART,
            Claim.WAITING,
            run=run_id,
            complain=kit.warn,
            offset=task_bus.end(),
        )
        watch = DoneWatch(
            done,
            grace=figures.done_grace,
            poll_interval=figures.poll_interval,
            on_seen=lambda: kit.note(f"DONE is there; the agent has {span(figures.done_grace)} to finish"),
        )
        postman = Postman(
            Outbox(self.task_folder),
            project_bus,
            **named,
            every=figures.poll_interval,
            complain=kit.complain,
        )
        proof = await prompt_layers(kit)
        launches, checks = Launches(), [*kit.guardrails(), *proof.checks]
        children = StartedRuns(kit.record, now=kit.clock.now)
        family = Family(
            children,
            figures,
            is_done=done.exists,
            clock=kit.clock,
            control=kit.control,
            publish=kit.publish,
            time_over=kit.time_over,
            time_left=kit.time_left,
        )
        agent: Agent = RootAgent(
            kit.agent(tags=(), timeouts=self._timeouts(kit.launch.loaded), attendants=[watch, postman]),
            launches,
            is_done=done.exists,
            waits_for_limits=settings.limits.wait_for_limits,
            on_end=lambda: self._warn_of_cut_off_children(kit),
        )
        claim: Probe = done
        if checks:
            agent = FamilyAgent(agent, family, is_done=done.exists)
            claim = SettledProbe(done, children)
        work = self._work(kit, done, family, checks, waits=lambda: _wait_between_launches(marker, bus_probe))
        yield Composed(
            work=work,
            is_due=work.is_due,
            agent=agent,
            probes=[
                claim,
                ExitCodeProbe(WAIT_EXIT_CODE, Claim.WAITING),
                MarkerFileProbe(marker, Claim.WAITING),
                bus_probe,
            ],
            checks=checks,
            begin=proof.begin,
            advisers=proof.advisers,
            proof=proof_policy(kit.launch, kit.runners.own, has_commands=bool(kit.launch.guardrails)),
            rules=kit.launch.rules(),
            pace=RestartPace(
                delay=figures.restart_delay, launches=launches, chance=random.random, now=kit.clock.now
            ),
            listeners=[postman, LoopPosts(task_bus, project_bus, **named, complain=kit.complain)],
            warnings=[*warnings, *proof.warnings],
            notes=[f"task {self.task} is done when this file is there: {done.path}"],
        )
        await proof.end()

    def _work(
        self, kit: Kit, done: DoneFile, family: Family, checks: Sequence[Check], *, waits: Callable[[], str]
    ) -> SupervisedWork:
        return SupervisedWork(
            self.prompt.read if self.prompt is not None else _nothing,
            done,
            self.supervision,
            waits=waits,
            family=family,
            environment=self._environment(kit),
            control=kit.control,
            publish=kit.publish,
            checks=checks,
            time_over=kit.time_over,
            prepare=lambda: self._make_folder_again(kit),
        )

    def _first_warnings(self, done: DoneFile, marker: Path) -> Iterator[str]:
        if done.exists():
            yield f"DONE is there already; to start over, give another --task, or: rm {shlex.quote(str(done.path))}"
        if done.is_link():
            yield f"DONE is a link, so it does not count: {done.path}"
        if clear_marker(marker):
            yield f"{WAIT_MARKER} of an earlier run was removed; the agent is started again"

    def _make_folder_again(self, kit: Kit) -> None:
        """An agent that cleans up may have removed its own mailbox, and could never be done without it."""
        if not self.task_folder.is_dir():
            kit.warn(f"the task folder was missing; it is made again: {self.task_folder}")
        make_task_folder(self.task_folder)

    def _warn_of_cut_off_children(self, kit: Kit) -> None:
        if names := cut_off(self.task_folder):
            shown = shown_children(names)
            kit.warn(f"child runs ended with the sandbox of the agent that started them: {shown}")

    def _environment(self, kit: Kit) -> dict[str, str]:
        """What the agent is told; ``RALPH_RUN_ID`` and the attempt come with each launch."""
        return {
            "TASK_FOLDER": str(self.task_folder),
            "RUN_FOLDER": str(kit.record.folder.absolute()),
            "TASK_MESSAGE_BUS": str(self.task_folder / TASK_BUS),
            "PROJECT_MESSAGE_BUS": str((kit.launch.state_folder / PROJECT_BUS).absolute()),
            "RALPH_PROJECT_ID": self.project,
            "RALPH_TASK_ID": self.task,
            "RALPH_PARENT_RUN_ID": self.parent_id,
        }

    def _timeouts(self, loaded: Loaded) -> Timeouts:
        settings = loaded.settings
        total = self.supervision.agent_timeout
        # A command of the user's own need not print anything, unless they say so.
        has_idle = not self.command or loaded.origin("agent.idleTimeout") != DEFAULT
        return Timeouts(
            settings.agent.timeout if total is None else total,
            settings.agent.idle_timeout if has_idle else None,
        )


def _wait_between_launches(marker: Path, bus_probe: BusMessageProbe) -> str:
    """Asked for between two launches, by hand or by a child: then nothing is launched. Empty: nobody did."""
    if MarkerFileProbe(marker, Claim.WAITING).is_there():
        return f"{WAIT_MARKER} is there: {marker}"
    signals = bus_probe.signals()
    return (signals[0].reason or f"a {WAIT_WITHOUT_RESTART} message was posted") if signals else ""


def _nothing() -> str:
    return ""
