"""One bus: a file that many processes append to. No message is lost, torn or mixed, even if a writer dies."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ralph.adapters import beneath
from ralph.adapters.files import PRIVATE_FILE
from ralph.domain.supervision.message import (
    MAX_BODY_CHARS,
    BusMessage,
    BusProblem,
    BusReading,
    message_id,
    parse_bus,
    problem_with,
    render_message,
)
from ralph.errors import StoreError, UsageError

if sys.platform != "win32":
    import fcntl

LOCK_SECONDS = 10.0
READ_LOCK_SECONDS = 2.0
PIECE_BYTES = 8 * MAX_BODY_CHARS
"""More than the longest message takes."""
_LOOK_AGAIN = 0.002
_LONGEST_LOOK = 0.05


def new_message(
    kind: str, body: str, *, project: str, task: str, run: str, parents: tuple[str, ...] = (), now: float
) -> BusMessage:
    """Not posted yet. Raises UsageError for an invalid one."""
    at = round(now, 6)
    about = {"project": project, "task": task, "run": run}
    message = BusMessage(
        id=message_id(at, os.urandom(4)), time=at, type=kind, body=body, parents=parents, **about
    )
    if problem := problem_with(message):
        raise UsageError(problem[0], hint=problem[1])
    return message


class MessageBus:
    """``TASK-MESSAGE-BUS.md`` or ``PROJECT-MESSAGE-BUS.md``. Only ever appended to, under a lock on the file."""

    def __init__(
        self, path: Path, *, lock_seconds: float = LOCK_SECONDS, now: Callable[[], float] = time.time
    ) -> None:
        self.path = path
        # Where it is now: a link that an agent puts in its folder's place later is not followed.
        self._place = Path(os.path.realpath(path.parent), path.name)
        self._lock_seconds = lock_seconds
        self._now = now

    def post(
        self,
        kind: str,
        body: str,
        *,
        project: str = "",
        task: str = "",
        run: str = "",
        parents: tuple[str, ...] = (),
    ) -> BusMessage:
        """Append a message. Raises UsageError for an invalid one, StoreError if it cannot be written."""
        message = new_message(
            kind, body, project=project, task=task, run=run, parents=parents, now=self._now()
        )
        self.forward(message)
        return message

    def forward(self, message: BusMessage) -> None:
        """Append a valid message that was made elsewhere."""
        with _bus_errors(self.path):
            self._append(render_message(message))

    def read(self, offset: int = 0, *, limit: int | None = None) -> BusReading:
        """The messages from ``offset`` on, at most ``limit`` bytes. A bus that nobody has posted to is empty."""
        try:
            with _bus_errors(self.path):
                descriptor = self._open_file(os.O_RDONLY)
        except StoreError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return BusReading()
            raise
        with _bus_errors(self.path), _closing(descriptor):
            _require_file(descriptor, self.path)
            # Without the lock the newest message may look torn only because it is being written.
            is_locked = _lock(descriptor, shared=True, seconds=READ_LOCK_SECONDS)
            size = os.fstat(descriptor).st_size
            if offset > size:
                offset = 0  # the file was replaced by a shorter one
            is_cut = limit is not None and size - offset > limit
            data = _read_from(descriptor, offset, limit if is_cut else None)
        if is_cut:
            return _cut_short(data, offset)
        reading = parse_bus(data, offset=offset)
        if not is_locked:
            reading.torn_tail = None
        return reading

    def read_piece(self, offset: int) -> BusReading:
        """No more than memory can easily hold."""
        return self.read(offset, limit=PIECE_BYTES)

    def end(self) -> int:
        """Where the next message will begin."""
        try:
            return self.path.lstat().st_size
        except OSError:
            return 0

    def _append(self, block: bytes) -> None:
        with self._open() as descriptor:
            size = os.fstat(descriptor).st_size
            # A writer that died in the middle of a message left half a line: ours begins on a line of its own.
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                block = b"\n" + block
            try:
                written = 0
                while written < len(block):
                    written += os.write(descriptor, block[written:])
            except BaseException:
                with contextlib.suppress(OSError):  # all or nothing, even on a full disk
                    os.ftruncate(descriptor, size)
                raise

    @contextmanager
    def _open(self) -> Iterator[int]:
        """Open for appending, and locked."""
        while True:
            with _closing(self._open_file(os.O_RDWR | os.O_APPEND | os.O_CREAT)) as descriptor:
                _require_file(descriptor, self.path)
                if not _lock(descriptor, shared=False, seconds=self._lock_seconds):
                    message = f"{self.path} is locked by another process"
                    raise StoreError(message, hint="wait for it to finish, or look for a stuck process")
                if self._is_still(descriptor):
                    yield descriptor
                    return

    def _open_file(self, flags: int) -> int:
        """Not through a link: an agent could point it anywhere."""
        flags |= os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        with beneath.parent_of(self._place) as (folder, name):
            return os.open(name, flags, PRIVATE_FILE, dir_fd=folder)

    def _is_still(self, descriptor: int) -> bool:
        """The file may have been replaced while we waited for the lock."""
        try:
            there = self.path.lstat()
        except FileNotFoundError:
            return False
        ours = os.fstat(descriptor)
        return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)


def _lock(descriptor: int, *, shared: bool, seconds: float) -> bool:
    """False if another process held it all that time, or the file system has no locks."""
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    give_up = time.monotonic() + seconds
    pause = _LOOK_AGAIN
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES, errno.EINTR):
                if shared:
                    return False
                raise
        else:
            return True
        if time.monotonic() >= give_up:
            return False
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_LOOK)


@contextmanager
def _closing(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)  # releases the lock, too


def _read_from(descriptor: int, offset: int, limit: int | None) -> bytes:
    pieces: list[bytes] = []
    left = limit if limit is not None else sys.maxsize
    while piece := os.pread(descriptor, min(1 << 20, left), offset):
        pieces.append(piece)
        offset += len(piece)
        left -= len(piece)
    return b"".join(pieces)


def _cut_short(data: bytes, offset: int) -> BusReading:
    """The whole messages in a piece that is not the end of the bus."""
    reading = parse_bus(data[: data.rfind(b"\n") + 1], offset=offset)
    reading.torn_tail = None
    reading.has_more = True
    if reading.settled == offset:  # no message is that long
        reading.settled = offset + len(data)
        reading.problems.append(BusProblem(offset, f"{len(data)} bytes that are not a message were skipped"))
    return reading


def _require_file(descriptor: int, path: Path) -> None:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        message = f"the message bus {path} is not a file"
        raise StoreError(message, hint="move it away; ralph makes a new one")


@contextmanager
def _bus_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno == errno.ELOOP:
            message = f"the message bus {path} is a symbolic link"
            hint = "move it away; ralph writes only to its own file"
        elif error.errno == errno.EISDIR:
            message = f"the message bus {path} is a directory"
            hint = "move it away; ralph makes a file there"
        else:
            message = f"cannot use the message bus {path}: {error.strerror or error}"
            hint = "check that its folder exists and is writable, and the free space"
        raise StoreError(message, hint=hint) from error
