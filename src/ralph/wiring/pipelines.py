"""What the settings say about the roles of ``ralph work``: their criteria and prompts, in order."""

from __future__ import annotations

from pathlib import Path

from ralph.adapters.documents.prompt_source import read_role_prompt
from ralph.config.profile_settings import RoleSettings
from ralph.config.schema import Settings
from ralph.domain.tasks.pipeline import Pipeline
from ralph.domain.tasks.prompts import template_with
from ralph.domain.tasks.roles import (
    ROLES,
    CompletionDefaults,
    Role,
    stage_problems,
    verification_problems,
)
from ralph.domain.tasks.task import TaskStatus
from ralph.errors import ConfigError

TEMPLATES = Path(__file__).parents[1] / "profiles" / "templates"


def completion_defaults(settings: Settings) -> CompletionDefaults:
    """Raises ConfigError that lists everything that is wrong."""
    from ralph.adapters.checks.custom_method import is_custom_method

    own = settings.profiles.verified
    stages = own.stages or tuple(dict.fromkeys([*ROLES, *own.roles]))
    defaults = CompletionDefaults(
        enabled=own.enabled,
        max_iterations=own.default_max_iterations,
        method=own.default_verification,
        roles={name: _role(ROLES.get(name, Role()), own.roles.get(name)) for name in stages},
    )
    problems = [*stage_problems(stages, own.roles), *verification_problems(defaults, is_custom_method)]
    if problems:
        raise ConfigError("\n".join(map(str, problems)), hint="fix it in .ralph/settings.json")
    return defaults


def _role(usual: Role, own: RoleSettings | None) -> Role:
    """``command`` and ``template`` are short for those of ``verificationConfig``."""
    if own is None:
        return usual
    short = {key: text for key in ("command", "template") if (text := getattr(own, key).strip())}
    return Role(
        promise=own.promise.strip() or usual.promise,
        method=own.verification.strip() or usual.method,
        max_iterations=own.max_iterations or usual.max_iterations,
        config={**own.verification_config, **short} or usual.config,
        enabled=own.enabled,
        description=own.description.strip() or usual.description,
        title=own.title.strip() or usual.title,
        prompt=own.prompt.strip(),
    )


def pipeline_of(settings: Settings, folder: Path) -> Pipeline:
    """``folder``: what the roles' prompt files are relative to. Raises ConfigError."""
    defaults = completion_defaults(settings)
    return Pipeline(
        roles=tuple(defaults.roles),
        defaults=defaults,
        templates={name: _template(name, role, folder) for name, role in defaults.roles.items()},
        max_rejections=settings.profiles.verified.max_rejections,
        finished=TaskStatus.ACCEPTED,
    )


def _template(name: str, role: Role, folder: Path) -> str:
    if not role.prompt and name in ROLES:
        return (TEMPLATES / f"{name}.md").read_text(encoding="utf-8")
    setting = f"profiles.verified.roles.{name}.prompt"
    own = read_role_prompt(folder, role.prompt, setting) if role.prompt else ""
    return template_with((TEMPLATES / "role.md").read_text(encoding="utf-8"), own)
