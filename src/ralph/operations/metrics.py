"""Figures of projects for Prometheus: what happened in their runs, and how these stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ralph.adapters.storage.feed import Feed
from ralph.domain.telemetry.exposition import RUNS, UP, Figures, Labels
from ralph.operations.projects import Project


def read_figures(project: Project, feed: Feed) -> Figures:
    """Raises StoreError if the record cannot be read."""
    own = ("project", project.name)
    found = {(name, (own, *labels)): value for (name, labels), value in feed.figures().items()}
    states = Counter((run.profile, run.agent, str(run.state)) for run in feed.runs())
    for (profile, agent, state), number in states.items():
        found[RUNS, (own, ("profile", profile), ("agent", agent), ("state", state))] = number
    return found | {(UP, (own,)): 1}


def no_figures(project: Project) -> Figures:
    """Its record cannot be read."""
    return {(UP, (("project", project.name),)): 0}


def add_figures(figures: Iterable[Figures]) -> Figures:
    """Of several projects. Two with the same name are told as one."""
    sums: dict[tuple[str, Labels], float] = {}
    for each in figures:
        for place, value in each.items():
            sums[place] = sums.get(place, 0.0) + value
    return sums
