"""The kinds of sandbox, from the strongest to none, and of network.

By themselves, because every command loads the settings and hardly any opens a sandbox.
"""

from __future__ import annotations

import re
from enum import StrEnum


class SandboxKind(StrEnum):
    """Strongest first."""

    SBX = "sbx"  #: a micro virtual machine
    BWRAP = "bwrap"  #: Linux namespaces, by bubblewrap
    CONTAINER = "container"  #: docker or podman
    SRT = "srt"  #: Anthropic's sandbox runtime, for macOS
    NONE = "none"

    @property
    def shares_programs(self) -> bool:
        """What is installed on this machine is what runs inside; others have a file system of their own."""
        return self not in (SandboxKind.SBX, SandboxKind.CONTAINER)


class Network(StrEnum):
    OFF = "off"  #: none
    ALLOW = "allow"  #: the agent's own service and what is on the allow-list


STRONGEST = "strongest"  #: what a bare ``--sandbox`` means: the strongest that works here, or an error
AUTO = "auto"  #: the strongest that works here, or none

ASKABLE = (AUTO, STRONGEST, *(kind.value for kind in SandboxKind))


def is_as_strong(value: str | None, own: str | None) -> bool:
    """A kind is itself or refuses; `auto` and `strongest`, and null in a plan's run, are the strongest that works here."""
    if own == SandboxKind.NONE or value in (own, SandboxKind.SBX):
        return True
    if own in (None, AUTO):
        return value in (AUTO, STRONGEST)
    kinds: list[str | None] = [*SandboxKind]  # strongest first
    return value in kinds and own in kinds and kinds.index(value) <= kinds.index(own)


def sandbox_name(project: str) -> str:
    """``ralph-`` and the path, with ``_`` for anything but letters, digits, dots and dashes."""
    return "ralph-" + re.sub(r"[^A-Za-z0-9._-]", "_", project)
