"""Small notes of one session, in the temporary folder: which alerts were given, how often a stop was refused."""
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
    """Empty if the session has no name that could be part of a file's."""
    plain = session.replace("-", "").replace("_", "")
    if not (plain.isascii() and plain.isalnum()) or len(session) > LONGEST_SESSION:
        return ""
    configured = environ.get(ALERTS_VARIABLE, "") if kind == ALERTS else ""
    if configured and "\0" not in configured:
        return configured.replace("{session}", session)
    return os.path.join(environ.get("TMPDIR") or "/tmp", f"{kind}-{session}")  # noqa: S108 (opened with care below)


@contextlib.contextmanager
def locked_numbers(path: str) -> Iterator[list[int]]:
    """The numbers in the file, to be changed; nobody else changes them meanwhile.

    Anybody may write to the temporary folder: a link, or somebody else's file of this name, is an error.
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


def forget(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
