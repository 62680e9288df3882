"""Runs of a root agent that is restarted until it is really done: profile ``supervised``."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import gmtime, strftime

from ralph.adapters.agents.bare_command import BareCommandAdapter
from ralph.adapters.files import is_true, real_path
from ralph.adapters.processes.ladder import Ladder
from ralph.config.loading import Loaded
from ralph.config.root import STATE_FOLDER, Root
from ralph.config.schema import GuardrailSettings, Settings, iterations_of
from ralph.domain.loop.profile import Profile
from ralph.domain.supervision.rules import Supervision
from ralph.domain.supervision.task_folder import ID_HINT, TASKS_FOLDER, id_from, problem_with_id
from ralph.errors import AgentUnavailable, ConfigError, StoreError, UsageError
from ralph.values import replace
from ralph.wiring.agents import ChosenAgents, chosen_agents
from ralph.wiring.confinement import asks_for_sandbox
from ralph.wiring.launch import Launch
from ralph.wiring.named_places import settle_place
from ralph.wiring.profiles import load_profile
from ralph.wiring.requirements import guardrails_of, require_runnable, require_system
from ralph.wiring.runs.prompt_run import Prompt
from ralph.wiring.runs.root_agent import SupervisedComposition

PROFILE = "supervised"
LADDER = Ladder(interrupt=0.0, terminate=5.0)
"""TERM, 5 s, KILL."""


def prepare_supervised(
    loaded: Loaded,
    root: Root,
    *,
    prompt: Prompt | None = None,
    command: Sequence[str] = (),
    task: str = "",
    project: str = "",
    task_folder: Path | None = None,
    resumes: str = "",
    parent: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Launch:
    """Resolve everything, and raise whatever can be known to be wrong before anything is started or written.

    ``parent`` is the run whose agent started this one; None: the one that the environment names.
    """
    settings = loaded.settings
    require_system()
    if (prompt is None) == (not command):
        message = "exactly one of a prompt and a command is needed"
        raise UsageError(message, hint="give -p, -f, or `-- CMD ARGS…`")
    own = settings.profiles.supervised
    supervision = Supervision(
        max_restarts=own.max_restarts,
        restart_delay=own.restart_delay,
        wait_timeout=own.wait_timeout,
        poll_interval=own.poll_interval,
        agent_timeout=own.agent_timeout,
        done_grace=own.done_grace,
    )
    if problem := supervision.problem():
        message = f"profiles.supervised: {problem}"
        raise ConfigError(message, hint="fix the settings, or give the flag")
    task = task or _new_task()
    project = project or own.project or id_from(root.workspace.name, otherwise="project")
    for name, what in ((task, "task"), (project, "project")):
        if problem := problem_with_id(name, what=what):
            raise UsageError(problem, hint=ID_HINT)
    profile = load_profile(PROFILE)
    # Resolved: in a sandbox a link on the way to it need not be there.
    folder = task_folder or root.state / STATE_FOLDER / TASKS_FOLDER / task
    folder = folder if resumes else settle_place(folder, "the task folder", root, settings, profile)
    if asks_for_sandbox(settings, profile):
        _require_folder_of_its_own(folder, root, environ)
    if prompt is not None:
        require_runnable(settings)
        prompt = prompt if resumes else prompt.settle(root, settings, profile)
        prompt.read()
        agents = chosen_agents(settings, root.workspace, environ=environ)
    else:
        agents = _commanded(command, root.workspace, settings, environ)
    own_guardrails = tuple(GuardrailSettings(command=command) for command in own.guardrails)
    guarded = replace(settings, guardrails=own_guardrails or settings.guardrails)
    return Launch(
        profile=profile,
        loaded=loaded,
        settings=settings,
        root=root,
        agents=agents,
        composition=SupervisedComposition(
            supervision=supervision,
            task=task,
            project=project,
            task_folder=folder,
            parent_id=environ.get("RALPH_RUN_ID", "") if parent is None else parent,
            prompt=prompt,
            command=tuple(command),
        ),
        maximum=iterations_of(settings, PROFILE),
        ladder=LADDER,
        spares_children=True,
        writable=(folder,),
        guardrails=guardrails_of(guarded),
        resumes=resumes,
    )


def prepare_again(
    profile: Profile,
    arguments: Mapping[str, object],
    loaded: Loaded,
    root: Root,
    *,
    resumes: str,
) -> Launch:
    text, file, command = (arguments.get(key) for key in ("prompt", "promptFile", "command"))
    folder, task, project = (arguments.get(key) for key in ("taskFolder", "task", "project"))
    if (
        not isinstance(text, str | None)
        or not isinstance(file, str | None)
        or not isinstance(command, list)
        or not all(isinstance(name, str) for name in (folder, task, project))
        or (text is not None) + (file is not None) + bool(command) != 1
    ):
        message = f"the request of run {resumes} does not say what to run"
        raise StoreError(message, hint="start a new run with `ralph supervise`")
    prompt = Prompt(text, Path(file) if file is not None else None)
    return prepare_supervised(
        loaded,
        root,
        prompt=None if command else prompt,
        command=[str(word) for word in command],
        task=str(task),
        project=str(project),
        task_folder=Path(str(folder)),
        parent=str(arguments.get("parent", "")),
        resumes=resumes,
    )


def _require_folder_of_its_own(folder: Path, root: Root, environ: Mapping[str, str]) -> None:
    """The sandboxed agent may write to its task folder, so nothing that it must not write to may lie in there."""
    for place, name in (
        (Path(environ.get("HOME") or "/nonexistent"), "your home folder"),
        (Path("/etc"), "the system's folders"),
        (root.workspace.parent, "more than the workspace"),
        (root.state / STATE_FOLDER, "ralph's own record"),
    ):
        if real_path(place).is_relative_to(folder) and folder != real_path(root.workspace):
            message = (
                f"the task folder {folder} contains {name}: a sandbox that may write there confines nothing"
            )
            raise UsageError(message, hint="give --task-dir a separate folder, or use --no-sandbox")


def _new_task() -> str:
    """One that nobody has used: a DONE that is there already would end the run at once."""
    return f"task-{strftime('%Y%m%d-%H%M%S', gmtime())}-{os.urandom(2).hex()}"


def _commanded(
    command: Sequence[str], workspace: Path, settings: Settings, environ: Mapping[str, str]
) -> ChosenAgents:
    program = command[0]
    path = settings.agent.environment.get("PATH", environ.get("PATH", os.defpath))
    found = workspace / program if os.sep in program else shutil.which(program, path=path)
    if not program or found is None or not is_true(Path(found).is_file):
        message = f"command not found: {program or repr(program)}"
        raise AgentUnavailable(message, hint="install it, correct PATH, or give its path behind `--`")
    if not os.access(found, os.X_OK):
        message = f"permission denied: {program} is not executable"
        raise AgentUnavailable(message, hint=f"chmod +x {program}")
    return ChosenAgents((BareCommandAdapter(command),), (program,))
