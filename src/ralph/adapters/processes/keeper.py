"""One program through its keeper: a small process that the watcher forks, which starts it and adopts what it leaves.

See ``watcher_main`` for the other side.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Callable, Sequence

from ralph.adapters.files import write_all
from ralph.adapters.processes import adoption
from ralph.adapters.processes.nameless_file import make_nameless
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

    ``take_back`` says whether it wants a keeper whose program has ended and left nothing. ``root`` becomes the program.
    """

    control: socket.socket
    take_back: Callable[[Keeper], bool]
    pid: int = 0
    root: int = 0
    is_idle: bool = False

    async def start(self, request: Request, standard: Sequence[int], *, within: float) -> None:
        """Raises NoKeeper if nothing was started, or the OSError for which the program could not be.

        ``standard``: the program's own ends of its input, output and error.
        """
        with await self._gate(within) as gate:
            self._ask(gate, request, standard)
            # From here on there may be a program, also if it ends its keeper.
            said = await _next(gate, BEGIN_SECONDS)
        match said:
            case None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.root, signal.SIGCONT)
            case [b"error", number]:
                raise OSError(int(number), os.strerror(int(number)))
            case [b"lost"]:
                raise NoKeeper
            case _:  # the end of the socket: it has begun
                return

    async def _gate(self, within: float) -> socket.socket:
        """On which the root waits. Its keeper must be there, and the root not have been ended."""
        while True:
            try:
                said, gates = receive(self.control, MESSAGE, 1)
                break
            except BlockingIOError:
                await _until_readable(self.control, within)
            except OSError as error:
                raise NoKeeper from error
        if not gates:
            raise NoKeeper
        gate = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, 0, fileno=gates[0])
        gate.setblocking(False)
        _, pid, root = said.split()
        self.root = int(root)
        if int(pid) != self.pid:
            self.pid = int(pid)
            adoption.register_other(self.pid)
        if not self._is_silent:
            gate.close()
            raise NoKeeper
        return gate

    @property
    def _is_silent(self) -> bool:
        try:
            self.control.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def _ask(self, gate: socket.socket, request: Request, standard: Sequence[int]) -> None:
        import marshal

        self.is_idle = False
        message = marshal.dumps(request)
        if len(message) <= LONGEST_MESSAGE:
            with contextlib.suppress(OSError):  # a system may allow shorter ones only
                socket.send_fds(gate, [message], standard)
                return
        try:
            file = make_nameless("ralph")
            try:
                write_all(file, message)
                socket.send_fds(gate, [b"f"], [*standard, file])
            finally:
                os.close(file)
        except OSError as error:
            raise NoKeeper from error

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
                self.is_idle = others == b"0"
                return int(status), not self.is_idle
            case _:
                return None

    def release(self) -> None:
        """Whatever is left becomes our child."""
        if self.is_idle and self.take_back(self):
            return
        with contextlib.suppress(OSError):
            self.control.send(b"b")
        self.abandon()

    def abandon(self) -> None:
        """The keeper ends whatever is left."""
        self.control.close()
        if self.pid:
            adoption.release_other(self.pid)


def ask_for_keeper(watcher: socket.socket, take_back: Callable[[Keeper], bool]) -> Keeper:
    """It says when it is there."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        try:
            ours.setblocking(False)
            socket.send_fds(watcher, [b"k"], [theirs.fileno()])
        except OSError as error:
            ours.close()
            raise NoKeeper from error
    return Keeper(ours, take_back)


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
