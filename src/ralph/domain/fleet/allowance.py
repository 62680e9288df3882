"""What a machine's owner allows the jobs that run on it: neither a repository nor whoever submitted a job can widen that."""

from __future__ import annotations

from collections.abc import Sequence

from ralph.domain.sandbox.kind import SandboxKind, is_as_strong

OWN_COMMITS = frozenset({"add", "add -A", "add --all", "add .", "commit"})
"""What git does in the job's own clone, with nobody's login."""


def allowed_kind(demanded: str, asked: str | None) -> str | None:
    """The sandbox of a job. ``demanded``: by the machine's owner; ``asked``: by repository and job, as the settings say."""
    return asked if is_as_strong(asked, demanded) else demanded


def is_demanding(demanded: str) -> bool:
    """Whether jobs are confined at all."""
    return demanded != SandboxKind.NONE


def is_own_commit(command: str, tasks: Sequence[str]) -> bool:
    """Whether a job's commands of version control may run outside its sandbox, where they always do."""
    return command.strip() == "git" and {" ".join(task.split()) for task in tasks} <= OWN_COMMITS


def places_outside(places: Sequence[str], allowed: Sequence[str]) -> list[str]:
    """Those that the job names beyond its own clone: reading or writing them would show it what its sandbox hides. Both
    without links."""
    return [place for place in places if not any(f"{place}/".startswith(f"{folder}/") for folder in allowed)]
