"""How much memory and how many processes a sandbox may use, by what this machine offers.

A control group limits the sum of all processes and is taken where one can be made: by systemd for a user who is
logged in, directly below our own where that is writable. Else the limits are per process (memory) and, because
the kernel does not count root's processes, for other users only (number of processes).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from pathlib import Path
from typing import Protocol

from ralph.domain.sandbox.policy import Limits, size_text
from ralph.engine.ports import Command, ProcessRunner, Timeouts

_GROUPS = Path("/sys/fs/cgroup")
_PROBE = Timeouts(total=10.0)
_REMOVAL_SECONDS = 2.0


class Limiter(Protocol):
    """Puts limits on what is started through it."""

    @property
    def promise(self) -> str: ...

    @property
    def inside(self) -> Limits:
        """What is left to be limited process by process, inside."""
        ...

    def wrap(self, argv: tuple[str, ...]) -> tuple[str, ...]: ...

    def close(self) -> None: ...


class PerProcess:
    """The kernel's limits of single processes."""

    def __init__(self, limits: Limits, *, is_root: bool) -> None:
        self.inside = Limits(limits.memory, None if is_root else limits.pids)
        said = []
        if limits.memory is not None:
            said.append(f"{size_text(limits.memory)} of memory for each process")
        if limits.pids is not None:
            said.append(
                "processes not limited (root, and no control group)"
                if is_root
                else f"{limits.pids} processes"
            )
        self.promise = ", ".join(said)

    def wrap(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        return argv

    def close(self) -> None:
        return


class SystemdScope:
    """A scope of the user's own service manager."""

    def __init__(self, limits: Limits, arguments: tuple[str, ...]) -> None:
        self.inside = Limits()
        self.promise = _sum_promise(limits, "systemd scope")
        self._arguments = arguments

    def wrap(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        return (*self._arguments, "--", *argv)

    def close(self) -> None:
        return


class ControlGroup:
    """A group below our own: nothing that limits us already is left."""

    def __init__(self, folder: Path, *, left: Limits, promise: str) -> None:
        self.inside = left
        self.promise = promise
        self._folder = folder

    def wrap(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        join = 'echo $$ > "$1"/cgroup.procs && shift && exec "$@"'
        return ("/bin/sh", "-c", join, "ralph", str(self._folder), *argv)

    def close(self) -> None:
        give_up = time.monotonic() + _REMOVAL_SECONDS
        while time.monotonic() < give_up:
            try:
                self._folder.rmdir()
            except FileNotFoundError:
                return
            except OSError:  # its last process is still dying
                time.sleep(0.01)
            else:
                return


async def limiter_for(limits: Limits, name: str, runner: ProcessRunner) -> Limiter:
    is_root = os.geteuid() == 0
    if not limits:
        return PerProcess(limits, is_root=is_root)
    scope = await _systemd_scope(limits, runner)
    return scope or _control_group(limits, name) or PerProcess(limits, is_root=is_root)


async def _systemd_scope(limits: Limits, runner: ProcessRunner) -> SystemdScope | None:
    program = shutil.which("systemd-run")
    if program is None or not _has_systemd():
        return None
    whose = () if os.geteuid() == 0 else ("--user",)
    properties = [f"--property=MemoryMax={limits.memory}", "--property=MemorySwapMax=0"] * (
        limits.memory is not None
    )
    properties += [f"--property=TasksMax={limits.pids}"] * (limits.pids is not None)
    arguments = (program, *whose, "--scope", "--quiet", "--collect", *properties)
    exit_ = await runner.run(Command((*arguments, "--", "true"), Path("/")), timeouts=_PROBE)
    return SystemdScope(limits, arguments) if exit_.code == 0 else None


def _has_systemd() -> bool:
    return Path("/run/systemd/system").is_dir()


def _control_group(limits: Limits, name: str) -> ControlGroup | None:
    for controllers, own in _own_groups():
        if controllers == ("",) and _can_divide(own, limits):
            folder = own / name
            values = {
                "memory.max": limits.memory,
                "memory.swap.max": 0 if limits.memory else None,
                "pids.max": limits.pids,
            }
            if _make(folder, values):
                return ControlGroup(folder, left=Limits(), promise=_sum_promise(limits, "control group"))
        if "pids" in controllers and limits.pids is not None:  # version 1, one tree per controller
            folder = own / name
            if _make(folder, {"pids.max": limits.pids}):
                left = Limits(memory=limits.memory)
                per_process = PerProcess(left, is_root=True).promise
                said = [f"{limits.pids} processes (control group)", *([per_process] if per_process else [])]
                return ControlGroup(folder, left=left, promise=", ".join(said))
    return None


def _own_groups() -> list[tuple[tuple[str, ...], Path]]:
    """Each tree that we are in: its controllers (version 2: an empty one) and the folder of our group."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        number, controllers, path = line.split(":", 2)
        tree = _GROUPS / "unified" if number == "0" else _GROUPS / controllers.removeprefix("name=")
        if number == "0" and not tree.is_dir():
            tree = _GROUPS
        found.append((tuple(controllers.split(",")), tree / path.lstrip("/")))
    return found


def _can_divide(group: Path, limits: Limits) -> bool:
    try:
        enabled = (group / "cgroup.subtree_control").read_text().split()
    except OSError:
        return False
    return (limits.memory is None or "memory" in enabled) and (limits.pids is None or "pids" in enabled)


def _make(folder: Path, values: dict[str, int | None]) -> bool:
    with contextlib.suppress(OSError):
        folder.rmdir()  # of the same run, before it was killed
    try:
        folder.mkdir()
    except OSError:
        return False
    try:
        for file, value in values.items():
            if value is not None and (file != "memory.swap.max" or (folder / file).exists()):
                (folder / file).write_text(str(value))
    except OSError:
        with contextlib.suppress(OSError):
            folder.rmdir()
        return False
    return True


def _sum_promise(limits: Limits, by: str) -> str:
    said = [f"{size_text(limits.memory)} of memory"] if limits.memory is not None else []
    said += [f"{limits.pids} processes"] if limits.pids is not None else []
    return f"{' and '.join(said)} in all ({by})"
