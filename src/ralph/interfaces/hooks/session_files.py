"""Notes on one session, in the temporary folder: which alerts it was given, how often its stop was refused."""
# Importing pathlib alone would cost a hook a quarter of its start.
# ruff: noqa: PTH108, PTH118

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ALERTS = "claude-context-alerts"
"""The name that the reviewed profile documents: /tmp/claude-context-alerts-<session>."""
BLOCKS = "claude-stop-blocks"
ALERTS_VARIABLE = "CLAUDE_CONTEXT_STATE_FILE"
"""Another place for the alerts; ``{session}`` in it is replaced by the session."""

LONGEST_NOTE = 1_000
LONGEST_SESSION = 100


def session_file(kind: str, session: str, environ: Mapping[str, str]) -> str:
    """Empty if the session's name cannot be part of a file name."""
    plain = session.replace("-", "").replace("_", "")
    if not (plain.isascii() and plain.isalnum()) or len(session) > LONGEST_SESSION:
        return ""
    configured = environ.get(ALERTS_VARIABLE, "") if kind == ALERTS else ""
    if configured and "\0" not in configured:
        return configured.replace("{session}", session)
    return os.path.join(environ.get("TMPDIR") or "/tmp", f"{kind}-{session}")  # noqa: S108 (opened with care below)


@contextlib.contextmanager
def locked_numbers(path: str) -> Iterator[list[int]]:
    """The numbers in the file, to change while the lock is held.

    Anyone may write to the temporary folder: a link, or another user's file of this name, is an error.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            message = f"{path} is not a file of ours"
            raise OSError(message)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        before = os.read(descriptor, LONGEST_NOTE)
        numbers = [int(word) for word in before.split() if word.isdigit() and len(word) < 10]
        yield numbers
        after = "".join(f"{number}\n" for number in numbers).encode()
        if after != before:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, after, 0)
    finally:
        os.close(descriptor)


def forget(kind: str, session: str, environ: Mapping[str, str]) -> None:
    if path := session_file(kind, session, environ):
        with contextlib.suppress(OSError):
            os.unlink(path)


def forget_session(session: str, environ: Mapping[str, str]) -> None:
    """SessionStart and SessionEnd: every alert may be given again."""
    forget(ALERTS, session, environ)
    forget(BLOCKS, session, environ)
