"""The sandbox of a run and the runners of its processes: agents and checks inside it, our own git outside."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ralph.adapters.files import expand_home
from ralph.adapters.own_programs import OwnPrograms
from ralph.adapters.processes.environment import clean_environment
from ralph.adapters.processes.redaction import SHORTEST_SECRET, Redactor, secrets_in
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.processes.watcher import Watcher
from ralph.adapters.processes.yielding import YieldingRunner
from ralph.config.schema import Settings
from ralph.domain.loop.profile import Profile
from ralph.domain.loop.service_tokens import without_service_tokens
from ralph.domain.sandbox.kind import SandboxKind
from ralph.domain.sandbox.own_git import own_git
from ralph.domain.telemetry.destination import header_values
from ralph.engine.ports import Control, ProcessRunner
from ralph.values import dataclass
from ralph.wiring.agents import needs_of
from ralph.wiring.launch import Launch

if TYPE_CHECKING:
    from ralph.adapters.isolation.sandbox import Sandbox, Site
    from ralph.config.sandbox_settings import SandboxSettings
    from ralph.domain.sandbox.policy import SandboxPolicy


NOTIFIED_OUTSIDE = "commands of notify run outside the sandbox, whatever they start"
CHECKS_OUTSIDE = "guardrails and verification run outside the sandbox (sandboxChecks is false)"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Confinement:
    """``notes`` are for the head of the run: which sandbox, why, and what it promises."""

    sandbox: Sandbox | None = None
    notes: tuple[str, ...] = ()
    tidy: Callable[[], None] = lambda: None  # clears up what an agent leaves for those outside to trip over

    def around(self, runner: ProcessRunner, environment: Mapping[str, str]) -> ProcessRunner:
        """``runner``: starts what sets up the sandbox. ``environment``: of the processes inside."""
        if self.sandbox is None:
            return runner
        from ralph.adapters.isolation.runner import IsolatedRunner

        inside = clean_environment(environment)
        return IsolatedRunner(runner, self.sandbox, environment=inside, tidy=self.tidy)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Runners:
    """``checks`` run what the agent may have written, in the sandbox if there is one; ``outside`` runs our own git, and
    ``commands`` what the user wants to run outside (scm).

    ``agent_environment`` is what agents get, ``environment`` what ralph was started with; ``own``: our own programs.
    ``around``: what every runner of agents is put into.
    """

    checks: ProcessRunner
    agents: ProcessRunner
    outside: ProcessRunner
    commands: ProcessRunner
    own: OwnPrograms
    confinement: Confinement
    environment: Mapping[str, str]
    agent_environment: Mapping[str, str]
    redactor: Redactor
    around: Callable[[ProcessRunner], ProcessRunner]

    @property
    def is_confined(self) -> bool:
        """The agent works in a sandbox."""
        return self.confinement.sandbox is not None


def agent_environment(
    launch: Launch, run_id: str, *, parent_id: str, environ: Mapping[str, str]
) -> dict[str, str]:
    environment = {**environ, **launch.settings.agent.environment}
    if launch.withholds_tokens:
        environment = without_service_tokens(environment, launch.settings.agent.environment)
    # What a supervised parent told its agent is not about the agent of this run.
    environment.pop("RALPH_ATTEMPT", None)
    return environment | {
        "RUN_FOLDER": str((launch.state_folder / "runs" / run_id).absolute()),
        "RALPH_PARENT_RUN_ID": parent_id,
    }


def redactor_for(launch: Launch, *environments: Mapping[str, str]) -> Redactor:
    """``environments``: ralph's own and the agent's. What is kept from agents must not appear anywhere either."""
    secrets = map(secrets_in, environments)
    defined = (secrets_in(own.environment) for own in launch.settings.agents.values())
    addresses = (how.partition("://")[2].partition("/")[2] for how in launch.settings.notify)
    hidden = {*addresses}.union(*map(header_values, environments))
    paths = {path for path in hidden if len(path) >= SHORTEST_SECRET}
    return Redactor(paths.union(*secrets, *defined))


def own_programs_of(launch: Launch, environ: Mapping[str, str]) -> OwnPrograms:
    """Ours, found where neither the project nor its agent, confined or not, keeps anything."""
    settings, home = launch.settings, Path(environ.get("HOME") or "/nonexistent")
    needs = needs_of(settings, (*launch.agents.programs, *launch.programs))
    root = launch.root
    return OwnPrograms(
        environ,
        (
            *(root.workspace, root.state, launch.state_folder, *launch.writable),
            *listed_folders(root.workspace, settings, environ),
            *(home / name for name in needs.state),
        ),
    )


def listed_folders(workspace: Path, settings: Settings, environ: Mapping[str, str]) -> Iterator[Path]:
    """Those of ``sandbox.writable``, whether or not they exist."""
    return (workspace / expand_home(path, environ) for path in settings.sandbox.writable)


def asks_for_sandbox(settings: Settings, profile: Profile) -> bool:
    return (settings.sandbox.kind or profile.sandbox) != SandboxKind.NONE


def without_sandbox(launch: Launch) -> str:
    """What to tell of a run that asks for none; empty: it asks for one."""
    if asks_for_sandbox(launch.settings, launch.profile):
        return ""
    # Settings, which a repository brings along, may turn off what the profile would do: not silently.
    if launch.settings.sandbox.kind is not None and launch.profile.sandbox != SandboxKind.NONE:
        return "no sandbox: turned off by the settings or by --no-sandbox"
    return "no sandbox: the agent can do whatever you can; --sandbox confines it"


@asynccontextmanager
async def open_runners(
    launch: Launch,
    run_id: str,
    *,
    run_folder: Path,
    watcher: Watcher,
    own: OwnPrograms,
    environment: Mapping[str, str],
    agent_environment: Mapping[str, str],
    redactor: Redactor,
    exempt: Callable[[int], bool] | None,
    control: Control,
    report: Callable[[str], None],
    around: Callable[[ProcessRunner], ProcessRunner],
) -> AsyncIterator[Runners]:
    """With the sandbox open until the block ends. ``exempt``: processes that a session's clean-up leaves alone.

    Raises AgentUnavailable if the sandbox that was asked for cannot be had.
    """
    make = partial(PosixProcessRunner, run_id=run_id, redactor=redactor)
    ours = partial(make, base_environment=own.environment, find=own.find)
    setting_up = YieldingRunner(ours(), control)
    async with open_confinement(
        launch,
        setting_up,
        run_id=run_id,
        run_folder=run_folder,
        own=own,
        environment=agent_environment,
        report=report,
    ) as confinement:
        checked = environment
        if launch.withholds_tokens:
            checked = without_service_tokens(environment)
        # What runs the agent, or its work, is kept: nothing of it may outlive its end.
        kept = partial(make, ladder=launch.ladder, exempt=exempt, watcher=watcher)
        if confinement.sandbox is None:
            agents: ProcessRunner = kept(base_environment=agent_environment)
            checks: ProcessRunner = make(base_environment=checked, watcher=watcher)
            outside = YieldingRunner(make(base_environment=environment, find=own.find), control)
            commands = YieldingRunner(make(base_environment=environment), control)
        else:
            agents = confinement.around(
                kept(base_environment=own.environment, find=own.find), agent_environment
            )
            checks = (
                confinement.around(ours(watcher=watcher), checked)
                if launch.settings.sandbox_checks
                else make(base_environment=checked, watcher=watcher)
            )
            outside = commands = YieldingRunner(
                await _wary(confinement, ours, own, launch.root.workspace), control
            )
        yield Runners(
            checks=checks,
            agents=around(agents),
            outside=outside,
            commands=commands,
            own=own,
            confinement=confinement,
            environment=environment,
            agent_environment=agent_environment,
            redactor=redactor,
            around=around,
        )


async def _wary(
    confinement: Confinement, ours: Callable[..., ProcessRunner], own: OwnPrograms, workspace: Path
) -> ProcessRunner:
    from ralph.adapters.isolation.outside import safe_git_variables
    from ralph.adapters.isolation.programs import ask
    from ralph.adapters.isolation.runner import WaryRunner

    _, helpers, _ = await ask(ours(), *own_git("--exec-path"))
    safe = safe_git_variables(own.environment, helpers.strip(), workspace)
    environment = {**own.environment, **safe}
    return WaryRunner(ours(base_environment=environment), confinement.tidy)


@asynccontextmanager
async def open_confinement(
    launch: Launch,
    runner: ProcessRunner,
    *,
    run_id: str,
    run_folder: Path,
    own: OwnPrograms,
    environment: Mapping[str, str],
    report: Callable[[str], None],
) -> AsyncIterator[Confinement]:
    """With the sandbox open until the block ends. Raises AgentUnavailable if the one that was asked for cannot be had."""
    settings = launch.settings
    asked = settings.sandbox.kind or launch.profile.sandbox
    if asked == SandboxKind.NONE:
        yield Confinement(notes=(without_sandbox(launch),))
        return
    from ralph.adapters.isolation.choice import open_sandbox
    from ralph.adapters.isolation.git_includes import IncludedFiles
    from ralph.adapters.isolation.git_leftovers import GitLeftovers
    from ralph.adapters.isolation.outside import GitTraps, KeptLinks, exposed_commands
    from ralph.adapters.isolation.own_places import links_on_path, own_notes
    from ralph.adapters.isolation.places import project_places
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
        own=own,
        report=report,
    )
    policy = policy_of(settings.sandbox)
    async with open_sandbox(asked, site, policy, runner) as chosen:
        if chosen.sandbox is None:
            yield Confinement(notes=(chosen.why,))
            return
        traps = GitTraps(launch.root.workspace, report)
        traps.require_none()
        leftovers = GitLeftovers(launch.root.workspace, report)
        links = KeptLinks(links_on_path(own), report)
        includes = IncludedFiles(launch.root.workspace)

        def tidy() -> None:
            traps.remove()
            leftovers.remove()
            links.restore()
            includes.require_unchanged()

        scm = (settings.scm.command,) if settings.scm is not None else ()
        notes = (
            *own_notes(site, project_places(site, policy, site.needs)),
            *_notes_on_hidden(site, policy, settings, chosen.sandbox.kind),
            *(() if settings.sandbox_checks else (CHECKS_OUTSIDE,)),
            *((NOTIFIED_OUTSIDE,) if any("://" not in command for command in settings.notify) else ()),
            *exposed_commands(launch.root.workspace, {"notify": settings.notify, "scm": scm}),
        )
        yield Confinement(chosen.sandbox, (chosen.why, *chosen.guarantees.lines(), *notes), tidy)


def _notes_on_hidden(
    site: Site, policy: SandboxPolicy, settings: Settings, kind: SandboxKind
) -> Iterator[str]:
    from ralph.adapters.isolation.named_paths import hidden_notes
    from ralph.adapters.isolation.places import places, project_places
    from ralph.wiring.roles import command_lines

    if kind is SandboxKind.SRT:  # it hides secrets only
        return iter(())
    is_bare = kind is not SandboxKind.BWRAP
    found = (project_places if is_bare else places)(site, policy, site.needs)
    arguments = (word for _, *words in command_lines(settings) for word in words)
    return hidden_notes(site, (*site.needs.env, *policy.env), arguments, found, is_bare=is_bare)


def policy_of(settings: SandboxSettings) -> SandboxPolicy:
    from ralph.domain.sandbox.allow_list import parse_rule
    from ralph.domain.sandbox.policy import Limits, SandboxPolicy

    return SandboxPolicy(
        network=settings.network,
        allow=tuple(map(parse_rule, settings.allow)),
        writable=settings.writable,
        readonly=settings.readonly,
        env=settings.env,
        limits=Limits(settings.memory, settings.pids, settings.file_size),
        image=settings.image or "",
    )
