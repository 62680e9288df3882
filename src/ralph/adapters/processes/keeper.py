"""One program through its keeper: a small process that the watcher forks, which starts it and adopts what it leaves.

See ``watcher_main`` for the other side.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Sequence

from ralph.adapters.processes import adoption
from ralph.adapters.processes.nameless_file import open_nameless
from ralph.values import dataclass

MESSAGE = 64
BEGIN_SECONDS = 2.0
"""A keeper that takes longer to say that its program has begun was stopped."""

Request = tuple[bytes, list[bytes], dict[bytes, bytes], bytes]
"""Program, arguments, environment and folder."""


class NoKeeper(Exception):
    """The watcher or the keeper was killed or stopped before the program was there."""


@dataclass(eq=False, slots=True)
class Keeper:
    """``control`` ends with whoever has the other end: the keeper by our death, we by the keeper's."""

    control: socket.socket
    pid: int = 0
    root: int = 0

    async def started(self, *, within: float) -> None:
        """Raises NoKeeper if nothing was started, or the OSError for which the program could not be."""
        kind, *numbers = await self._next(within) or [b""]
        if kind != b"start":
            raise NoKeeper
        self.pid, self.root = map(int, numbers)
        adoption.register_other(self.pid)
        # From here on there is a program, also if it ends its keeper before that could say so.
        said = await self._next(BEGIN_SECONDS)
        if said and said[0] == b"error":
            raise OSError(int(said[1]), os.strerror(int(said[1])))

    async def _next(self, within: float) -> list[bytes]:
        try:
            async with asyncio.timeout(within):
                return (await asyncio.get_running_loop().sock_recv(self.control, MESSAGE)).split()
        except (TimeoutError, ConnectionError):
            return []

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
        with contextlib.suppress(OSError):
            self.control.send(b"b")
        self.abandon()

    def abandon(self) -> None:
        """The keeper ends whatever is left."""
        self.control.close()
        if self.pid:
            adoption.release_other(self.pid)


def ask_for_keeper(watcher: socket.socket, request: Request, standard: Sequence[int]) -> Keeper:
    """``standard``: the program's own ends of its input, output and error."""
    import marshal

    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        try:
            ours.setblocking(False)
            # A pipe may be too small for an environment.
            with open_nameless("ralph") as file:
                marshal.dump(request, file)
                file.flush()
                file.seek(0)
                socket.send_fds(watcher, [b"k"], [theirs.fileno(), file.fileno(), *standard])
        except OSError as error:
            ours.close()
            raise NoKeeper from error
    return Keeper(ours)
