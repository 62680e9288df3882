"""One program through its keeper: a small process that the watcher forks, which starts it and adopts what it leaves.

It keeps no second one: its program knows its pid, may set limits and a priority for it, and the next would inherit them.
See ``watcher_main`` for the other side.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Sequence

from ralph.adapters.processes import adoption
from ralph.adapters.processes.inheritance import inherits_as_ours
from ralph.adapters.processes.nameless_file import nameless_copy
from ralph.adapters.processes.watcher_main import LONGEST_MESSAGE, receive
from ralph.values import dataclass

MESSAGE = 64
BEGIN_SECONDS = 2.0
"""A program that takes longer to begin was stopped, and is told to continue."""

Request = tuple[bytes, list[bytes], dict[bytes, bytes], bytes]
"""Program, arguments, environment and folder."""


class NoKeeper(Exception):
    """The watcher or the keeper was killed or stopped before the program was there."""


@dataclass(eq=False, slots=True)
class Keeper:
    """``control`` ends with whoever has the other end: the keeper by our death, we by the keeper's.

    ``root`` becomes the program when it is told on the ``gate`` which. ``refused`` is the errno for which there is no keeper.
    ``is_fresh``: of a watcher that was started for it, so that nobody could change what it passes on.
    """

    control: socket.socket
    is_fresh: bool = False
    pid: int = 0
    root: int = 0
    refused: int = 0
    gate: socket.socket | None = None

    async def start(self, request: Request, standard: Sequence[int], *, within: float) -> None:
        """Raises NoKeeper if nothing was started, or the OSError for which the program could not be.

        ``standard``: the program's own ends of its input, output and error.
        """
        adoption.expect_no_longer(self.has_answered)  # its answer is waited for here
        while not self.has_answered():
            await _until_readable(self.control, within)
        # It must be there, and the root not have been ended or changed.
        if self.gate is None or not self._is_silent:
            raise NoKeeper
        if not self.is_fresh and not inherits_as_ours(self.root):
            raise NoKeeper
        with self.gate as gate:
            _ask(gate, request, standard)
            # From here on there may be a program, also if it ends its keeper.
            said = await _next(gate, BEGIN_SECONDS)
            if said is None:
                _continue(self.root)
                said = await _next(gate, BEGIN_SECONDS)  # it may have lost its keeper meanwhile
        match said:
            case [b"error", number]:
                raise OSError(int(number), os.strerror(int(number)))
            case [b"lost"]:
                raise NoKeeper
            case _:  # the end of the socket: it has begun; or it is stopped again and again
                return

    def has_answered(self) -> bool:
        """It has said who it is, or why it is not there, or is gone. Does not wait."""
        if self.pid or self.refused:
            return True
        try:
            said, gates = receive(self.control, MESSAGE, 1)
        except BlockingIOError:
            return False
        except OSError:
            return True
        match said.split():
            case [b"ready", pid, root]:
                self.pid, self.root = int(pid), int(root)
                adoption.register_other(self.pid)
            case [b"error", number]:
                self.refused = int(number)
            case _:  # it is gone
                pass
        for gate in gates:
            self.gate = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, 0, fileno=gate)
            self.gate.setblocking(False)
        return True

    @property
    def _is_silent(self) -> bool:
        try:
            self.control.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def heard(self) -> tuple[int, bool] | None:
        """The program's wait status, and whether others are left. Raises ConnectionError if the keeper is gone."""
        try:
            said = self.control.recv(MESSAGE)
        except BlockingIOError:
            return None
        match said.split():
            case []:
                raise ConnectionResetError
            case [b"exit", status, others]:
                return int(status), others == b"1"
            case _:
                return None

    def release(self) -> None:
        """Whatever is left becomes our child."""
        self._say(b"b")

    def dismiss(self) -> None:
        """Nothing was started, nor will be."""
        if self.has_answered() and self.pid and self._is_silent:
            _continue(self.pid)  # a stopped one would not hear it
        self._say(b"e")

    def abandon(self) -> None:
        """The keeper ends whatever is left."""
        adoption.expect_no_longer(self.has_answered)
        if self.gate is not None:
            self.gate.close()
        self.control.close()
        if self.pid:
            adoption.release_other(self.pid)

    def _say(self, farewell: bytes) -> None:
        with contextlib.suppress(OSError):
            self.control.send(farewell)
        self.abandon()


def _continue(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def ask_for_keeper(watcher: socket.socket, *, is_fresh: bool = False) -> Keeper:
    """It says when it is there."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        try:
            ours.setblocking(False)
            socket.send_fds(watcher, [b"k"], [theirs.fileno()])
        except OSError as error:
            ours.close()
            raise NoKeeper from error
    return Keeper(ours, is_fresh)


def _ask(gate: socket.socket, request: Request, standard: Sequence[int]) -> None:
    message = encode_request(request)
    if len(message) <= LONGEST_MESSAGE:
        with contextlib.suppress(OSError):  # a system may allow shorter ones only
            socket.send_fds(gate, [message], standard)
            return
    try:
        file = nameless_copy("ralph", message)
        try:
            socket.send_fds(gate, [b"f"], [*standard, file])
        finally:
            os.close(file)
    except OSError as error:
        raise NoKeeper from error


def encode_request(request: Request) -> bytes:
    """The number of arguments, the program, the folder, the arguments, and the environment, each with a zero behind it. Raises
    ValueError if that would mean something else."""
    program, argv, environment, folder = request
    variables = [b"%b=%b" % each for each in environment.items()]
    words = (b"%d" % len(argv), program, folder, *argv, *variables, b"")
    message = b"\0".join(words)
    if message.count(b"\0") != len(words) - 1:
        error = "embedded null byte"
        raise ValueError(error)
    if any(b"=" in name or not name for name in environment):
        error = "illegal environment variable name"
        raise ValueError(error)
    return message


async def _next(gate: socket.socket, within: float) -> list[bytes] | None:
    """Nothing: the socket has ended. None: it says nothing."""
    try:
        async with asyncio.timeout(within):
            return (await asyncio.get_running_loop().sock_recv(gate, MESSAGE)).split()
    except TimeoutError:
        return None
    except ConnectionError:
        return []


async def _until_readable(control: socket.socket, within: float) -> None:
    """Raises NoKeeper if it is not for so long."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(control.fileno(), readable.set)
    try:
        async with asyncio.timeout(within):
            await readable.wait()
    except TimeoutError as error:
        raise NoKeeper from error
    finally:
        loop.remove_reader(control.fileno())
