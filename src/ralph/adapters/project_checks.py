"""What a project's own files suggest, and which of it can run here. Reads and looks; runs nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

from ralph.adapters.files import read_plain
from ralph.adapters.search_path import find_program
from ralph.domain.proposals.proposal import Files, Proposal
from ralph.domain.proposals.registry import guardrails, setup
from ralph.values import dataclass, replace

_LARGEST = 1_000_000
_MOST_NAMES = 10_000
_ENVIRONMENTS = (".venv", "venv")
"""Where a project may keep programs of its own, which are not on PATH unless somebody activated them."""


@dataclass(frozen=True, slots=True)
class Checks:
    """``absent``: their programs are not on PATH."""

    usable: tuple[Proposal, ...] = ()
    absent: tuple[Proposal, ...] = ()


def find_checks(workspace: Path, environ: Mapping[str, str] = os.environ) -> Checks:
    path = environ.get("PATH", os.defpath)

    def place_of(program: str) -> str | None:
        """Where it is called from; empty: PATH. None: it is not here."""
        if find_program(program, path) is not None:
            return ""
        own = (f"{folder}/bin/" for folder in _ENVIRONMENTS)
        return next((place for place in own if os.access(workspace / place / program, os.X_OK)), None)

    found = guardrails(_files_of(workspace), lambda program: place_of(program) is not None)
    places = [(each, place_of(each.program)) for each in found]
    usable = tuple(replace(each, command=place + each.command) for each, place in places if place is not None)
    return Checks(usable, tuple(each for each, place in places if place is None))


def find_setup(workspace: Path, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The commands that prepare a worktree; none if a program of theirs is not here."""
    path = environ.get("PATH", os.defpath)
    found = setup(_files_of(workspace))
    is_complete = all(find_program(each.program, path) is not None for each in found)
    return tuple(each.command for each in found) if is_complete else ()


def _files_of(workspace: Path) -> Files:
    """What cannot be read counts as missing."""

    def read(name: str) -> str | None:
        try:
            return read_plain(workspace / name, _LARGEST).decode(errors="replace")
        except OSError:
            return None

    def names(folder: str) -> list[str]:
        try:
            return [each.name for each in islice((workspace / folder).iterdir(), _MOST_NAMES)]
        except OSError:
            return []

    return Files(read, names)
