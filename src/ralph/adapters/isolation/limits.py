"""How much memory, how many processes and how large files a sandbox may have, by what this machine offers.

A control group limits the sum of all processes: directly below our own where that is writable, else, if the user asked
for a limit, by systemd, which costs every process some time. Otherwise memory is limited per process, if the user asked
for that, and the number of processes for every user but root, whose processes the kernel does not count.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from pathlib import Path

from ralph.adapters.own_programs import OwnPrograms
from ralph.domain.sandbox.policy import Limits, size_text
from ralph.engine.ports import Command, ProcessRunner, Timeouts
from ralph.values import dataclass, replace

_GROUPS = Path("/sys/fs/cgroup")
_PROBE = Timeouts(total=10.0)
_REMOVAL_SECONDS = 2.0
_FEWEST_PIDS, _PIDS_PER_PROCESSOR = 4096, 64
_SMALLEST_FILE = 2**30
_COUNTS_APART = (5, 14)  # since then processes are counted in each user namespace
_OPTIONAL = ("memory.swap.max", "memory.memsw.limit_in_bytes")
_numbers = itertools.count()
_SMALL_ROOM = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Limiter:
    """Limits whatever starts behind ``prefix``. ``inside`` is what remains to be limited process by process.

    ``room``: what folders in memory may hold in all; None: it is counted with the memory.
    """

    promise: str
    inside: Limits = Limits()
    prefix: tuple[str, ...] = ()
    groups: tuple[Path, ...] = ()
    room: int | None = None

    def wrap(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        return (*self.prefix, *argv)

    def room_in(self, folder: Path, home: Path) -> tuple[str, ...]:
        """For bwrap: how much an empty folder in memory may hold. The kernel's own limit is half of all memory, for each."""
        if self.room is None:
            return ()
        if folder == Path("/tmp") or home in (folder, *folder.parents):  # noqa: S108 its own
            size = self.room // 4
        elif folder in (Path("/var/tmp"), Path("/dev/shm")):  # noqa: S108
            size = self.room // 8
        else:
            size = min(_SMALL_ROOM, self.room // 8)
        return ("--size", str(size))

    def close(self) -> None:
        give_up = time.monotonic() + _REMOVAL_SECONDS
        for group in self.groups:
            while time.monotonic() < give_up:
                try:
                    group.rmdir()
                except FileNotFoundError:
                    break
                except OSError:  # its last process is still dying
                    time.sleep(0.01)
                else:
                    break


def usual_limits(workspace: Path) -> Limits:
    """Those that no ordinary build meets on this machine."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 3 // 4
    file_size = None
    with contextlib.suppress(OSError):
        disk = os.statvfs(workspace)
        file_size = max(_SMALLEST_FILE, disk.f_bavail * disk.f_frsize // 2)
    return Limits(memory, max(_FEWEST_PIDS, _PIDS_PER_PROCESSOR * (os.cpu_count() or 1)), file_size)


def per_process(asked: Limits, usual: Limits, *, is_root: bool, counts_apart: bool = True) -> Limiter:
    """The kernel's limits on single processes. A usual limit on memory is none of them: it counts what is only reserved."""
    wanted = asked.or_usual(usual)
    said = []
    if asked.memory:
        said.append(f"{size_text(asked.memory)} of memory for each process, not counting what they share")
    elif wanted.memory:
        said.append(
            "memory not limited (no control group), but its processes are the first to end if it runs out"
        )
    pids = wanted.pids if not is_root and (asked.pids or counts_apart) else None
    if wanted.pids:
        why = "root, and no control group" if is_root else "no control group"
        said.append(f"{pids} processes" if pids else f"processes not limited ({why})")
    return Limiter(
        ", ".join((*said, *_file_promise(wanted))),
        Limits(asked.memory or None, pids, wanted.file_size),
        room=None if wanted.memory is None else asked.memory or wanted.memory * 4 // 3,
    )


def systemd_scope(limits: Limits, arguments: tuple[str, ...]) -> Limiter:
    """A scope of the user's own service manager."""
    promise = ", ".join((f"{limits} in all (systemd scope)", *_file_promise(limits)))
    return Limiter(promise, Limits(file_size=limits.file_size), (*arguments, "--"))


def control_groups(folders: tuple[Path, ...], limiter: Limiter) -> Limiter:
    """Groups below our own: our limits still apply."""
    join = 'while [ "$1" ]; do echo $$ > "$1"/cgroup.procs || exit; shift; done; shift; exec "$@"'
    prefix = ("/bin/sh", "-c", join, "ralph", *map(str, folders), "")
    return replace(limiter, prefix=prefix, groups=folders)


async def limiter_for(asked: Limits, usual: Limits, runner: ProcessRunner, own: OwnPrograms) -> Limiter:
    wanted = asked.or_usual(usual)
    if (asked.memory or asked.pids) and (scope := await _systemd_scope(wanted, runner, own)):
        return scope
    return _control_groups(asked, usual) or _per_process_here(asked, usual)


def _per_process_here(asked: Limits, usual: Limits) -> Limiter:
    release = tuple(int(part) for part in os.uname().release.split(".")[:2] if part.isdigit())
    return per_process(asked, usual, is_root=os.geteuid() == 0, counts_apart=release >= _COUNTS_APART)


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


def _control_groups(asked: Limits, usual: Limits) -> Limiter | None:
    """One for all (version 2), or one for each kind of limit (version 1)."""
    wanted = asked.or_usual(usual)
    if not (wanted.memory or wanted.pids):
        return None
    name = f"ralph-{os.getpid()}-{next(_numbers)}"
    folders: list[Path] = []
    covered = Limits()
    for controllers, own in _own_groups():
        folder = own / name
        if controllers == ("",) and _can_divide(own, wanted):
            values = {"memory.max": wanted.memory, "pids.max": wanted.pids}
            if _make(folder, values | {"memory.swap.max": 0 if wanted.memory else None}):
                folders, covered = [folder], wanted
                break
        if "pids" in controllers and wanted.pids and _make(folder, {"pids.max": wanted.pids}):
            folders.append(folder)
            covered = replace(covered, pids=wanted.pids)
        memory = {"memory.limit_in_bytes": wanted.memory, "memory.memsw.limit_in_bytes": wanted.memory}
        if "memory" in controllers and wanted.memory and _make(folder, memory):
            folders.append(folder)
            covered = replace(covered, memory=wanted.memory)
    if not folders:
        return None
    # What no group covers is limited process by process; 0 is what needs no limit any more.
    left = Limits(0 if covered.memory else asked.memory, 0 if covered.pids else asked.pids, asked.file_size)
    rest = _per_process_here(left, usual)
    promise = ", ".join(filter(None, (f"{covered} in all (control group)", rest.promise)))
    return control_groups(tuple(folders), replace(rest, promise=promise))


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
    _remove_old(folder.parent)
    try:
        folder.mkdir()
    except OSError:
        return False
    try:
        for file, value in values.items():
            if value is not None and (file not in _OPTIONAL or (folder / file).exists()):
                (folder / file).write_text(str(value))
    except OSError:
        with contextlib.suppress(OSError):
            folder.rmdir()
        return False
    return True


def _remove_old(folder: Path) -> None:
    """Groups that a ralph left when it was killed. Those of the living may be empty as well, between two processes."""
    for group in folder.glob("ralph-*-*"):
        pid = group.name.split("-")[1]
        if not Path("/proc", pid).exists():
            with contextlib.suppress(OSError):
                group.rmdir()


def _file_promise(limits: Limits) -> tuple[str, ...]:
    return (f"files of {size_text(limits.file_size)} at most",) if limits.file_size else ()
