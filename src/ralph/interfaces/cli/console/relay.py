"""stdout and stderr of a run, written by threads: a reader that does not read holds nothing up.

A pipe that nobody empties and a terminal that was stopped (Ctrl-S) hold whoever writes to them, for ever if need be. Here
only a thread is held, and what it has not written yet waits in a queue of bounded size.
"""

from __future__ import annotations

import io
import os
import select
import stat
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO, cast

from ralph.domain.text.figures import plural
from ralph.interfaces.cli.terminal import is_terminal, same_place

QUEUE_BYTES = 8 * 1024 * 1024
"""Of the agent's words; ralph's own lines have as much again, so no flood of words leaves them out."""

PIECE = 64 * 1024
TERMINAL_PIECE = 4 * 1024
"""Written at once: a terminal is slow, and only a whole piece shows that it is being read."""

STALLED_SECONDS = 0.5
LONGEST_WAIT = 0.9
"""A full queue waits this long for a reader that reads, so that nothing is lost; then the run comes first."""

PATIENCE = 30.0
"""At the end, how long to wait for a reader that does not read."""

HURRY = 1.0
"""As above, if the run was stopped: somebody waits for its end."""

Note = Callable[[int], str]
"""What to say in place of so many lines."""


def left_out(lines: int) -> str:
    return f"… {plural(lines, 'line')} left out: nobody read them in time (`ralph logs` shows them)\n"


class Relay:
    """Puts itself before ``sys.stdout`` and ``sys.stderr``; ``hurry`` makes the end short."""

    def __init__(self) -> None:
        self._patience = PATIENCE

    def hurry(self) -> None:
        self._patience = HURRY

    @contextmanager
    def streams(self, *, out_note: Note = left_out) -> Iterator[None]:
        out, err = sys.stdout, sys.stderr
        for stream in (out, err):
            stream.flush()
        place = _Place()
        new_out = _Relayed(out, place, out_note) if _may_hold(out) else None
        if not same_place(out, err):
            place = _Place()
        new_err = _Relayed(err, place, left_out) if _may_hold(err) else None
        relayed = [stream for stream in (new_out, new_err) if stream is not None]
        sys.stdout, sys.stderr = cast(TextIO, new_out or out), cast(TextIO, new_err or err)
        try:
            yield
        except BaseException:
            self.hurry()
            raise
        finally:
            sys.stdout, sys.stderr = out, err
            give_up_at = time.monotonic() + self._patience
            for stream in relayed:
                stream.finish(self._patience, give_up_at)
            unread = sum(stream.left_out for stream in relayed)
            if unread and not (new_err and new_err.is_held):
                print(f"ralph: {left_out(unread).removeprefix('… ').rstrip()}", file=err)


def _may_hold(stream: TextIO) -> bool:
    """Files do not: what is written to them is written."""
    try:
        mode = os.fstat(stream.fileno()).st_mode
    except (AttributeError, OSError, ValueError):  # in memory, or closed
        return False
    return not stat.S_ISREG(mode) and (not stat.S_ISCHR(mode) or is_terminal(stream))


class _Place:
    """One pipe or terminal, in which stdout and stderr may meet: a queue, and a thread that empties it in order."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queue: deque[tuple[_Relayed, bytes]] = deque()
        self._bytes = 0
        self._moved_at = 0.0
        self._skips = {True: False, False: False}  # the agent's words, ralph's own lines
        self._thread: threading.Thread | None = None

    def put(self, stream: _Relayed, data: bytes, *, chatter: bool) -> None:
        with self._changed:
            if self._has_room(chatter=chatter):
                self._tell_left_out(stream)
                self._add(stream, data)
            else:
                stream.left_out += data.count(b"\n") or 1

    @property
    def is_busy(self) -> bool:
        return bool(self._queue)

    def drain(self, stream: _Relayed, patience: float, give_up_at: float) -> bool:
        """Wait until all is written; False if nothing was for so long. Then its remaining lines are left out."""
        with self._changed:
            self._tell_left_out(stream)
            while self._queue:
                left = max(give_up_at, self._moved_at + patience) - time.monotonic()
                if left <= 0:
                    lines = (data.count(b"\n") or 1 for owner, data in self._queue if owner is stream)
                    stream.left_out += sum(lines)
                    return False
                self._changed.wait(left)
            return True

    def _tell_left_out(self, stream: _Relayed) -> None:
        if stream.left_out:
            note = stream.note(stream.left_out).encode(stream.encoding, "backslashreplace")
            self._add(stream, note if stream.is_at_line_start else b"\n" + note)
            stream.left_out = 0

    def _has_room(self, *, chatter: bool) -> bool:
        limit = QUEUE_BYTES if chatter else 2 * QUEUE_BYTES
        if self._skips[chatter]:
            # Not at the first free byte: a reader that is slower than the agent would get a note after every line.
            self._skips[chatter] = self._bytes > limit // 2
        give_up_at = time.monotonic() + LONGEST_WAIT
        while self._bytes > limit and not self._skips[chatter]:
            left = min(give_up_at, self._moved_at + STALLED_SECONDS) - time.monotonic()
            if left > 0:
                self._changed.wait(left)
            else:
                self._skips[chatter] = True
        return not self._skips[chatter]

    def _add(self, stream: _Relayed, data: bytes) -> None:
        if not self._queue:
            self._moved_at = time.monotonic()
        self._queue.append((stream, data))
        self._bytes += len(data)
        stream.is_at_line_start = data.endswith(b"\n")
        if self._thread is None:
            # A daemon: the process ends although it is still held.
            self._thread = threading.Thread(target=self._empty, name="ralph-output", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def _empty(self) -> None:
        while True:
            with self._changed:
                while not self._queue:
                    self._changed.wait()
                stream, data = self._queue[0]
            for start in range(0, len(data), stream.piece):
                piece = data[start : start + stream.piece]
                stream.write_piece(piece)
                with self._changed:
                    self._bytes -= len(piece)
                    self._moved_at = time.monotonic()
                    self._changed.notify_all()
            with self._changed:
                self._queue.popleft()
                self._changed.notify_all()


class _Relayed(io.TextIOBase):
    """In place of one stream. Raises as that stream would once its reader is gone, if a write later."""

    def __init__(self, stream: TextIO, place: _Place, note: Note) -> None:
        self._place = place
        self._descriptor = stream.fileno()
        self._encoding = stream.encoding or "utf-8"
        self._errors = stream.errors or "strict"
        self._is_terminal = is_terminal(stream)
        self._failure: OSError | None = None
        self.note = note
        self.piece = TERMINAL_PIECE if self._is_terminal else PIECE
        self.left_out = 0
        self.is_at_line_start = True
        self.is_held = False
        self.buffer = self

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return self._is_terminal

    def writable(self) -> bool:
        return True

    @property
    def is_behind(self) -> bool:
        """Something waits to be written: no moment for what is worth showing only at once."""
        return self._place.is_busy

    def write(self, text: str | bytes) -> int:
        return self._put(text, chatter=False)

    def write_chatter(self, text: str | bytes) -> int:
        """What is left out first, if something must be."""
        return self._put(text, chatter=True)

    def _put(self, text: str | bytes, *, chatter: bool) -> int:
        data = text.encode(self._encoding, self._errors) if isinstance(text, str) else text
        if self._failure is not None:
            raise self._failure
        if data:
            self._place.put(self, data, chatter=chatter)
        return len(text)

    def write_piece(self, data: bytes) -> None:
        """In the thread. What a broken pipe does not take is gone."""
        while data and self._failure is None:
            try:
                data = data[os.write(self._descriptor, data) :]
            except BlockingIOError:  # a child that shares the terminal may have made it so for everyone
                select.select((), (self._descriptor,), ())
            except OSError as error:
                self._failure = error

    def finish(self, patience: float, give_up_at: float) -> None:
        """If its reader does not read, the stream leads nowhere from now on: nothing later is held by it either."""
        self.is_held = not self._place.drain(self, patience, give_up_at)
        if self.is_held:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._descriptor)
            os.close(nowhere)
