"""The programs that are known to speak ACP, and how each is started: rows of ``known.json``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from ralph.values import dataclass, field

FILE: Final = Path(__file__).with_name("known.json")


@dataclass(frozen=True, slots=True)
class KnownProgram:
    """``arguments`` make it speak ACP. ``tried``: the version that ralph's own tests run; empty: none could be.

    ``authenticate``: it wants to be told to use the login that it has, by this method.
    """

    program: str
    arguments: tuple[str, ...]
    title: str
    install: str
    login: str
    tried: str
    authenticate: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    read_only_environment: Mapping[str, str] = field(default_factory=dict)  # for whoever may only look

    def complete(self, flags: Sequence[str]) -> tuple[str, ...]:
        """The user's flags, with whatever is missing of its arguments in front of them."""
        return tuple(flags) if set(self.arguments) <= set(flags) else (*self.arguments, *flags)


@cache
def known_programs() -> Mapping[str, KnownProgram]:
    return {
        name: KnownProgram(**{**row, "arguments": tuple(row["arguments"])}) for name, row in _rows().items()
    }


def known_names() -> Iterable[str]:
    return _rows()


@cache
def _rows() -> dict[str, dict[str, Any]]:
    rows = json.loads(FILE.read_text(encoding="utf-8"))
    return {row["program"]: row for row in sorted(rows, key=lambda row: str(row["program"]))}
