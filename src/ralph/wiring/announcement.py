"""Every command that a run will start because somebody's settings say so: the repository is not to be believed blindly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ralph.config.loading import inspect
from ralph.wiring.launch import Launch

BUILT_IN_NOTIFIERS = ("bell", "desktop")


def named_commands(launch: Launch, environ: Mapping[str, str]) -> tuple[str, ...]:
    """What, and where it comes from. The agent itself is named by the head of the run."""
    settings = launch.settings
    uses_scm = settings.scm is not None and launch.profile.uses_scm
    if not launch.guardrails and not uses_scm and not settings.notify:
        return tuple(launch.composition.commands())
    merged = inspect(launch.root.state, environ=environ, flags=launch.flags).merged
    without_flags = inspect(launch.root.state, environ=environ).merged
    place = (
        ("profiles", launch.profile.name, "guardrails") if launch.profile.own_guardrails else ("guardrails",)
    )
    older = _commands_at(without_flags.values, place)

    def origin(*path: str) -> str:
        return merged.origin(path).label

    def of_guardrail(command: str) -> str:
        """A flag adds to the list, so each entry is asked for by itself."""
        return (without_flags if command in older else merged).origin(place).label

    def found() -> Iterator[str]:
        for guardrail in launch.guardrails:
            yield f"guardrail: {guardrail.command} ({of_guardrail(guardrail.command)})"
        if settings.scm is not None and uses_scm:
            for task in settings.scm.tasks:
                yield f"scm: {settings.scm.command} {task} ({origin('scm', 'tasks')})"
        for how in settings.notify:
            if how not in BUILT_IN_NOTIFIERS and not how.startswith(("http://", "https://")):
                yield f"notify: {how} ({origin('notify')})"
        yield from launch.composition.commands()

    return tuple(found())


def _commands_at(values: object, path: tuple[str, ...]) -> set[object]:
    """The commands of a list of guardrails, which are texts or objects with one."""
    for key in path:
        values = values.get(key) if isinstance(values, Mapping) else None
    entries = values if isinstance(values, list) else []
    return {entry.get("command") if isinstance(entry, Mapping) else entry for entry in entries}
