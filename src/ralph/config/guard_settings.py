"""The settings of the guard, which judges the shell commands of agents that are not sandboxed."""

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
        "Commands that are always allowed: an exact command line, or one simple command in which `*` stands for any text.",
    )
    packs: tuple[str, ...] = setting(
        ListOf(Choice(*PACKS, "all"), of="strings"),
        (),
        "Optional families to turn on; `all` turns on every one.",
    )
