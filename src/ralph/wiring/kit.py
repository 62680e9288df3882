"""What a composition builds with: the open record, the runners, the agents, the checks that every profile shares."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import lru_cache, partial
from math import inf
from pathlib import Path
from time import localtime, time
from typing import TYPE_CHECKING

from ralph.adapters.processes.redaction import redact_argv
from ralph.config.root import Root, git_top
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import QuotaSeen, RunEnded, RunStarted, Warned
from ralph.domain.loop.state import LoopState
from ralph.domain.proof.policy import ProofPolicy
from ralph.domain.sandbox.kind import Network
from ralph.engine.agents.discreet_agent import DiscreetAgent
from ralph.engine.agents.sparing_agent import Quota, SparingAgent
from ralph.engine.budget_meter import Meter
from ralph.engine.deadline import TimeOver, no_deadline
from ralph.engine.ports import Agent, AgentRequest, Check, Clock, Control, ProcessRunner, Timeouts
from ralph.engine.recording import Listener, Recorder
from ralph.engine.session import AgentSession, Attendant, Watch
from ralph.errors import RalphError, ServiceAway
from ralph.values import dataclass, field, replace
from ralph.wiring.agents import ChosenAgents, can_probe, versions_of
from ralph.wiring.announcement import named_commands, places_of
from ralph.wiring.confinement import Runners
from ralph.wiring.launch import Driven, Launch
from ralph.wiring.quota import doubts_of, head_of
from ralph.wiring.record import Record
from ralph.wiring.requirements import pricing

if TYPE_CHECKING:
    from ralph.adapters.actions.scm import ScmAction
    from ralph.adapters.checks.commands import ShellCommands
    from ralph.adapters.workspace.program_files import ProgramFiles
    from ralph.adapters.workspace.snapshot import GitWorkspace
    from ralph.domain.views.runs import RunLabel
    from ralph.engine.guardrail import Guardrail


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Kit:
    """An open run: what it was asked for, its record, and what runs its processes."""

    launch: Launch
    record: Record
    runners: Runners
    clock: Clock
    control: Control
    publish: Recorder
    meter: Meter
    program_files: ProgramFiles
    quota: Quota
    complain: Callable[[str], None]
    listeners_for: Callable[[RunLabel], Sequence[Listener]]  # of a run that is a part of this one
    finished: str = ""  # what an earlier run had left half done here
    strangers: set[str] = field(default_factory=set)  # agents that have printed what ralph does not know
    understood: set[tuple[str, str]] = field(default_factory=set)  # agents and versions that were heard

    @property
    def workspace(self) -> Path:
        return self.launch.root.workspace

    @property
    def state(self) -> LoopState:
        """Where the run begins: whatever was done before its loop has taken time too."""
        return self.record.state.timed(self.meter.seconds())

    @property
    def shown_in(self) -> Path:
        """Where people and agents find the logs of checks: the links in the state folder are one run's alone."""
        return self.record.folder if self.launch.parent_id else self.launch.state_folder

    def warn(self, message: str) -> None:
        self.publish(Warned(message))

    def note(self, message: str) -> None:
        self.publish(Warned(message, mild=True))

    def listen(self, *listeners: Listener) -> None:
        self.publish.listen(*listeners)

    def announce(
        self,
        *,
        warnings: Sequence[str] = (),
        commands: Sequence[str] = (),
        notes: Sequence[str] = (),
        proof: ProofPolicy | None = None,
    ) -> None:
        """The first event of the run, and what the user should know about it."""
        launch = self.launch
        if launch.is_continued:  # the first process has said it all
            return
        self.publish(
            RunStarted(
                run_id=self.record.run_id,
                profile=launch.profile.name,
                agent=launch.agent,
                root=str(self.workspace),
                maximum=launch.maximum,
                notes=(*launch.notes, *doubts_of(launch.settings)),
                sandbox=self.runners.confinement.notes,
                commands=(*named_commands(launch), *commands),
                proof=proof,
                resumed=bool(launch.resumes),
                versions=self._versions(launch.agents),
            )
        )
        for known in self.quota.known([adapter.name for adapter in launch.agents.chain], self.clock.now()):
            self.publish(QuotaSeen(known.agent, known.windows))
        for note in (*places_of(launch), *head_of(launch, self.quota, self.clock.now()), *notes):
            self.note(note)
        for warning in (*launch.warnings(), *warnings):
            self.warn(warning)
        if self.finished:
            self.warn(self.finished)
        if cut := self.record.interrupted:
            then = f"`ralph resume {cut}` resumes it, this is a new one"
            if isinstance(launch.composition, Driven):
                then = "what is left of its tasks is resumed here"
            self.warn(f"run {cut} was interrupted; {then}")

    def end_unbegun(self, error: RalphError) -> None:
        end_unbegun(self.publish, self.record, error)

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
        chosen = chosen or self.launch.agents
        versions = self._versions(chosen)
        show = lru_cache(maxsize=1)(self._command_line)  # of most agents it is the same in every session
        sessions: list[Agent] = [
            AgentSession(
                adapter,
                self.runners.agents,
                tags=tags,
                show=show,
                timeouts=timeouts or Timeouts(settings.timeout, settings.idle_timeout),
                watch=self._watch,
                price=pricing(self.launch.settings),
                reset_time=_reset_time,
                attendants=attendants,
                version=versions.get(adapter.name, ""),
                on_unknown=partial(self._warn_of_unknown, adapter.name, program),
                understood=self.understood,
                can_probe=partial(can_probe, self.launch.settings, adapter.name, program),
            )
            for adapter, program in zip(chosen.chain, chosen.programs, strict=True)
        ]
        if settings.continue_session:
            from ralph.engine.agents.continued_session import ContinuingAgent

            # Only the first was asked whether it can.
            sessions[0] = ContinuingAgent(sessions[0])
        sessions = [SparingAgent(session, self.quota, self.clock) for session in sessions]
        if len(sessions) == 1:
            return DiscreetAgent(sessions[0], self._put_away)
        from ralph.engine.agents.fallback import FallbackAgent

        fallback = FallbackAgent(sessions, self.clock, is_stopping=lambda: self.control.stopping)
        return DiscreetAgent(fallback, self._put_away)

    def _command_line(self, argv: Sequence[str]) -> str:
        return self.runners.redactor.redact(redact_argv(argv))

    def _versions(self, chosen: ChosenAgents) -> dict[str, str]:
        """By the files of this machine: a sandbox with a file system of its own may have another version."""
        sandbox = self.runners.confinement.sandbox
        if sandbox is not None and not sandbox.kind.shares_programs:
            return {}
        found = versions_of(
            self.launch.settings, chosen, self.workspace, environ=self.runners.agent_environment
        )
        return {
            adapter.name: version for adapter, version in zip(chosen.chain, found, strict=True) if version
        }

    def _warn_of_unknown(self, agent: str, program: str, unknown_type: str, version: str) -> None:
        """Once in a run."""
        if agent in self.strangers:
            return
        from ralph.adapters.storage.earlier_runs import has_warned
        from ralph.domain.agent.drift import unknown_warning

        self.strangers.add(agent)
        is_known = can_probe(self.launch.settings, agent, program)
        warning = unknown_warning(agent, version, unknown_type, can_probe=is_known)
        record = self.record
        is_told = self.launch.resumes and has_warned(
            record.database, record.database_file, record.run_id, warning
        )
        if not is_told:
            self.warn(warning)

    def _put_away(self, request: AgentRequest) -> None:
        """The record keeps the prompt without secrets; a session that is tried again gets its own."""
        shown = self.runners.redactor.redact(request.prompt)
        if shown != request.prompt:
            from ralph.adapters.storage.run_files import keep_prompt

            keep_prompt(request.prompt_file, shown)

    def guardrails(self) -> list[Check]:
        return [self.guardrail(guardrail) for guardrail in self.launch.guardrails]

    def guardrail(self, guardrail: Guardrail) -> Check:
        from ralph.engine.guardrail import GuardrailCheck

        return GuardrailCheck(
            guardrail,
            commands=self.commands,
            journal=self.record.journal,
            root=self.workspace,
            shown_in=self.shown_in,
        )

    @property
    def commands(self) -> ShellCommands:
        from ralph.adapters.checks.commands import ShellCommands

        return ShellCommands(self.runners.checks, self.workspace)

    @asynccontextmanager
    async def runner_at(
        self,
        path: Path,
        *,
        reads: Sequence[Path] = (),
        writes: Sequence[Path] = (),
        allow: Sequence[str] = (),
    ) -> AsyncIterator[ProcessRunner]:
        """For checks in a place of their own: in a sandbox of the run's kind, if it is confined, that may write only there.

        ``reads`` and ``writes``: what else they need; ``allow``: hosts.
        """
        if not self.runners.is_confined or not self.launch.settings.sandbox_checks:
            yield self.runners.checks
            return
        async with self._confined_at(path, self.runners.environment, reads, writes, allow) as runner:
            yield runner

    @asynccontextmanager
    async def at(self, path: Path, *, reads: Sequence[Path] = ()) -> AsyncIterator[Kit]:
        """For sessions in a place of their own: its agents may write only there, if the run is confined."""
        if not self.runners.is_confined:
            yield self
            return
        async with self._confined_at(path, self.runners.agent_environment, reads, (), ()) as runner:
            yield replace(self, runners=replace(self.runners, agents=self.runners.around(runner)))

    @asynccontextmanager
    async def _confined_at(
        self,
        path: Path,
        environment: Mapping[str, str],
        reads: Sequence[Path],
        writes: Sequence[Path],
        allow: Sequence[str],
    ) -> AsyncIterator[ProcessRunner]:
        from ralph.adapters.processes.runner import PosixProcessRunner
        from ralph.wiring.confinement import open_confinement

        runners, confined = self.runners, self.runners.confinement.sandbox
        assert confined is not None, "the run is confined"
        run_id, sandbox = self.record.run_id, self.launch.settings.sandbox
        sandbox = replace(sandbox, kind=confined.kind, readonly=(*sandbox.readonly, *map(str, reads)))
        if allow:
            sandbox = replace(sandbox, network=Network.ALLOW, allow=(*sandbox.allow, *allow))
        ours = PosixProcessRunner(
            run_id=run_id,
            base_environment=runners.own.environment,
            redactor=runners.redactor,
            watcher=self.record.watcher,
            find=runners.own.find,
        )
        async with open_confinement(
            replace(
                self.launch,
                root=Root(self.launch.root.state, path),
                settings=replace(self.launch.settings, sandbox=sandbox),
                writable=tuple(writes),
            ),
            ours,
            run_id=run_id,
            run_folder=self.record.folder,
            own=runners.own,
            environment=runners.agent_environment,
            report=self.warn,
        ) as confinement:
            yield confinement.around(ours, environment)

    def scm(self, agent: Agent, *, completion: str) -> ScmAction | None:
        """What the settings want to happen with proven changes; ``prepare`` it before the first session."""
        scm = self.launch.settings.scm
        if scm is None or not scm.tasks:
            return None
        from ralph.adapters.actions.scm import ScmAction

        return ScmAction(
            scm.command,
            scm.tasks,
            agent=agent,
            runner=self.runners.commands,
            journal=self.record.journal,
            root=self.workspace,
            memory=self.record.folder / "untracked_before.json",
            completion=completion,
            timeout=scm.timeout,
        )

    def git_workspace(self) -> GitWorkspace | None:
        top = git_top(self.workspace)
        if top is None:
            return None
        from ralph.adapters.workspace.snapshot import GitWorkspace

        beginning = self.record.folder / "beginning.json"
        # A run of an earlier version has noted nothing: what is there when it is resumed is not its beginning.
        is_known = not self.record.state.iteration or beginning.exists()
        return GitWorkspace(
            self.workspace, self.runners.outside, top=top, beginning=beginning if is_known else None
        )

    @property
    def time_over(self) -> TimeOver:
        """The run's own time, or that of the whole that it is a part of."""
        launch, meter = self.launch, self.meter
        if launch.budget().seconds is None and launch.time_over is no_deadline:
            return no_deadline
        return lambda: meter.time_over() or launch.time_over()

    def time_left(self) -> float:
        """Seconds of the run's own time."""
        limit = self.launch.budget().seconds
        return inf if limit is None else limit - self.meter.seconds()

    @property
    def _watch(self) -> Watch | None:
        """None: nothing ends a session before its time."""
        own, whole = self.meter.watch if self.meter.can_end_sessions else None, self.launch.watch
        if own is None or whole is None:
            return own or whole
        return lambda transcript: own(transcript) or whole(transcript)


def _reset_time(text: str) -> float | None:
    from ralph.domain.agent.reset_time import reset_time

    now = time()
    return reset_time(text, now, utc_offset=localtime(now).tm_gmtoff)


def end_unbegun(publish: Recorder, record: Record, error: RalphError) -> None:
    """Nothing was started. What could not reach its forge waits for it, and can be resumed as before."""
    state = record.state
    with suppress(RalphError):  # it may be the record itself that failed
        publish(
            RunEnded(
                outcome=Outcome.WAITING if isinstance(error, ServiceAway) else Outcome.FAILED,
                reason=error.message,
                iterations=state.iteration,
                spend=state.spend,
                seconds=state.seconds,
                hint=error.hint,
            )
        )
        record.journal.commit(state)
