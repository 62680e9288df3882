"""`ralph doctor`: examine everything that a run here depends on, without starting one."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sys
from collections.abc import Mapping
from functools import partial

from ralph.adapters.agents.registry import acp_programs, facts_of
from ralph.adapters.isolation.choice import look_at_all
from ralph.adapters.isolation.sandbox import Site
from ralph.adapters.own_programs import OwnPrograms
from ralph.adapters.processes.ladder import QUICK
from ralph.adapters.processes.process_table import LINUX
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.processes.sign_search import LIBRARY, load_library
from ralph.adapters.processes.watcher import can_start
from ralph.adapters.processes.watcher_program import COMPILED, compiled_watcher
from ralph.agent_names import ACP, PLAIN, named_agents
from ralph.config.loading import inspect
from ralph.config.root import STATE_FOLDER, Root, git_top
from ralph.config.schema import Settings
from ralph.domain.sandbox.own_git import own_git
from ralph.domain.sandbox.policy import Guarantees
from ralph.domain.text.versions import version_in
from ralph.domain.views.health import Area, Finding, Health
from ralph.errors import RalphError
from ralph.operations.agent_examination import PROBE_SECONDS, Interviewer, examine_agent, find_program
from ralph.operations.agreement import is_waived
from ralph.operations.settings_examination import examine_settings, examine_trust, examine_worktrees
from ralph.operations.trust import Standing, read_agreed
from ralph.values import replace
from ralph.wiring.agents import installed_agents, kind_of, needs_of, program_of
from ralph.wiring.confinement import policy_of

_QUESTIONS_AT_ONCE = 6
_OLDEST_PYTHON = (3, 11)
_LITTLE_SPACE = 1024**3
_NO_SPACE = 64 * 1024**2


async def examine(root: Root, *, environ: Mapping[str, str] = os.environ) -> tuple[Finding, ...]:
    """All findings. Bounded in time: at most ten seconds per question, several questions at once.

    What a project that nobody has trusted names or brings is not started, not even to ask for its version.
    """
    found = inspect(root.state, environ=environ)
    agreed, standing = read_agreed(root, environ=environ)
    settings = agreed.inspect().settings or Settings()
    system = platform_finding(os.name, platform.system())
    if system.health is Health.BAD:  # asking means running programs
        return (
            system,
            _disk(root),
            _python(),
            *examine_settings(found),
            *examine_trust(standing, root, environ),
        )
    reach = (root.workspace, root.state)
    environment = _agents_environment(settings, root, standing, environ)
    make = partial(PosixProcessRunner, run_id=f"doctor-{os.getpid()}", ladder=QUICK, linger=0.2)
    seats = asyncio.Semaphore(_QUESTIONS_AT_ONCE)
    asking = Interviewer(make(base_environment=environment), root.workspace, environment, seats)
    own = OwnPrograms(environ, reach)
    ours = make(base_environment=own.environment, find=own.find)
    agents, sandboxes, git = await asyncio.gather(
        _agents(settings, found.settings or settings, asking),
        _sandboxes(settings, root, own, ours),
        _git(settings, root, own, replace(asking, runner=ours)),
    )
    return (
        *agents,
        *sandboxes,
        git,
        system,
        _disk(root),
        _python(),
        *_compiled_parts(),
        *examine_settings(found),
        *examine_worktrees(found, root, environ),
        *examine_trust(standing, root, environ),
    )


def find_agents(
    root: Root, *, environ: Mapping[str, str]
) -> tuple[Mapping[str, tuple[str, str]], Mapping[str, str]]:
    """Every agent that may be started here: name → kind of agent, program; and the environment to find them in."""
    found = inspect(root.state, environ=environ)
    agreed, standing = read_agreed(root, environ=environ)
    settings = agreed.inspect().settings or Settings()
    examined, _ = _examinable(settings, found.settings or settings)
    return examined, _agents_environment(settings, root, standing, environ)


def _agents_environment(
    settings: Settings, root: Root, standing: Standing, environ: Mapping[str, str]
) -> dict[str, str]:
    """Of a project that nobody has trusted, no folder is searched for programs."""
    environment = {**environ, **settings.agent.environment}
    if not is_waived(environ) and not (standing.asked and standing.is_trusted):
        environment["PATH"] = OwnPrograms(environment, (root.workspace, root.state)).environment["PATH"]
    return environment


def missing_agent(root: Root) -> str:
    """Why a run here would not find its agent; empty if it would, or if the settings are unusable."""
    from ralph.wiring.agents import chosen_agents

    settings = inspect(root.state, environ=os.environ).settings
    if settings is None:
        return ""
    try:
        chosen_agents(settings, root.workspace)
    except RalphError as error:
        return f"{error.message}; {error.hint}"
    return ""


# --- agents ---


async def _agents(settings: Settings, asked: Settings, asking: Interviewer) -> tuple[Finding, ...]:
    """The configured agents first, then others that the settings define, then the rest that ralph knows.

    ``asked``: with what the project asks for and nobody has agreed to. Of that nothing is said but that it was left alone.
    """
    configured = _configured_agents(settings)
    examined, unknown = _examinable(settings, asked)
    others = [program for program in acp_programs() if program not in {*examined, *unknown}]
    absent = [
        program
        for program in others
        if find_program(program, asking.cwd, asking.variable("PATH") or os.defpath) is None
    ]
    examined |= {program: (ACP, program) for program in others if program not in absent}

    async def examine_one(name: str, kind: str, program: str) -> Finding:
        is_own = name in settings.agents
        own = settings.agents[name].environment if is_own else {}
        is_configured = name in configured
        setting = f"agents.{name}" if is_own else "agent"
        found = await examine_agent(
            kind, program, replace(asking, own=own), needed=is_configured, setting=setting
        )
        return replace(found, name=name, details={**found.details, "configured": is_configured})

    skipped = "not examined: the project that names it is not trusted"
    findings = (
        *(Finding(Area.AGENTS, name, Health.DOUBTFUL, skipped) for name in unknown),
        *await asyncio.gather(*(examine_one(name, *what) for name, what in examined.items())),
        *(
            [Finding(Area.AGENTS, ACP, Health.ABSENT, f"none of these is installed: {', '.join(absent)}")]
            if absent
            else ()
        ),
    )
    if not configured and not any(map(_may_work, findings)):
        advice = (
            f"install one of them, for example claude: {facts_of('claude').install}",
            "or name any other command: ralph run --agent ./my-agent …",
        )
        text = "none that ralph knows can be used here"
        return (*findings, Finding(Area.AGENTS, "agents", Health.BAD, text, advice, needed=True))
    if any(finding.needed and _may_work(finding) for finding in findings):
        # A working agent stands in for the ones that do not work.
        return tuple(replace(each, needed=each.needed and _may_work(each)) for each in findings)
    return findings


def _examinable(settings: Settings, asked: Settings) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """Those that may be examined, and those that only an untrusted project names."""
    named = _named_agents(settings)
    unknown = [name for name, what in _named_agents(asked).items() if named.get(name) != what]
    examined = {name: what for name, what in named.items() if name not in unknown}
    for known in named_agents():
        if known not in unknown:
            examined.setdefault(known, (known, known))
    return examined, unknown


def _configured_agents(settings: Settings) -> dict[str, tuple[str, str]]:
    """Those that a run uses: name → kind of agent, program."""
    found: dict[str, tuple[str, str]] = {}
    for command in (settings.agent.command, *settings.agent.fallbacks):
        if command:
            kind = kind_of(settings, command)
            name = command if command in settings.agents or kind in (PLAIN, ACP) else kind
            found.setdefault(name, (kind, program_of(settings, command)))
    return found


def _named_agents(settings: Settings) -> dict[str, tuple[str, str]]:
    """Those, and the others that the settings define."""
    defined = {name: (kind_of(settings, name), program_of(settings, name)) for name in settings.agents}
    return {**_configured_agents(settings), **defined}


def _may_work(finding: Finding) -> bool:
    return finding.health not in (Health.ABSENT, Health.BAD)


# --- the machine ---


async def _sandboxes(
    settings: Settings, root: Root, own: OwnPrograms, runner: PosixProcessRunner
) -> tuple[Finding, ...]:
    configured = tuple(program for _, program in _configured_agents(settings).values())
    programs = configured or installed_agents(own.environment)
    site = Site(
        workspace=root.workspace,
        state_folder=root.state / STATE_FOLDER,
        programs=(),
        run_id=f"doctor-{os.getpid()}",
        environ=own.environment,
        needs=needs_of(settings, programs),
        own=own,
    )
    try:
        found = await asyncio.wait_for(look_at_all(site, policy_of(settings.sandbox), runner), PROBE_SECONDS)
    except TimeoutError:
        text = f"no answer within {PROBE_SECONDS:.0f} s"
        return (Finding(Area.SANDBOXES, "sandboxes", Health.DOUBTFUL, text),)

    def finding(kind: str, seen: str | Guarantees) -> Finding:
        is_asked = kind == settings.sandbox.kind
        if isinstance(seen, Guarantees):
            promises = {"guarantees": list(seen.lines())}
            return Finding(Area.SANDBOXES, kind, Health.GOOD, "works here", needed=is_asked, details=promises)
        if not is_asked:
            return Finding(Area.SANDBOXES, kind, Health.ABSENT, seen)
        advice = ("install it, ask for another in sandbox.kind, or for auto",)
        return Finding(Area.SANDBOXES, kind, Health.BAD, seen, advice, needed=True)

    return tuple(finding(kind, seen) for kind, seen in found.items())


async def _git(settings: Settings, root: Root, own: OwnPrograms, asking: Interviewer) -> Finding:
    is_needed = settings.scm is not None and bool(settings.scm.tasks)
    if own.find("git") is None:
        health = Health.BAD if is_needed else Health.DOUBTFUL
        return Finding(Area.SYSTEM, "git", health, "not installed", ("install git",), needed=is_needed)
    answer = await asking.ask(*own_git("--version"))
    version = version_in(answer.output)
    if git_top(root.workspace) is None:
        health = Health.BAD if is_needed else Health.DOUBTFUL
        text = (
            f"{version}, but {root.workspace} is not in a repository: ralph cannot see what an agent changed"
        )
        return Finding(Area.SYSTEM, "git", health, text, ("run `git init` there",), needed=is_needed)
    return Finding(Area.SYSTEM, "git", Health.GOOD, version, details={"version": version})


def _disk(root: Root) -> Finding:
    try:
        free = shutil.disk_usage(root.state).free
    except OSError as error:
        return Finding(Area.SYSTEM, "disk", Health.DOUBTFUL, f"cannot be looked at: {error.strerror}")
    gibibytes = f"{free / 1024**3:.1f} GiB free"
    details = {"freeBytes": free}
    if free >= _LITTLE_SPACE:
        return Finding(Area.SYSTEM, "disk", Health.GOOD, gibibytes, details=details)
    advice = ("make room: every session is recorded; `ralph runs` removes old runs",)
    health = Health.BAD if free < _NO_SPACE else Health.DOUBTFUL
    return Finding(Area.SYSTEM, "disk", health, gibibytes, advice, needed=True, details=details)


def platform_finding(kind: str, name: str) -> Finding:
    """``kind`` as in ``os.name``. Windows has no process groups or sessions to end as a whole."""
    if kind == "posix":
        text = f"{name}: an agent is ended with everything it started"
        return Finding(Area.SYSTEM, "processes", Health.GOOD, text)
    text = f"{name} has no process groups: what an agent starts could not be ended with it, so ralph runs none here"
    advice = ("use the Windows Subsystem for Linux (WSL 2)",)
    return Finding(Area.SYSTEM, "processes", Health.BAD, text, advice, needed=True)


def _python() -> Finding:
    version = platform.python_version()
    if sys.version_info < _OLDEST_PYTHON:
        advice = ("use Python 3.11 or newer",)
        return Finding(Area.SYSTEM, "python", Health.BAD, version, advice, needed=True)
    text = f"{version} on {platform.system()}"
    return Finding(Area.SYSTEM, "python", Health.GOOD, text, details={"version": version})


def _compiled_parts() -> tuple[Finding, ...]:
    """What was compiled as ralph was installed, and can be used here. Elsewhere than on Linux nothing is."""
    if not LINUX:
        return ()
    watcher = compiled_watcher()
    lost = {}
    if watcher is None or not can_start(watcher):
        lost["watcher"] = "agents start a little slower"
    if load_library() is None:
        lost["search for secrets"] = (
            "an agent's output is searched more slowly, and more secrets may stay in it: docs/security.md"
        )
    details = {"missing": list(lost)}
    if not lost:
        text = "the watcher and the search for secrets"
        return (Finding(Area.SYSTEM, "compiled", Health.GOOD, text, details=details),)
    text = "; ".join(f"without the compiled {name}, {what}" for name, what in lost.items())
    advice = "install a C compiler, then reinstall ralph from source"
    if COMPILED.exists() and LIBRARY.exists():  # of another version, or damaged, or refused
        advice += "; if that changes nothing, this system does not run code that is only in memory"
    return (Finding(Area.SYSTEM, "compiled", Health.ABSENT, text, (advice,), details=details),)
