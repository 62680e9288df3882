"""The kinds of sandbox, from the strongest to none, and what a sandbox of a workspace is called."""

from __future__ import annotations

import re
from enum import StrEnum


class SandboxKind(StrEnum):
    """In the order of their strength: a virtual machine of its own down to nothing at all."""

    SBX = "sbx"  #: a micro virtual machine
    BWRAP = "bwrap"  #: Linux namespaces, by bubblewrap
    CONTAINER = "container"  #: docker or podman
    SRT = "srt"  #: the sandbox runtime that macOS users have
    NONE = "none"


STRONGEST = "strongest"  #: what a bare ``--sandbox`` asks for: the strongest there is, or an error
AUTO = "auto"  #: the strongest that is there, or none

ASKABLE = (AUTO, STRONGEST, *(kind.value for kind in SandboxKind))


def sandbox_name(project: str) -> str:
    """Seed 004's rule: ``ralph-`` and the path, whatever is no letter, digit, dot or dash as ``_``."""
    return "ralph-" + re.sub(r"[^A-Za-z0-9._-]", "_", project)
