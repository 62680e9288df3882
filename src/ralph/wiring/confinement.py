"""The sandbox of a run and the runners of its processes: agents and checks inside it, our own git outside."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ralph.adapters.processes.redaction import Redactor, secrets_in
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.processes.watcher import Watcher
from ralph.adapters.processes.yielding import YieldingRunner
from ralph.domain.sandbox.kind import SandboxKind
from ralph.engine.ports import Control, ProcessRunner
from ralph.wiring.agents import needs_of
from ralph.wiring.launch import Launch

if TYPE_CHECKING:
    from ralph.adapters.isolation.sandbox import Sandbox
    from ralph.config.sandbox_settings import SandboxSettings
    from ralph.domain.sandbox.policy import SandboxPolicy


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Confinement:
    """``notes`` are for the head of the run: which sandbox, why, and what it promises."""

    sandbox: Sandbox | None = None
    notes: tuple[str, ...] = ()
    tidy: Callable[[], None] = lambda: None  # clears up what an agent leaves for those outside to trip over

    def around(self, runner: ProcessRunner) -> ProcessRunner:
        if self.sandbox is None:
            return runner
        from ralph.adapters.isolation.runner import IsolatedRunner

        return IsolatedRunner(runner, self.sandbox, tidy=self.tidy)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Runners:
    """``checks`` run what the agent may have written, in the sandbox if there is one; ``outside`` runs our own git.

    ``agent_environment`` is what agents get, ``environment`` our own.
    """

    checks: ProcessRunner
    agents: ProcessRunner
    outside: ProcessRunner
    confinement: Confinement
    environment: Mapping[str, str]
    agent_environment: Mapping[str, str]
    redactor: Redactor

    @property
    def is_confined(self) -> bool:
        """The agent works in a sandbox."""
        return self.confinement.sandbox is not None


def agent_environment(
    launch: Launch, run_id: str, *, parent_id: str, environ: Mapping[str, str]
) -> dict[str, str]:
    environment = {**environ, **launch.settings.agent.environment}
    # What a supervised parent told its agent is not about the agent of this run.
    environment.pop("RALPH_ATTEMPT", None)
    return environment | {
        "RUN_FOLDER": str((launch.state_folder / "runs" / run_id).absolute()),
        "RALPH_PARENT_RUN_ID": parent_id,
    }


def redactor_for(launch: Launch, environment: Mapping[str, str]) -> Redactor:
    defined = (secrets_in(own.environment) for own in launch.settings.agents.values())
    return Redactor(secrets_in(environment).union(*defined))


@asynccontextmanager
async def open_runners(
    launch: Launch,
    run_id: str,
    *,
    run_folder: Path,
    watcher: Watcher,
    environment: Mapping[str, str],
    agent_environment: Mapping[str, str],
    redactor: Redactor,
    exempt: Callable[[int], bool] | None,
    control: Control,
    report: Callable[[str], None],
) -> AsyncIterator[Runners]:
    """With the sandbox open until the block ends. ``exempt``: processes that a session's clean-up leaves alone.

    Raises AgentUnavailable if the sandbox that was asked for is not there.
    """
    make = partial(PosixProcessRunner, run_id=run_id, redactor=redactor)
    own = YieldingRunner(make(base_environment=environment), control)
    confinement = await confinement_of(
        launch, own, run_id=run_id, run_folder=run_folder, environment=agent_environment, report=report
    )
    # What runs the agent, or its work, is kept: nothing of it may outlive its end.
    agents = make(base_environment=agent_environment, ladder=launch.ladder, exempt=exempt, watcher=watcher)
    checks = make(base_environment=environment, watcher=watcher)
    async with open_sandbox(confinement, own):
        yield Runners(
            checks=confinement.around(checks) if launch.settings.sandbox_checks else checks,
            agents=confinement.around(agents),
            outside=own
            if confinement.sandbox is None
            else YieldingRunner(_wary(confinement, make, environment), control),
            confinement=confinement,
            environment=environment,
            agent_environment=agent_environment,
            redactor=redactor,
        )


def _wary(
    confinement: Confinement, make: Callable[..., ProcessRunner], environment: Mapping[str, str]
) -> ProcessRunner:
    from ralph.adapters.isolation.outside import safe_git_variables
    from ralph.adapters.isolation.runner import WaryRunner

    return WaryRunner(
        make(base_environment={**environment, **safe_git_variables(environment)}), confinement.tidy
    )


async def confinement_of(
    launch: Launch,
    runner: ProcessRunner,
    *,
    run_id: str,
    run_folder: Path,
    environment: Mapping[str, str],
    report: Callable[[str], None],
) -> Confinement:
    """Raises AgentUnavailable if what was asked for is not there."""
    settings = launch.settings
    asked = settings.sandbox.kind or launch.profile.sandbox
    if asked == SandboxKind.NONE:
        # Settings, which a repository brings along, may turn off what the profile would do: not silently.
        told = settings.sandbox.kind is not None and launch.profile.sandbox != SandboxKind.NONE
        return Confinement(
            notes=("no sandbox: turned off by the settings or by --no-sandbox",) if told else ()
        )
    from ralph.adapters.isolation.choice import choose_sandbox
    from ralph.adapters.isolation.outside import GitTraps, KeptLinks, exposed_commands
    from ralph.adapters.isolation.places import protected_paths
    from ralph.adapters.isolation.sandbox import Site

    programs = (*launch.agents.programs, *launch.programs)
    site = Site(
        workspace=launch.root.workspace,
        state_folder=launch.state_folder,
        programs=programs,
        run_id=run_id,
        environ=environment,
        needs=needs_of(settings, programs),
        explicit=frozenset(settings.agent.environment).union(
            *(defined.environment for defined in settings.agents.values())
        ),
        writable=launch.writable,
        network_log=run_folder / "network.log",
        report=report,
    )
    chosen = await choose_sandbox(asked, site, policy_of(settings.sandbox), runner)
    if chosen.sandbox is None:
        return Confinement(notes=(chosen.why,))
    traps = GitTraps(launch.root.workspace, report)
    traps.require_none()
    links = KeptLinks(protected_paths(site, site.needs), report)

    def tidy() -> None:
        traps.remove()
        links.restore()

    outside = {"notify": settings.notify, "scm": (settings.scm.command,) if settings.scm is not None else ()}
    exposed = exposed_commands(launch.root.workspace, outside)
    return Confinement(chosen.sandbox, (chosen.why, *chosen.guarantees.lines(), *exposed), tidy)


@asynccontextmanager
async def open_sandbox(confinement: Confinement, runner: ProcessRunner) -> AsyncIterator[None]:
    if confinement.sandbox is None:
        yield
        return
    from ralph.adapters.isolation.runner import keep_open

    async with keep_open(confinement.sandbox, runner):
        yield


def policy_of(settings: SandboxSettings) -> SandboxPolicy:
    from ralph.domain.sandbox.allow_list import parse_rule
    from ralph.domain.sandbox.policy import Limits, SandboxPolicy

    return SandboxPolicy(
        network=settings.network,
        allow=tuple(map(parse_rule, settings.allow)),
        writable=settings.writable,
        readonly=settings.readonly,
        env=settings.env,
        limits=Limits(settings.memory, settings.pids),
        image=settings.image or "",
    )
