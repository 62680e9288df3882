"""The checks that a project's own files suggest, and which of them can run here. Reads and looks; runs nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ralph.adapters.files import read_plain
from ralph.domain.proposals.proposal import Proposal, ReadText
from ralph.domain.proposals.registry import guardrails

_LARGEST = 1_000_000


class Checks(NamedTuple):
    """``absent``: their programs are not on PATH."""

    usable: tuple[Proposal, ...] = ()
    absent: tuple[Proposal, ...] = ()


def find_checks(workspace: Path, environ: Mapping[str, str] = os.environ) -> Checks:
    path = environ.get("PATH", os.defpath)

    def has(program: str) -> bool:
        return shutil.which(program, path=path) is not None

    found = guardrails(_reader(workspace), has)
    usable = tuple(each for each in found if has(each.program))
    return Checks(usable, tuple(each for each in found if each not in usable))


def _reader(workspace: Path) -> ReadText:
    """What cannot be read counts as missing."""

    def read(name: str) -> str | None:
        try:
            return read_plain(workspace / name, _LARGEST).decode(errors="replace")
        except OSError:
            return None

    return read
