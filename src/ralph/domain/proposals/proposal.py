"""A command that a project's file suggests, and what it is good for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from enum import StrEnum

from ralph.values import dataclass

ReadText = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Files:
    """``read``: the text of a file of the project; None if there is none. ``names``: what lies in one of its folders."""

    read: ReadText
    names: Callable[[str], Collection[str]] = lambda _: ()


class Kind(StrEnum):
    TEST = "test"
    LINT = "lint"
    TYPES = "types"


@dataclass(frozen=True, slots=True)
class Proposal:
    """``source``: the file that suggests it. ``program``: what must be installed for it."""

    command: str
    source: str
    kinds: frozenset[Kind]
    program: str


Ecosystem = Callable[[Files], Iterator[Proposal]]


def propose(command: str, source: str, *kinds: Kind, program: str = "") -> Proposal:
    return Proposal(command, source, frozenset(kinds), program or command.split()[0])


def first_there(files: Files, *names: str) -> str:
    """The first of these files that the project has; empty: none."""
    return next((name for name in names if files.read(name) is not None), "")
