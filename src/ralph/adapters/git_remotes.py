"""What git, ssh and a remote said when a fetch or a push failed: nobody answered, or somebody refused."""

from __future__ import annotations

from ralph.adapters.git import Ran
from ralph.domain.text.safe_text import clean_line
from ralph.domain.trust.pushed_to import without_login
from ralph.errors import ServiceAway

_AWAY = (
    "could not resolve host", "connection refused", "connection timed out", "connection reset", "network is unreachable",
    "operation timed out", "temporary failure", "the requested url returned error: 5", "early eof", "hung up unexpectedly",
    "failed to connect", "no route to host", "rpc failed", "http 429",
)  # fmt: skip
"""What git and ssh print when nobody answers, in lower case."""
_THEIRS = "remote:"
"""Begins what the remote's side prints, its hooks included."""
_SIGNS = (("remote: error", "remote: fatal"), ("!", "remote:", "error:", "fatal:", "ERROR"))


def require_reached(ran: Ran) -> None:
    """Raises ServiceAway if nobody answered."""
    said = "\n".join(line for line in ran.err.lower().splitlines() if not line.startswith(_THEIRS))
    if ran.code is None or any(word in said for word in _AWAY):
        message = f"the remote cannot be reached: {said_of(ran)}"
        raise ServiceAway(message)


def said_of(ran: Ran) -> str:
    """What went wrong, without the address, which may hold a password. The remote's own words say most."""
    lines = [line.strip() for line in f"{ran.out}\n{ran.err}".splitlines() if line.strip()]
    for signs in _SIGNS:
        if found := next((line for line in lines if line.startswith(signs)), ""):
            return without_login(clean_line(found.removeprefix("remote: ")))
    return without_login(clean_line((lines or [f"exit code {ran.code}"])[-1]))
