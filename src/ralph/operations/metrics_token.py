"""The token that opens /metrics and nothing else: in a file that Prometheus reads too, so it outlives the page."""

from __future__ import annotations

import secrets
from pathlib import Path

from ralph.adapters.files import read_plain, write_atomic
from ralph.errors import UsageError

SHORTEST = 16
MOST_BYTES = 1000


def metrics_token(path: Path) -> str:
    """The one in the file, which is made, for its user alone, if it is not there. Raises UsageError."""
    try:
        try:
            content = read_plain(path, MOST_BYTES)
        except FileNotFoundError:
            content = f"{secrets.token_urlsafe(32)}\n".encode()
            write_atomic(path, content, mode=0o600)
    except OSError as error:
        message = f"--metrics-token: cannot use {path}: {error.strerror or error}"
        raise UsageError(message, hint="name a file that you may read, or make") from error
    token = content.decode(errors="replace").strip()
    if len(token) < SHORTEST or not token.isascii() or any(map(str.isspace, token)):
        message = f"--metrics-token: {path} holds no token"
        raise UsageError(
            message,
            hint=f"it takes one word of at least {SHORTEST} letters and digits; or let ralph make the file",
        )
    return token
