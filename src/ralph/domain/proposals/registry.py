"""Asks every ecosystem. Whoever adds one writes its file and its row here."""

from __future__ import annotations

from collections.abc import Callable

from ralph.domain.proposals import cargo, go, make, node, pre_commit, python, sessions
from ralph.domain.proposals.proposal import Ecosystem, Files, Kind, Proposal

_TIERS: tuple[tuple[Ecosystem, ...], ...] = (
    (make.guardrails,),
    (node.guardrails, python.guardrails, cargo.guardrails, go.guardrails),
    (sessions.guardrails, pre_commit.guardrails),
)
"""What an earlier tier tests or lints, a later one would only do again: the project's own task runner knows best."""

_SETUPS: tuple[Ecosystem, ...] = (node.setup, python.setup)


def guardrails(files: Files, has: Callable[[str], bool] = lambda _: True) -> tuple[Proposal, ...]:
    """The commands that could prove work in this project; each costs time after every session, so none does another's work.

    ``has``: whether a program is here. What cannot run does nobody's work.
    """
    found: dict[str, Proposal] = {}
    covered: frozenset[Kind] = frozenset()
    for tier in _TIERS:
        new = [each for ask in tier for each in ask(files) if not each.kinds <= covered]
        for each in new:
            found.setdefault(each.command, each)
        covered = covered.union(*(each.kinds for each in new if has(each.program)))
    return tuple(found.values())


def setup(files: Files) -> tuple[Proposal, ...]:
    """What makes a new worktree able to build, in this order."""
    return tuple(each for ask in _SETUPS for each in ask(files))
