"""Limits that an agent sets for a run which it starts: tighter than the settings of the project, never wider."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ralph.domain.loop.budget import Budget
from ralph.errors import UsageError

if TYPE_CHECKING:
    from ralph.config.schema import Settings
    from ralph.operations.projects import Project

_OPTIONS = {
    "iterations": "--max-iterations",
    "cost_usd": "--max-cost",
    "tokens": "--max-tokens",
    "seconds": "--max-time",
}
_WORDS = {
    "iterations": "iterations",
    "cost_usd": "dollars",
    "tokens": "tokens",
    "seconds": "seconds",
}


def limit_options(project: Project, profile: str, asked: Budget) -> list[str]:
    """The options of the command that starts it. Raises UsageError for a limit above the project's own."""
    wanted = {name: value for name in _OPTIONS if (value := getattr(asked, name)) is not None}
    if not wanted:
        return []
    from ralph.config.loading import load

    own = _limits_of(load(project.state_folder.parent, environ=os.environ).settings, profile)
    for name, value in wanted.items():
        most = getattr(own, name)
        if most is not None and value > most:
            message = f"{value:g} {_WORDS[name]} are more than this project allows: {most:g}"
            raise UsageError(message, hint="ask for less, or leave it out; only the settings can raise it")
    return [f"{_OPTIONS[name]}={value}" for name, value in wanted.items()]


def _limits_of(settings: Settings, profile: str) -> Budget:
    from ralph.config.schema import iterations_of

    limits = settings.limits
    return Budget(iterations_of(settings, profile), limits.max_cost, limits.max_tokens, limits.max_time)
