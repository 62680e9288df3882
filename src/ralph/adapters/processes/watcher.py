"""A small process beside each ralph that starts the programs of its runs, and cleans up if ralph is killed."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Self

from ralph.adapters.processes import adoption
from ralph.adapters.processes.keeper import Keeper, NoKeeper, Request, ask_for_keeper
from ralph.adapters.processes.open_files import restore_limits
from ralph.adapters.processes.process_table import LINUX
from ralph.adapters.processes.watcher_main import end_run_processes
from ralph.adapters.processes.watcher_program import WatcherProgram, watcher_programs
from ralph.errors import OutOfMemory, RalphError, TooManyFiles, TooManyProcesses

__all__ = ["Watcher", "can_start", "end_run_processes", "start_watcher"]

_TRIED = "tried"
"""No run is called so."""
ANSWER_SECONDS = 10.0
"""A watcher that takes longer to start a program was stopped or killed; there will be another one."""


class Watcher:
    """Holds the socket whose end tells the watcher that ralph was killed; ``close`` tells it that ralph has finished.

    A keeper is asked for ahead, at first and as soon as a program has begun, so that the next one is spared two forks: one for
    all who share this watcher, because most of their time agents work.
    """

    def __init__(self, run_id: str, programs: Sequence[WatcherProgram]) -> None:
        """Returns before the watcher is ready: the socket keeps what it is asked and watches for.

        ``programs``: the first is taken that can be started and does what it is asked.
        """
        self._run_ids = [run_id]
        self._programs = programs
        self._has_worked = False
        self._process, self._channel = _start(self._run_ids, programs)
        self._spare: list[Keeper] = []
        self._is_open = True
        if LINUX:  # elsewhere there are no keepers
            self._ask_ahead()

    @property
    def pid(self) -> int:
        return self._process.pid

    async def start(self, request: Request, standard: Sequence[int]) -> Keeper:
        """The program of the request, started. Raises OSError if it cannot be, or a RalphError if nothing can."""
        refused = 0
        for keeper in self._keepers():
            try:
                await keeper.start(request, standard, within=ANSWER_SECONDS)
            except NoKeeper:  # an agent may kill or change what it finds
                refused = keeper.refused
                keeper.abandon()
            except BaseException:
                keeper.abandon()
                self._ask_ahead()
                raise
            else:
                self._has_worked = True
                self._ask_ahead()
                return keeper
        if refused:
            raise _why_not(OSError(refused, os.strerror(refused)))
        message = "the process that is to watch over it is killed again and again"
        raise OSError(0, message)

    def _keepers(self) -> Iterator[Keeper]:
        """The spare one, one of this watcher, one of another."""
        asked, has_answered = self._channel, True
        if self._spare:
            spare = self._spare.pop()
            yield spare
            has_answered = bool(spare.pid or spare.refused)
        if has_answered:  # else this watcher would not answer again
            with contextlib.suppress(NoKeeper):
                keeper = ask_for_keeper(asked)
                yield keeper
                if keeper.refused:  # as another watcher would be
                    return
        if self._channel is asked:  # else somebody else has noticed, and there is another one
            self._replace()
        with contextlib.suppress(NoKeeper):
            yield ask_for_keeper(self._channel, is_fresh=True)

    def _ask_ahead(self) -> None:
        if self._is_open and not self._spare:
            with contextlib.suppress(NoKeeper, OSError):  # the next start will see to it
                keeper = ask_for_keeper(self._channel)
                adoption.expect_other(keeper.has_answered)
                self._spare.append(keeper)

    def _replace(self) -> None:
        """It was killed, stopped or changed: the next one gets the whole list. Or it never did anything: another program may."""
        self._leave()
        if not self._has_worked:
            self._programs = self._programs[1:] or self._programs
        self._process, self._channel = _start(self._run_ids, self._programs)

    @contextlib.contextmanager
    def shared_by(self, run_id: str) -> Iterator[Watcher]:
        """For a run that is a part of the one it was started for, in the same process: hundreds need no more than one."""
        if not LINUX:  # its socket would not keep our messages apart
            with start_watcher(run_id, self._programs) as own:
                yield own
            return
        self._run_ids.append(run_id)
        try:
            if not self._say(f"+{run_id}"):
                self._replace()
            yield self
        finally:
            self._run_ids.remove(run_id)
            self._say(f"-{run_id}")  # if it does not hear this, it looks in vain for what is over

    def _say(self, words: str) -> bool:
        """Not if it was killed, or was stopped so long that its socket is full."""
        try:
            self._channel.send(os.fsencode(words))
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Does not wait: the watcher may still be starting."""
        if self._is_open:
            self._is_open = False
            self._leave()

    def _leave(self) -> None:
        while self._spare:
            self._spare.pop().dismiss()
        if self._say("b"):
            self._process.send_signal(signal.SIGCONT)  # a stopped one would not hear it
        else:
            self._process.kill()  # else, once it is continued, it would end runs that go on
        self._channel.close()
        if self._process.poll() is None:
            self._process.returncode = 0  # reaped with the orphans, or by init after us
        adoption.release_other(self.pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def start_watcher(run_id: str, programs: Sequence[WatcherProgram] = ()) -> Watcher:
    """``programs``: instead of those of this installation."""
    if os.name != "posix":
        message = f"the watcher is not supported on this system ({os.name})"
        raise RalphError(message, hint="use Linux, macOS or the Windows Subsystem for Linux")
    return Watcher(run_id, programs or watcher_programs())


def can_start(program: WatcherProgram) -> bool:
    """Whether this system lets it do its work: some refuse to run what is no file of their own."""
    try:
        process, channel = _start([_TRIED], [program])
    except RalphError:
        return False
    try:
        with channel, contextlib.suppress(OSError):  # it is gone already
            gives_keepers = not LINUX or _gives_keeper(channel)
            channel.send(b"b")
        return process.wait(ANSWER_SECONDS) == 0 and gives_keepers
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return False
    finally:
        adoption.release_other(process.pid)


def _gives_keeper(channel: socket.socket) -> bool:
    import select

    try:
        keeper = ask_for_keeper(channel)
    except NoKeeper:
        return False
    select.select([keeper.control], [], [], ANSWER_SECONDS)
    given = keeper.has_answered() and keeper.pid != 0
    keeper.dismiss()
    return given


def _start(
    run_ids: Sequence[str], programs: Sequence[WatcherProgram]
) -> tuple[subprocess.Popen[bytes], socket.socket]:
    # Neither end is inherited by any other child. Only Linux has sockets that keep messages apart and say when they end.
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET if LINUX else socket.SOCK_STREAM)
    try:
        with theirs, adoption.birth_lock:
            process = _start_first(programs, run_ids, theirs.fileno())
            adoption.register_other(process.pid)
            restore_limits(process.pid)
    except OSError as error:
        ours.close()
        raise _why_not(error) from error
    ours.setblocking(False)
    return process, ours


def _why_not(error: OSError) -> RalphError:
    match error.errno:
        case errno.EAGAIN:
            return TooManyProcesses()
        case errno.EMFILE | errno.ENFILE:
            return TooManyFiles()
        case errno.ENOMEM:
            return OutOfMemory()
        case _:
            python = sys.executable or "an unknown Python"
            return RalphError(f"cannot start the watcher with {python}: {error.strerror}")


def _start_first(
    programs: Sequence[WatcherProgram], run_ids: Sequence[str], channel: int
) -> subprocess.Popen[bytes]:
    """The first that can be started."""
    *others, last = programs
    for program in others:
        with contextlib.suppress(OSError):
            return program.start(run_ids, channel)
    return last.start(run_ids, channel)
