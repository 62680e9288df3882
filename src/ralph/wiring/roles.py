"""What the settings say about the roles of ``ralph work``: criteria, and who takes each role."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ralph.config.profile_settings import RoleSettings, VerifiedSettings
from ralph.config.schema import Settings
from ralph.domain.tasks.pipeline import Pipeline
from ralph.domain.tasks.roles import CompletionDefaults, read_defaults
from ralph.domain.tasks.task import TaskStatus
from ralph.errors import ConfigError
from ralph.wiring.agents import ChosenAgents, chosen_agents


def completion_defaults(settings: Settings) -> CompletionDefaults:
    """Raises ConfigError that lists everything that is wrong."""
    from ralph.adapters.checks.custom_method import is_custom_method

    defaults, problems = read_defaults(_section(settings.profiles.verified), is_custom_method)
    if problems:
        message = "\n".join(f"{'.'.join(map(str, one.path))}: {one.message}" for one in problems)
        raise ConfigError(message, hint="mend it in .ralph/settings.json")
    return defaults


def pipeline_of(settings: Settings) -> Pipeline:
    defaults = completion_defaults(settings)
    return Pipeline(
        roles=tuple(defaults.roles),
        defaults=defaults,
        max_rejections=settings.profiles.verified.max_rejections,
        finished=TaskStatus.ACCEPTED,
    )


def agents_of_roles(
    settings: Settings, workspace: Path, *, environ: Mapping[str, str] = os.environ
) -> dict[str, ChosenAgents]:
    """Only of the roles for which another agent or model was chosen. Raises AgentUnavailable."""
    return {
        name: chosen_agents(with_agent(settings, role.agent, role.model), workspace, environ=environ)
        for name, role in settings.profiles.verified.roles.items()
        if role.agent or role.model
    }


def other_programs(
    settings: Settings, workspace: Path, *, environ: Mapping[str, str] = os.environ
) -> tuple[str, ...]:
    """What is started besides the usual agent, so that a sandbox has what they need. Raises AgentUnavailable."""
    others = [*agents_of_roles(settings, workspace, environ=environ).values()]
    others.append(judge_of(settings, workspace, environ=environ))
    return tuple(dict.fromkeys(command for chosen in others for command in chosen.commands))


def judge_of(
    settings: Settings, workspace: Path, *, environ: Mapping[str, str] = os.environ, model: str = ""
) -> ChosenAgents:
    """Who judges by the criteria; ``model`` is the one that the task itself asks for."""
    own = settings.profiles.verified
    chosen = with_agent(settings, own.semantic_agent, model or own.semantic_model)
    return chosen_agents(chosen, workspace, environ=environ)


def with_agent(settings: Settings, command: str, model: str) -> Settings:
    """Another program gets none of the flags that were meant for the usual one."""
    agent = settings.agent
    if command and command != agent.command:
        agent = replace(
            agent,
            command=command,
            flags=(),
            adapter=None,
            fallbacks=(),
            model="",
            max_turns=None,
            continue_session=False,
        )
    return replace(settings, agent=replace(agent, model=model or agent.model))


def anchor_programs(settings: Settings, folder: Path) -> Settings:
    """With relative agent programs as seen from ``folder``: a task's worktree is elsewhere."""

    def absolute(command: str) -> str:
        is_relative = os.sep in command and not Path(command).is_absolute()
        return str((folder / command).absolute()) if is_relative else command

    agent = settings.agent
    verified = settings.profiles.verified
    roles = {name: replace(role, agent=absolute(role.agent)) for name, role in verified.roles.items()}
    verified = replace(verified, roles=roles, semantic_agent=absolute(verified.semantic_agent))
    return replace(
        settings,
        agent=replace(
            agent, command=absolute(agent.command), fallbacks=tuple(map(absolute, agent.fallbacks))
        ),
        profiles=replace(settings.profiles, verified=verified),
    )


def _section(own: VerifiedSettings) -> dict[str, object]:
    """As ``domain/role_settings`` reads it: only what somebody has set."""
    return {
        "enabled": own.enabled,
        "defaultMaxIterations": own.default_max_iterations,
        "defaultVerification": own.default_verification,
        **({"stages": list(own.stages)} if own.stages else {}),
        "roles": {name: _role(role) for name, role in own.roles.items()},
    }


def _role(role: RoleSettings) -> dict[str, object]:
    values: dict[str, object] = {
        "promise": role.promise,
        "verification": role.verification,
        "verificationConfig": dict(role.verification_config),
        "command": role.command,
        "template": role.template,
        "maxIterations": role.max_iterations,
    }
    return {"enabled": role.enabled, **{key: value for key, value in values.items() if value}}
