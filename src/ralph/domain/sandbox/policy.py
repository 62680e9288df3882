"""What the user wants of a sandbox, and what it guarantees in return."""

from __future__ import annotations

import re

from ralph.domain.sandbox.allow_list import HostRule
from ralph.domain.sandbox.kind import Network, SandboxKind
from ralph.patterns import pattern
from ralph.values import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """In bytes, but for ``pids``. None is no limit; in a policy it is the usual one, and 0 is none."""

    memory: int | None = None
    pids: int | None = None
    file_size: int | None = None  # of a single file: nobody but the disk's owner can limit the sum

    def __bool__(self) -> bool:
        return any((self.memory, self.pids, self.file_size))

    def __str__(self) -> str:
        memory = [f"{size_text(self.memory)} of memory"] if self.memory else []
        return " and ".join([*memory, *([f"{self.pids} processes"] if self.pids else [])])

    def or_usual(self, usual: Limits) -> Limits:
        """What a policy means on a machine where these are usual."""
        pairs = ((self.memory, usual.memory), (self.pids, usual.pids), (self.file_size, usual.file_size))
        return Limits(*(default if asked is None else asked or None for asked, default in pairs))


@dataclass(frozen=True, slots=True)
class SandboxPolicy:
    """What the user wants of a sandbox; paths as written in the settings."""

    network: Network = Network.ALLOW
    allow: tuple[HostRule, ...] = ()
    writable: tuple[str, ...] = ()
    readonly: tuple[str, ...] = ()
    env: tuple[str, ...] = ()  # names of variables to pass; * matches any part
    limits: Limits = Limits()  # None: the usual ones
    image: str = ""  # of a container

    def writes_promise(self, always: str) -> str:
        """``always``, and what the list adds: a repository's settings must not open anything silently."""
        return ", ".join((always, *self.writable))

    def secrets_promise(self, always: str) -> str:
        visible = [*self.readonly, *self.writable, *(f"${name}" for name in self.env)]
        return f"{always}; also visible: {', '.join(visible)}" if visible else always


@dataclass(frozen=True, slots=True)
class Guarantees:
    """One sentence for each promise; empty: not promised."""

    kind: SandboxKind
    writes: str = ""
    secrets: str = ""
    network: str = ""
    tree: str = ""
    limits: str = ""
    kernel: str = ""

    def lines(self) -> tuple[str, ...]:
        """For `ralph doctor` and the head of a run."""
        promises = (self.writes, self.secrets, self.network, self.tree, self.limits, self.kernel)
        names = ("writes", "secrets", "network", "processes", "limits", "kernel")
        return tuple(
            f"{name}: {promise or 'not confined'}" for name, promise in zip(names, promises, strict=True)
        )


NO_GUARANTEES = Guarantees(SandboxKind.NONE)

_SIZE = pattern(r"\s*(\d{1,15})\s*([kmgt]?)(?:i?b)?\s*", re.IGNORECASE)
_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def parse_size(text: str) -> int:
    """``4g``, ``512 MiB`` and plain bytes, in steps of 1024. Raises ``ValueError``."""
    match = _SIZE.fullmatch(text)
    if match is None or int(match[1]) == 0:
        message = "expected a size above 0 such as 512m or 4g"
        raise ValueError(message)
    return int(match[1]) << (10 * _UNITS[match[2].lower()])


def size_text(size: int) -> str:
    for step, unit in enumerate(("KiB", "MiB", "GiB", "TiB"), 1):
        if size < 1024 ** (step + 1) or unit == "TiB":
            return f"{size / 1024**step:.4g} {unit}"
    raise AssertionError
