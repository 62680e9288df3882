"""A job: one run on the fleet, as it was submitted."""

from __future__ import annotations

from ralph.values import dataclass

PROTOCOL = 1
"""Of what submitters, workflows and workers tell each other. Another one is another fleet in the same namespace."""
USUAL_PRIORITY = 3
"""1 is the first, 5 the last."""
HEARTBEAT = 30.0
"""Seconds without a sign of life until a worker counts as gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """What was asked for; it never changes.

    ``command``: ralph's own words, such as ``run -f PROMPT.md``; or ``task``, an entry of a task file as JSON, which is worked
    on and then merged into ``base``. ``needs``: jobs that must be merged first; ``feeds``: jobs that need this one.
    ``agent``: the agent's name, for limits on its account; empty: whatever the worker's settings say. ``submission``: tells it
    from other jobs that had the same name: its record on the remote is nobody else's.
    """

    id: str
    repository: str
    base: str = ""  # a branch; empty: the repository's own default
    command: tuple[str, ...] = ()
    task: str = ""
    title: str = ""
    labels: tuple[str, ...] = ()
    priority: int = USUAL_PRIORITY
    needs: tuple[str, ...] = ()
    feeds: tuple[str, ...] = ()
    agent: str = ""
    heartbeat: float = HEARTBEAT
    submitted_at: float = 0.0
    submitted_by: str = ""
    submission: str = ""
    version: str = ""  # of the ralph that submitted it
    protocol: int = PROTOCOL

    @property
    def is_task(self) -> bool:
        return bool(self.task)

    @property
    def branch(self) -> str:
        """Where its work is, on the remote."""
        return f"ralph/{self.id}"

    @property
    def record(self) -> str:
        """The ref of its record, on the remote."""
        return f"refs/ralph/records/{self.id}"
