"""A run as it would be started: profile, settings and what the user asked, resolved and checked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ralph.adapters.processes.ladder import USUAL, Ladder
from ralph.adapters.storage.run_files import RunRequest
from ralph.config.loading import Loaded, recorded
from ralph.config.root import STATE_FOLDER, Root
from ralph.config.schema import Settings
from ralph.domain.delivery.kind import DeliveryKind
from ralph.domain.loop.assignment import Assignment
from ralph.domain.loop.budget import Budget, Pace
from ralph.domain.loop.decision import Rules
from ralph.domain.loop.profile import Profile
from ralph.domain.proof.policy import ProofPolicy
from ralph.domain.tickets.coverage import Imports
from ralph.engine.deadline import TimeOver, no_deadline
from ralph.engine.parts import as_given, never, no_checks
from ralph.engine.ports import Action, Adviser, Agent, Check, Probe, PromptStyle, Work, Workspace
from ralph.engine.shift import ENDLESS, Shift
from ralph.values import dataclass
from ralph.wiring.agents import ChosenAgents
from ralph.wiring.requirements import absent_programs

if TYPE_CHECKING:
    from ralph.adapters.processes.watcher import Watcher
    from ralph.adapters.workspace.program_files import ProgramFiles
    from ralph.domain.loop.interlude import Interlude
    from ralph.domain.trust.demand import Demand
    from ralph.engine.agents.sparing_agent import Quota
    from ralph.engine.guardrail import Guardrail
    from ralph.engine.loop import RunResult
    from ralph.engine.prompts.advisers import Steering
    from ralph.engine.recording import Listener
    from ralph.engine.session import Watch
    from ralph.wiring.kit import Kit


async def nothing_to_begin() -> None:
    """Most runs can start at once."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Composed:
    """The parts in which profiles differ; everything else of a run is the same for all of them."""

    work: Work
    agent: Agent
    probes: Sequence[Probe] = ()
    checks: Sequence[Check] = ()
    checks_of: Callable[[Assignment], Sequence[Check]] = no_checks
    actions: Sequence[Action] = ()
    advisers: Sequence[Adviser] = ()  # besides those that every run has
    prompt: PromptStyle = as_given
    rules: Rules = Rules()
    pace: Pace = Pace()
    is_due: Callable[[], bool] = never
    workspace: Workspace | None = None
    listeners: Sequence[Listener] = ()
    warnings: Sequence[str] = ()
    notes: Sequence[str] = ()  # what to know about it, and no cause for alarm
    begin: Callable[[], Awaitable[None]] = nothing_to_begin  # what is left to do once the run is announced
    proof: ProofPolicy | None = None
    commands: Sequence[str] = ()  # that it will run besides those of the settings, each with who says so


class Described(Protocol):
    """What was asked for. Made from what the user asked; made again from ``arguments`` when a run is resumed."""

    def arguments(self) -> Mapping[str, object]:
        """What ``prepare_again`` needs to make it again: JSON values only."""
        ...

    def describe(self) -> Mapping[str, object]:
        """What the record shows of how the run was asked for. Whoever writes it takes the secrets out."""
        ...

    def warnings(self, launch: Launch) -> Iterator[str]:
        """What would make a run pointless or its success worth little."""
        ...


class Composition(Described, Protocol):
    """What a profile brings to a loop."""

    def compose(self, kit: Kit) -> AbstractAsyncContextManager[Composed]:
        """The parts, for the time of the block. Raises what is wrong before anything was recorded."""
        ...


@runtime_checkable
class Driven(Described, Protocol):
    """A run that is no loop itself, but has others run theirs (``ralph work``)."""

    def commands(self, launch: Launch) -> Iterator[str]:
        """What it will run besides what its parts do, each with who says so."""
        ...

    def notes(self) -> Iterator[str]:
        """What its parts may do, for the head of the run."""
        ...

    async def drive(self, kit: Kit) -> RunResult: ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Launch:
    """A run as it would be started: everything resolved and checked, nothing done yet."""

    profile: Profile
    loaded: Loaded  # the settings as they were read, with the origin of each value
    settings: Settings  # as this run takes them
    root: Root
    agents: ChosenAgents
    composition: Composition | Driven
    maximum: int | None
    guardrails: tuple[Guardrail, ...] = ()
    resumes: str = ""  # the run to resume; empty: a new one
    as_found: bool = False  # what is there is the user's word; said once, not remembered
    parent_id: str = ""  # the run that this one is a part of; empty: whatever the environment says
    programs: tuple[str, ...] = ()  # of agents that it may start besides its own: judges, other roles
    program_files: ProgramFiles | None = (
        None  # as the run began that it is a part of; None: as it begins itself
    )
    writable: tuple[Path, ...] = ()  # what its agent may write besides the workspace, in a sandbox too
    ladder: Ladder = USUAL  # how a session is ended
    spares_children: bool = False  # runs that its agent started go on when the session is over
    own_budget: Budget | None = None  # instead of the settings' limits
    watch: Watch | None = None  # a limit of someone else's that may end a session too
    demands: tuple[Demand, ...] = ()  # what its plan, tasks or git want to run, besides its settings
    quota: Quota | None = None  # what the run that it is a part of knows about subscriptions
    watcher: Watcher | None = None  # of the run that it is a part of, in the same process
    time_over: TimeOver = no_deadline  # someone else's time, which ends whatever judges it too
    shift: Shift = ENDLESS  # how much of the run this process does
    interlude: Interlude | None = None  # what lay before this process, of a run that is handed over
    notes_given: Steering | None = None  # what the user said elsewhere, besides the record's own
    refused: tuple[str, ...] = ()  # what this machine's owner does not allow it, for its head
    imports: Imports = Imports.NONE  # which imported work it is prepared for

    @property
    def withholds_tokens(self) -> bool:
        """Whether tokens of forges and trackers are ralph's own in this run."""
        return (
            self.is_handed_over
            or self.imports is Imports.TRACKERS
            or self.settings.delivery == DeliveryKind.PR
        )

    @property
    def is_handed_over(self) -> bool:
        """From process to process, for a fleet; the machine's owner did not start it."""
        return self.shift is not ENDLESS

    @property
    def is_continued(self) -> bool:
        """It continues as if there had been no process before: what those did or said once is not repeated."""
        return bool(self.resumes) and self.interlude is not None and not self.interlude.by_user

    @property
    def state_folder(self) -> Path:
        return self.root.state / STATE_FOLDER

    @property
    def agent(self) -> str:
        return self.agents.title

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know before leaving it alone."""
        return self.agents.notes

    def budget(self) -> Budget:
        if self.own_budget is not None:
            return self.own_budget
        limits = self.settings.limits
        return Budget(
            iterations=self.maximum,
            cost_usd=limits.max_cost,
            tokens=limits.max_tokens,
            seconds=limits.max_time,
            stuck_after=limits.stuck_after if self.profile.notices_standstill else 0,
        )

    def rules(self) -> Rules:
        limits = self.settings.limits
        return Rules(
            acceptance=self.profile.acceptance,
            max_attempts=limits.max_attempts,
            faults_count=self.profile.faults_count,
            wait_for_limits=limits.wait_for_limits,
            wait_for_network=limits.wait_for_network,
        )

    def request(self) -> RunRequest:
        return RunRequest(
            profile=self.profile.name,
            arguments=self.composition.arguments(),
            workspace=str(self.root.workspace),
            flags=self.loaded.flags,
            settings=recorded(self.loaded),  # to tell at `ralph resume` what has changed since
            project_files=self.loaded.kept if self.is_handed_over else None,
        )

    def warnings(self) -> Iterator[str]:
        yield from self.composition.warnings(self)
        yield from self.refused
        if not self.parent_id:  # the whole has said it
            yield from self._unheld_limits()
            yield from self._undelivered()
            if self.guardrails:
                yield from absent_programs(self.guardrails, self.root.workspace)

    def _undelivered(self) -> Iterator[str]:
        if self.settings.delivery == DeliveryKind.PR and not self.profile.delivers:
            command = self.profile.command
            yield f"delivery is pr, but {command} does not deliver: ship what it leaves with `ralph ship`"

    def _unheld_limits(self) -> Iterator[str]:
        limits = self.settings.limits
        named = [
            name
            for name, limit in (("--max-cost", limits.max_cost), ("--max-tokens", limits.max_tokens))
            if limit is not None
        ]
        if named and not self.agents.tells_usage:
            yield (
                f"{self.agent} reports neither cost nor tokens: {' and '.join(named)} cannot be held;"
                " --max-iterations and --max-time can"
            )
