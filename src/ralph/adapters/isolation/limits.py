"""How much memory and how many processes a sandbox may use, by what this machine offers.

A control group limits the sum of all processes and is used where possible: by systemd for a user who is logged in,
directly below our own where that is writable. Otherwise memory is limited per process, and the number of processes
for every user but root, whose processes the kernel does not count.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from ralph.adapters.own_programs import OwnPrograms
from ralph.domain.sandbox.policy import Limits, size_text
from ralph.engine.ports import Command, ProcessRunner, Timeouts

_GROUPS = Path("/sys/fs/cgroup")
_PROBE = Timeouts(total=10.0)
_REMOVAL_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Limiter:
    """Limits whatever starts behind ``prefix``. ``inside`` is what remains to be limited process by process."""

    promise: str
    inside: Limits = Limits()
    prefix: tuple[str, ...] = ()
    group: Path | None = None

    def wrap(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        return (*self.prefix, *argv)

    def close(self) -> None:
        give_up = time.monotonic() + _REMOVAL_SECONDS
        while self.group is not None and time.monotonic() < give_up:
            try:
                self.group.rmdir()
            except FileNotFoundError:
                return
            except OSError:  # its last process is still dying
                time.sleep(0.01)
            else:
                return


def per_process(limits: Limits, *, is_root: bool) -> Limiter:
    """The kernel's limits on single processes."""
    said = [f"{size_text(limits.memory)} of memory for each process"] if limits.memory is not None else []
    if limits.pids is not None:
        unlimited = "processes not limited (root, and no control group)"
        said.append(unlimited if is_root else f"{limits.pids} processes")
    return Limiter(", ".join(said), Limits(limits.memory, None if is_root else limits.pids))


def systemd_scope(limits: Limits, arguments: tuple[str, ...]) -> Limiter:
    """A scope of the user's own service manager."""
    return Limiter(_sum_promise(limits, "systemd scope"), prefix=(*arguments, "--"))


def control_group(folder: Path, promise: str, *, inside: Limits = Limits()) -> Limiter:  # noqa: B008 frozen
    """A group below our own: our limits still apply."""
    join = 'echo $$ > "$1"/cgroup.procs && shift && exec "$@"'
    return Limiter(promise, inside, ("/bin/sh", "-c", join, "ralph", str(folder)), folder)


async def limiter_for(limits: Limits, name: str, runner: ProcessRunner, own: OwnPrograms) -> Limiter:
    group = (await _systemd_scope(limits, runner, own) or _control_group(limits, name)) if limits else None
    return group or per_process(limits, is_root=os.geteuid() == 0)


async def _systemd_scope(limits: Limits, runner: ProcessRunner, own: OwnPrograms) -> Limiter | None:
    program = own.find("systemd-run")
    if program is None or not _has_systemd():
        return None
    whose = () if os.geteuid() == 0 else ("--user",)
    properties = [f"--property=TasksMax={limits.pids}"] if limits.pids is not None else []
    if limits.memory is not None:
        properties += [f"--property=MemoryMax={limits.memory}", "--property=MemorySwapMax=0"]
    arguments = (program, *whose, "--scope", "--quiet", "--collect", *properties)
    exit_ = await runner.run(Command((*arguments, "--", "true"), Path("/")), timeouts=_PROBE)
    return systemd_scope(limits, arguments) if exit_.code == 0 else None


def _has_systemd() -> bool:
    return Path("/run/systemd/system").is_dir()


def _control_group(limits: Limits, name: str) -> Limiter | None:
    for controllers, own in _own_groups():
        folder = own / name
        if controllers == ("",) and _can_divide(own, limits):
            values = {"memory.max": limits.memory, "pids.max": limits.pids}
            if _make(folder, values | {"memory.swap.max": 0 if limits.memory else None}):
                return control_group(folder, _sum_promise(limits, "control group"))
        # version 1, one tree per controller
        if "pids" in controllers and limits.pids is not None and _make(folder, {"pids.max": limits.pids}):
            left = per_process(Limits(memory=limits.memory), is_root=True)
            said = (f"{limits.pids} processes (control group)", left.promise)
            return control_group(folder, ", ".join(filter(None, said)), inside=left.inside)
    return None


def _own_groups() -> list[tuple[tuple[str, ...], Path]]:
    """Our group in each tree: its controllers (version 2: an empty one) and its folder."""
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
        folder.rmdir()  # left by the same run when it was killed
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
    return f"{limits} in all ({by})"
