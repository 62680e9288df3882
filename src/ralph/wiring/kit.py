"""What a composition builds with: the open record, the runners, the agents, the checks that every profile shares."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import localtime, time

from ralph.adapters.actions.scm import ScmAction
from ralph.adapters.checks.commands import ShellCommands
from ralph.adapters.clock import SystemClock
from ralph.adapters.processes.redaction import Redactor, redact_argv
from ralph.adapters.storage.controls import Controls
from ralph.adapters.storage.journal import SqliteJournal
from ralph.adapters.workspace.snapshot import GitWorkspace
from ralph.config.root import git_top
from ralph.domain.agent.events import Usage
from ralph.domain.agent.transcript import PriceOf, Transcript
from ralph.domain.loop.budget import Budget
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import RunEnded, RunStarted, Warned
from ralph.domain.loop.state import LoopState
from ralph.engine.budget_meter import Meter
from ralph.engine.guardrail import Guardrail, GuardrailCheck
from ralph.engine.ports import Agent, Check, Control, ProcessRunner, Timeouts
from ralph.engine.recording import Listener, Recorder
from ralph.engine.session import AgentSession, Attendant
from ralph.errors import RalphError
from ralph.wiring.agents import ChosenAgents
from ralph.wiring.announcement import named_commands
from ralph.wiring.confinement import Confinement
from ralph.wiring.launch import Driven, Launch


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """``runner`` runs what the agent may have written (in the sandbox, if there is one); ``outside`` runs our own git."""

    launch: Launch
    run_id: str
    run_folder: Path
    database: sqlite3.Connection
    journal: SqliteJournal
    controls: Controls
    clock: SystemClock
    control: Control
    publish: Recorder
    redactor: Redactor
    environment: Mapping[str, str]  # that agents get
    environ: Mapping[str, str]  # our own
    confinement: Confinement
    runner: ProcessRunner
    agent_runner: ProcessRunner
    outside: ProcessRunner
    budget: Budget
    meter: Meter
    state: LoopState  # where the run stands
    is_resumed: bool
    was_cut: bool  # a session was under way when an earlier process of this run ended
    interrupted: str  # another run that was left behind here; empty: none
    complain: Callable[[str], None]
    listeners_for: Callable[
        [str], Sequence[Listener]
    ]  # those who want to see a run that is a part of this one

    @property
    def is_confined(self) -> bool:
        """The agent works in a sandbox."""
        return self.confinement.sandbox is not None

    @property
    def workspace(self) -> Path:
        return self.launch.root.workspace

    def listen(self, *listeners: Listener) -> None:
        self.publish.listen(*listeners)

    def announce(self, warnings: Sequence[str]) -> None:
        """The first event of the run, and what the user should know about it."""
        launch = self.launch
        self.publish(
            RunStarted(
                run_id=self.run_id,
                profile=launch.profile.name,
                agent=launch.agent,
                root=str(self.workspace),
                maximum=launch.maximum,
                notes=launch.notes,
                sandbox=self.confinement.notes,
                commands=named_commands(launch, self.environ),
            )
        )
        for warning in (*launch.warnings(), *warnings):
            self.publish(Warned(warning))
        if self.interrupted:
            left = f"run {self.interrupted} was interrupted"
            goes_on = "`ralph resume` goes on with it, this is a new one"
            if isinstance(launch.composition, Driven):
                goes_on = "what is left of its tasks goes on here"
            self.publish(Warned(f"{left}; {goes_on}"))

    def end_unbegun(self, error: RalphError) -> None:
        end_unbegun(self.publish, self.journal, self.state, error)

    def agent(
        self,
        *,
        tags: Sequence[str],
        chosen: ChosenAgents | None = None,
        timeouts: Timeouts | None = None,
        attendants: Sequence[Attendant] = (),
    ) -> Agent:
        """The run's agent, or ``chosen`` instead, with whoever stands in for it. ``tags`` are what probes look for."""
        settings = self.launch.settings.agent
        chain = (chosen or self.launch.agents).chain
        sessions: list[Agent] = [
            AgentSession(
                adapter,
                self.agent_runner,
                tags=tags,
                show=lambda argv: self.redactor.redact(redact_argv(argv)),
                timeouts=timeouts or Timeouts(settings.timeout, settings.idle_timeout),
                watch=self._watch,
                price=pricing(self.launch),
                reset_time=_reset_time,
                attendants=attendants,
            )
            for adapter in chain
        ]
        if settings.continue_session:
            from ralph.engine.agents.continued_session import ContinuingAgent

            # Only the first was asked whether it can.
            sessions[0] = ContinuingAgent(sessions[0])
        if len(sessions) == 1:
            return sessions[0]
        from ralph.engine.agents.fallback import FallbackAgent

        return FallbackAgent(sessions, self.clock, is_stopping=lambda: self.control.stopping)

    def guardrails(self) -> list[Check]:
        return [self.guardrail(guardrail) for guardrail in self.launch.guardrails]

    def guardrail(self, guardrail: Guardrail) -> Check:
        return GuardrailCheck(
            guardrail,
            commands=self.commands,
            journal=self.journal,
            root=self.workspace,
            state_folder=self.launch.state_folder,
        )

    @property
    def commands(self) -> ShellCommands:
        return ShellCommands(self.runner, self.workspace)

    def scm(self, agent: Agent, *, completion: str) -> ScmAction | None:
        """What the settings want to happen with proven changes; ``prepare`` it before the first session."""
        scm = self.launch.settings.scm
        if scm is None or not scm.tasks:
            return None
        return ScmAction(
            scm.command,
            scm.tasks,
            agent=agent,
            runner=self.outside,
            journal=self.journal,
            root=self.workspace,
            memory=self.run_folder / "untracked_before.json",
            completion=completion,
            timeout=scm.timeout,
        )

    def git_workspace(self) -> GitWorkspace | None:
        top = git_top(self.workspace)
        return GitWorkspace(self.workspace, self.outside, top=top) if top else None

    def _watch(self, transcript: Transcript) -> str | None:
        return self.meter.watch(transcript) or (self.launch.watch(transcript) if self.launch.watch else None)


def pricing(launch: Launch) -> PriceOf:
    """What tokens cost in this run. The table is loaded when the first agent leaves that open."""

    def price(usage: Usage, model: str) -> float | None:
        from ralph.domain.agent.prices import cost_of, with_own

        return cost_of(usage, model, with_own(launch.own_prices))

    return price


def _reset_time(text: str) -> float | None:
    from ralph.domain.agent.reset_time import reset_time

    now = time()
    return reset_time(text, now, utc_offset=localtime(now).tm_gmtoff)


def end_unbegun(publish: Recorder, journal: SqliteJournal, state: LoopState, error: RalphError) -> None:
    """Nothing was started: there is nothing to resume either."""
    with suppress(RalphError):  # it may be the record itself that failed
        publish(
            RunEnded(
                outcome=Outcome.FAILED,
                reason=error.message,
                iterations=state.iteration,
                spend=state.spend,
                seconds=state.seconds,
                hint=error.hint,
            )
        )
        journal.commit(state)
