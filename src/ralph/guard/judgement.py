"""The guard's answer, and what the user may set."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class GuardDecision(StrEnum):
    BLOCK = "block"
    ALLOW = "allow"


class Danger(NamedTuple):
    """Why a command is dangerous and what to do instead."""

    family: str
    what: str
    instead: str


class Judgement(NamedTuple):
    decision: GuardDecision
    reason: str = ""
    family: str = ""

    @property
    def is_blocked(self) -> bool:
        return self.decision is GuardDecision.BLOCK


ALLOWED = Judgement(GuardDecision.ALLOW)


def blocked(danger: Danger) -> Judgement:
    return Judgement(GuardDecision.BLOCK, f"{danger.what}. Instead: {danger.instead}.", danger.family)


PACKS = ("backup", "cloud", "containers", "databases", "publish", "remote", "services", "strict")
"""Optional families; ``all`` turns on every one."""


class GuardRules(NamedTuple):
    """What the user chose."""

    allow: tuple[str, ...] = ()
    """Commands that are always allowed: the exact text, or a pattern with ``*`` for one simple command."""
    packs: frozenset[str] = frozenset()
    """Optional families that are on."""
    cwd: str = ""
    """The absolute working directory, if known: absolute paths below it count as the project's own."""

    def has_pack(self, pack: str) -> bool:
        return pack in self.packs or "all" in self.packs


DEFAULT_RULES = GuardRules()
