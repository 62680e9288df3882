"""The guard's answer, and what the user may set."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from ralph.guard.packs import PACKS


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


class GuardRules(NamedTuple):
    """What the user chose."""

    allow: tuple[str, ...] = ()
    """Commands that are always allowed: the exact text, a pattern with ``*`` for one simple command, or one of ``PACKS``."""
    packs: frozenset[str] = frozenset()
    """Families that are to be strict."""
    cwd: str = ""
    """The absolute working directory, if known: absolute paths below it count as the project's own."""

    def has_pack(self, pack: str) -> bool:
        return pack in self.packs or "all" in self.packs

    def is_off(self, family: str) -> bool:
        """Switched off by its name alone; the core cannot be."""
        return family in self.allow and family in PACKS


DEFAULT_RULES = GuardRules()
