"""Every command that a run will start because somebody's settings say so: the repository is not to be believed blindly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ralph.config.loading import inspect
from ralph.wiring.plan import Plan

BUILT_IN_NOTIFIERS = ("bell", "desktop")


def named_commands(plan: Plan, environ: Mapping[str, str]) -> tuple[str, ...]:
    """What, and where it comes from. The agent itself is named by the head of the run."""
    settings = plan.settings
    if not settings.guardrails and settings.scm is None and not settings.notify:
        return tuple(plan.composition.commands())
    merged = inspect(plan.root.state, environ=environ, flags=plan.flags).merged

    def origin(*path: str) -> str:
        return merged.origin(path).label

    def found() -> Iterator[str]:
        for guardrail in settings.guardrails:
            yield f"guardrail: {guardrail.command} ({origin('guardrails')})"
        if settings.scm is not None:
            for task in settings.scm.tasks:
                yield f"scm: {settings.scm.command} {task} ({origin('scm', 'tasks')})"
        for how in settings.notify:
            if how not in BUILT_IN_NOTIFIERS and not how.startswith(("http://", "https://")):
                yield f"notify: {how} ({origin('notify')})"
        yield from plan.composition.commands()

    return tuple(found())
