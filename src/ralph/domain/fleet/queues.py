"""Where shifts wait for a worker: what workers and the rules of a job must agree on."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

from ralph.domain.fleet.job import PROTOCOL

FLEET = f"ralph{PROTOCOL}"
ANY_QUEUE = f"{FLEET}-any"
"""Of the shifts of jobs without a label."""
MAX_LABELS = 5
"""Of a worker: it asks for work under every combination of its labels, and of a job."""


def label_queue(labels: Iterable[str]) -> str:
    """Where a job waits for a worker that has all of these."""
    ordered = sorted(set(labels))
    return f"{FLEET}-any:{'+'.join(ordered)}" if ordered else ANY_QUEUE


def label_queues(labels: Iterable[str]) -> tuple[str, ...]:
    """Where a worker with these labels looks for work; those that ask for the most of them first."""
    ordered = sorted(set(labels))
    return tuple(
        label_queue(chosen)
        for count in range(len(ordered), -1, -1)
        for chosen in combinations(ordered, count)
    )


def worker_queue(worker: str) -> str:
    """Where the next shift of a job waits for the worker that had the last one."""
    return f"{FLEET}-at:{worker}"
