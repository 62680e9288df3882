"""Starts one program: its pipes, its environment, and why it could not be started."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from ralph.adapters.files import write_all
from ralph.adapters.processes import adoption
from ralph.adapters.processes.adoption import Spawn
from ralph.adapters.processes.descendants import RUN_VARIABLE, SPAWN_VARIABLE
from ralph.adapters.processes.keeper import Keeper
from ralph.adapters.processes.nameless_file import make_nameless, seal
from ralph.adapters.processes.process_table import LINUX
from ralph.adapters.processes.watcher import Watcher
from ralph.adapters.search_path import find_program
from ralph.engine.ports import Command
from ralph.values import dataclass

if sys.platform != "win32":
    import fcntl

PIPE_SIZE = 1024 * 1024
_COPIED_AT_ONCE = 1024 * 1024
_ENCODING, _ERRORS = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()
Find = Callable[[str], str | None]
"""Where the program of a name is; None: nowhere."""


@dataclass(frozen=True, slots=True)
class Birth:
    """What is known before there is a process. ``stdin``, ``stdout`` and ``stderr`` are its own ends."""

    program: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path
    stdin: int
    stdout: int
    stderr: int


@dataclass(eq=False, slots=True)
class Child:
    """Who tells how the process ended: its keeper, or the system if it is our own child."""

    keeper: Keeper | None = None
    is_reaped: bool = False


@dataclass(frozen=True, slots=True)
class Started:
    """``stdout`` and ``stderr`` are the ends we read from, not blocking; ``stderr`` is None when merged. ``stdin`` is
    the end we write to, if it converses."""

    spawn: Spawn
    child: Child
    stdout: int
    stderr: int | None
    stdin: int | None = None


class CannotStart(Exception):
    """Never leaves this folder: the runner turns it into an Exit."""


async def start(
    command: Command,
    *,
    run_id: str,
    environment: Mapping[str, str],
    watcher: Watcher | None,
    find: Find | None = None,
) -> Started:
    """In a session of its own, marked, its output on enlarged pipes; by the ``watcher`` if there is one.

    ``find`` instead of PATH: for our own programs.
    """
    if not command.argv:
        message = "cannot run an empty command"
        raise CannotStart(message)
    environment = {**environment, **command.environment}
    ours: list[int] = []
    theirs: list[int] = []
    try:
        program = _find_program(command.argv[0], environment, find)
        writing, stdin = _socket(ours, theirs) if command.converses else (None, _open_stdin(command, theirs))
        stdout, stdout_end = (_socket if command.private_output else _pipe)(ours, theirs)
        stderr, stderr_end = (None, stdout_end) if command.merge_stderr else _pipe(ours, theirs)
        spawn_id = adoption.next_spawn_id(run_id)
        marks = {"PWD": os.fspath(command.cwd.absolute()), RUN_VARIABLE: run_id, SPAWN_VARIABLE: spawn_id}
        birth = Birth(
            program, command.argv, {**environment, **marks}, command.cwd, stdin, stdout_end, stderr_end
        )
        if watcher is not None and LINUX:
            spawn, child = await _start_kept(birth, spawn_id, watcher)
        else:
            spawn, child = _start_directly(birth, spawn_id)
    except BaseException as error:
        _close(ours)
        if isinstance(error, OSError | ValueError):
            raise CannotStart(_why_not(command, error)) from error
        raise
    finally:
        _close(theirs)
    return Started(spawn, child, stdout, stderr, writing)


def _close(descriptors: Iterable[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _start_directly(birth: Birth, spawn_id: str) -> tuple[Spawn, Child]:
    with adoption.birth_lock:
        adoption.adopt_orphans()
        adoption.expect_birth()
        process = subprocess.Popen(
            birth.argv,
            executable=birth.program,
            stdin=birth.stdin,
            stdout=birth.stdout,
            stderr=birth.stderr,
            cwd=birth.folder,
            env=birth.environment,
            start_new_session=True,
        )
        process.returncode = 0  # its status is taken by us
        spawn = Spawn(spawn_id, process.pid, time.monotonic())
        adoption.register(spawn)
    return spawn, Child()


async def _start_kept(birth: Birth, spawn_id: str, watcher: Watcher) -> tuple[Spawn, Child]:
    adoption.adopt_orphans()  # of a keeper that is killed
    request = (
        os.fsencode(birth.program),
        [_encode(word) for word in birth.argv],
        {_encode(name): _encode(value) for name, value in birth.environment.items()},
        os.fsencode(birth.folder.absolute()),
    )
    with adoption.birth_lock:
        adoption.expect_birth()
    keeper = await watcher.start(request, (birth.stdin, birth.stdout, birth.stderr))
    spawn = Spawn(spawn_id, keeper.root, time.monotonic(), keeper=keeper.pid)
    adoption.register(spawn)
    return spawn, Child(keeper)


def _encode(word: str) -> bytes:
    """As ``os.fsencode`` does, which also takes paths: an environment has a hundred words."""
    return word.encode(_ENCODING, _ERRORS)


def _find_program(name: str, environment: Mapping[str, str], find: Find | None) -> str:
    """Look it up before the child does: exec reports "permission denied" for any command if one folder of PATH may
    not be searched."""
    if os.sep in name:
        return name
    path = environment.get("PATH", os.defpath)
    found = find_program(name, path) if find is None else find(name)
    if found is None and find is None:
        found = find_program(name, path, mode=os.F_OK)  # exec will say what is wrong with it
    if found is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    # PATH may have a relative folder, and the child is in another one. Not abspath: in `link/..` the system follows the link first.
    return found if found.startswith(os.sep) else f"{os.getcwd()}/{found}"  # noqa: PTH109


def _open_stdin(command: Command, theirs: list[int]) -> int:
    try:
        descriptor = os.open(os.devnull, os.O_RDONLY) if command.stdin is None else _copy(command.stdin)
    except OSError as error:
        message = f"cannot run {command.argv[0]}: its input {command.stdin} cannot be read: {error.strerror}"
        raise CannotStart(message) from error
    theirs.append(descriptor)
    return descriptor


def _copy(path: Path) -> int:
    """What we recorded must not be what the child holds: its owner can open /proc/<pid>/fd/0 again, for writing.

    The copy has no name. On Linux it is sealed as well, so that nothing inside can change a prompt that is not read yet.
    """
    source = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        descriptor = make_nameless("stdin")
        try:
            while block := os.read(source, _COPIED_AT_ONCE):
                write_all(descriptor, block)
            os.lseek(descriptor, 0, os.SEEK_SET)
        except BaseException:
            os.close(descriptor)
            raise
    finally:
        os.close(source)
    with contextlib.suppress(OSError):
        seal(descriptor)
    return descriptor


def _pipe(ours: list[int], theirs: list[int]) -> tuple[int, int]:
    reading, writing = os.pipe()
    ours.append(reading)
    theirs.append(writing)
    os.set_blocking(reading, False)
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # the user's share of pipe memory may be used up
            fcntl.fcntl(reading, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
    return reading, writing


def _socket(ours: list[int], theirs: list[int]) -> tuple[int, int]:
    """Unlike a pipe it cannot be opened as /proc/<pid>/fd/1, where a tool of an agent could write what the agent says;
    nor as fd/0, where it could answer for us."""
    mine, other = (end.detach() for end in socket.socketpair())
    ours.append(mine)
    theirs.append(other)
    os.set_blocking(mine, False)
    return mine, other


def _why_not(command: Command, error: OSError | ValueError) -> str:
    program = command.argv[0]
    if not isinstance(error, OSError):
        return f"cannot run {program}: {error}"
    if not command.cwd.is_dir():
        return (
            f"cannot run {program}: the working directory {command.cwd} does not exist or is not a directory"
        )
    path = command.cwd / program
    is_path = os.sep in program
    match error.errno:
        case errno.ENOENT if is_path and path.exists():
            return f"cannot run {program}: the interpreter named in its first line does not exist"
        case errno.ENOENT if is_path:
            return f"cannot run {program}: no such file"
        case errno.ENOENT | errno.ENOTDIR:
            return f"cannot run {program}: command not found; install it or correct PATH"
        case errno.EACCES if is_path and path.is_dir():
            return f"cannot run {program}: it is a directory"
        case errno.EACCES:
            return f"cannot run {program}: permission denied; make it executable (chmod +x)"
        case errno.ENOEXEC:
            return f"cannot run {program}: not a program; a script needs a first line like #!/bin/sh"
        case errno.E2BIG:
            size = sum(map(len, command.argv))
            return f"cannot run {program}: its arguments are too long ({size} characters); use a file or standard input"
        case _:
            return f"cannot run {program}: {error.strerror or error}"
