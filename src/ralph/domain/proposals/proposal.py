"""A command that a project's file suggests, and what it is good for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import NamedTuple

ReadText = Callable[[str], str | None]
"""The text of one of the project's files by name; None if there is none."""


class Kind(StrEnum):
    TEST = "test"
    LINT = "lint"
    TYPES = "types"


class Proposal(NamedTuple):
    """``source``: the file that suggests it. ``program``: what must be installed for it."""

    command: str
    source: str
    kinds: frozenset[Kind]
    program: str


Ecosystem = Callable[[ReadText], Iterator[Proposal]]


def propose(command: str, source: str, *kinds: Kind, program: str = "") -> Proposal:
    return Proposal(command, source, frozenset(kinds), program or command.split()[0])


def first_there(read: ReadText, *names: str) -> str:
    """The first of these files that the project has; empty: none."""
    return next((name for name in names if read(name) is not None), "")
