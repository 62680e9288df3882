"""The settings of the guard, which judges shell commands of unsandboxed agents."""

from __future__ import annotations

from dataclasses import dataclass

from ralph.config.kinds import Choice, ListOf, Text, setting
from ralph.guard.judgement import PACKS


@dataclass(frozen=True, slots=True)
class GuardSettings:
    """Which commands are dangerous here."""

    allow: tuple[str, ...] = setting(
        ListOf(Text(filled=True), of="strings"),
        (),
        "Commands that are always allowed: a whole command line word for word, or one simple command with `*` for any text.",
    )
    packs: tuple[str, ...] = setting(
        ListOf(Choice(*PACKS, "all"), of="strings"),
        (),
        "Families to look for besides the usual ones; `all` for every one of them.",
    )
