"""Whether a fault means that the model cannot be reached: no fault of the agent's, and no reason to give up soon."""

from __future__ import annotations

import re

from ralph.patterns import pattern

_MAYBE_WRONG = pattern(
    r"ENOTFOUND|EAI_AGAIN|EAI_NONAME|getaddrinfo|could ?n[o']t resolve host|name resolution"
    r"|name or service not known|nodename nor servname|failed to lookup address|dns error|no such host"
    r"|ECONNREFUSED|connection ?refused",
    re.IGNORECASE,
)
_AWAY = pattern(
    r"ENETUNREACH|EHOSTUNREACH|ENETDOWN|EHOSTDOWN|ETIMEDOUT|network is (?:unreachable|down)|no route to host"
    r"|(?:connection|connect) timed out|connect timeout|FailedToOpenSocket|waiting for network|fetch failed"
    r"|error sending request|unable to connect to api|\bconnection error\b|connection_failed",
    re.IGNORECASE,
)
_ANSWERED = pattern(r"(?<!port )\b[45]\d\d\b(?! ?ms)")
"""A server that answers with a status has been reached, whatever else it says."""


def no_network(reason: str, *, lasting: str = "") -> str:
    """What is wrong with the network, if ``reason`` says so, and for how long; otherwise empty.

    A name that does not resolve and a refused connection may be a wrong address as well: only time can tell.
    """
    if _ANSWERED.search(_without_addresses(reason)):
        return ""
    if _MAYBE_WRONG.search(reason):
        return f"no network{lasting}, or the address is wrong"
    return f"no network{lasting}" if _AWAY.search(reason) else ""


def _without_addresses(reason: str) -> str:
    """Ports and paths are no statuses."""
    return re.sub(r"\S*[:/.]\S+", " ", reason)
