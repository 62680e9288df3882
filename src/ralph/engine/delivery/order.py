"""What a delivery is asked for, and what must pass before anything is pushed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from ralph.domain.delivery.facts import Policy
from ralph.domain.delivery.receipt import Receipt
from ralph.domain.delivery.texts import Purpose
from ralph.engine.delivery.ports import Proven
from ralph.values import dataclass

MOST_FILES = 3
PUT_AWAY = "commit or stash them (`git stash -u`), then `ralph resume`"

Prove = Callable[[str], Awaitable[Proven]]
"""Runs what must pass before a commit is pushed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is wanted. ``receipt``: what the work took so far, for the text of the pull request."""

    base: str
    is_base_named: bool = False  # by the user: a pull request for another base is not the one that is wanted
    purpose: Purpose = Purpose()
    policy: Policy = Policy()
    is_draft: bool = False
    labels: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    most_chars: int = 5000
    receipt: Callable[[], Receipt] = Receipt


def some_of(files: Sequence[str]) -> str:
    return ", ".join(files[:MOST_FILES]) + (" …" if len(files) > MOST_FILES else "")
