"""The words of the settings: the kinds of sandbox, from the strongest to none, and of network.

By themselves, because every command loads the settings and hardly any opens a sandbox.
"""

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


class Network(StrEnum):
    OFF = "off"  #: nothing at all
    ALLOW = "allow"  #: the agent's own service and what is on the allow-list


STRONGEST = "strongest"  #: what a bare ``--sandbox`` asks for: the strongest there is, or an error
AUTO = "auto"  #: the strongest that is there, or none

ASKABLE = (AUTO, STRONGEST, *(kind.value for kind in SandboxKind))


def sandbox_name(project: str) -> str:
    """``ralph-`` and the path, whatever is no letter, digit, dot or dash as ``_``."""
    return "ralph-" + re.sub(r"[^A-Za-z0-9._-]", "_", project)
