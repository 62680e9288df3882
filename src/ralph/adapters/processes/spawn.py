"""Starts one program: its pipes, its environment, and why it could not be started."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass

from ralph.adapters.processes import adoption
from ralph.adapters.processes.adoption import Spawn
from ralph.adapters.processes.descendants import RUN_VARIABLE, SPAWN_VARIABLE
from ralph.engine.ports import Command

if sys.platform != "win32":
    import fcntl

PIPE_SIZE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Started:
    """``stdout`` and ``stderr`` are the ends we read from, not blocking; ``stderr`` is None when merged."""

    spawn: Spawn
    process: subprocess.Popen[bytes]
    stdout: int
    stderr: int | None


class CannotStart(Exception):
    """Never leaves this folder: the runner turns it into an Exit."""


def start(command: Command, *, run_id: str, environment: Mapping[str, str]) -> Started:
    """In a session of its own, marked, its output on enlarged pipes."""
    if not command.argv:
        message = "cannot run an empty command"
        raise CannotStart(message)
    environment = {**environment, **command.environment}
    with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
        try:
            program = _find_program(command.argv[0], environment)
            stdin = _open_stdin(command, theirs)
            stdout, stdout_end = _pipe(ours, theirs)
            stderr, stderr_end = (None, subprocess.STDOUT) if command.merge_stderr else _pipe(ours, theirs)
            with adoption.birth_lock:
                adoption.adopt_orphans()
                adoption.expect_birth()
                spawn_id = adoption.next_spawn_id(run_id)
                pwd = os.fspath(command.cwd.absolute())
                process = subprocess.Popen(
                    command.argv,
                    executable=program,
                    stdin=stdin,
                    stdout=stdout_end,
                    stderr=stderr_end,
                    cwd=command.cwd,
                    env={**environment, "PWD": pwd, RUN_VARIABLE: run_id, SPAWN_VARIABLE: spawn_id},
                    start_new_session=True,
                )
                spawn = Spawn(spawn_id, process.pid, time.monotonic())
                adoption.register(spawn)
        except (OSError, ValueError) as error:
            raise CannotStart(_why_not(command, error)) from error
        ours.pop_all()
    return Started(spawn, process, stdout, stderr)


def _find_program(name: str, environment: Mapping[str, str]) -> str:
    """Look it up before the child does: exec reports "permission denied" for any command if one folder of PATH may
    not be searched."""
    if os.sep in name:
        return name
    path = environment.get("PATH", os.defpath)
    found = shutil.which(name, path=path)
    if found is None and shutil.which(name, os.F_OK, path) is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    return found or name


def _open_stdin(command: Command, theirs: contextlib.ExitStack) -> int:
    if command.stdin is None:
        return subprocess.DEVNULL
    try:
        descriptor = os.open(command.stdin, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        message = f"cannot run {command.argv[0]}: its input {command.stdin} cannot be read: {error.strerror}"
        raise CannotStart(message) from error
    theirs.callback(os.close, descriptor)
    return descriptor


def _pipe(ours: contextlib.ExitStack, theirs: contextlib.ExitStack) -> tuple[int, int]:
    reading, writing = os.pipe()
    ours.callback(os.close, reading)
    theirs.callback(os.close, writing)
    os.set_blocking(reading, False)
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # the user's share of pipe memory may be used up
            fcntl.fcntl(reading, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
    return reading, writing


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
