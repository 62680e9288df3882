"""How GitHub is reached from here: by gh with the user's login, else with a token of the environment."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from ralph.adapters.online.caching import Caching
from ralph.adapters.online.transport import Transport
from ralph.engine.ports import ProcessRunner
from ralph.errors import ServiceRefused
from ralph.values import dataclass

GITHUB = "github.com"
TENANTS = ".ghe.com"
"""Ends the hosts of companies that GitHub itself runs."""
_ANY_TOKEN = ("GITHUB_TOKEN", "GH_TOKEN")
_SERVER_TOKEN = ("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a service is reached with. ``find``: where a program of ours is; None if it is not installed."""

    environ: Mapping[str, str]
    find: Callable[[str], str | None]
    runner: ProcessRunner
    cwd: Path
    now: Callable[[], float] = time.time


def is_github(host: str, environ: Mapping[str, str]) -> bool:
    return "github" in host or host.endswith(TENANTS) or host == _host(environ.get("GH_HOST", ""))


def usual_host(environ: Mapping[str, str]) -> str:
    """Of a repository that is named without one: where gh, or the workflow that ralph runs in, would look for it."""
    named = (_host(environ.get(name, "")) for name in ("GH_HOST", "GITHUB_SERVER_URL"))
    return next(filter(None, named), GITHUB)


def reach_github(host: str, around: Surroundings, *, is_named: bool) -> Transport:
    """``is_named``: by the user, and not only by a remote, which whoever writes in the repository can change.

    Raises ServiceRefused if there is no way to log in.
    """
    transport = _transport(host, around, is_vouched=is_named or is_vouched(host, around.environ))
    return Caching(transport, now=around.now)


def _transport(host: str, around: Surroundings, *, is_vouched: bool) -> Transport:
    if (program := around.find("gh")) is not None:
        from ralph.adapters.online.gh import GhTransport

        # gh keeps a login for each host, but gives this variable's token to any.
        unset = {} if is_vouched else dict.fromkeys(_SERVER_TOKEN, "")
        return GhTransport(around.runner, host=host, cwd=around.cwd, program=program, environment=unset)
    if not (name := token_name(host, around.environ)):
        message = f"there is no login for {host}: gh is not installed, and there is no token"
        raise ServiceRefused(message, hint="install gh and run `gh auth login`, or set GITHUB_TOKEN")
    if not is_vouched:
        message = f"the token is not sent to {host}: only the repository names it"
        raise ServiceRefused(
            message, hint="name it yourself: in GH_HOST, or for pull requests in pullRequest.repository"
        )
    from ralph.adapters.online.https import HttpsTransport

    return HttpsTransport(_api_address(host, around.environ), around.environ[name].strip())


def is_vouched(host: str, environ: Mapping[str, str]) -> bool:
    """Whether it is GitHub's own, or the environment names it."""
    named = {_host(environ.get(name, "")) for name in ("GH_HOST", "GITHUB_SERVER_URL")} - {""}
    return host == GITHUB or host.endswith(TENANTS) or host in named


def token_name(host: str, environ: Mapping[str, str]) -> str:
    """The variable with the token for this host, for questions and for pushes alike; empty: there is none.

    A server of one's own has variables of its own: github.com's token goes there only if they are not set.
    """
    is_theirs = host == GITHUB or host.endswith(TENANTS)
    names = _ANY_TOKEN if is_theirs else (*_SERVER_TOKEN, *_ANY_TOKEN)
    return next((name for name in names if environ.get(name, "").strip()), "")


def _api_address(host: str, environ: Mapping[str, str]) -> str:
    """GITHUB_API_URL, as workflows have it, is that of GITHUB_SERVER_URL and of no other host."""
    server = _host(environ.get("GITHUB_SERVER_URL", ""))
    if (given := environ.get("GITHUB_API_URL", "")) and server in ("", host):
        return given
    if host == GITHUB or host.endswith(TENANTS):
        return f"https://api.{host}"
    return f"https://{host}/api/v3"


def _host(text: str) -> str:
    """Of an address, or as it is."""
    try:
        return (urlsplit(text if "://" in text else f"//{text}").hostname or "").lower()
    except ValueError:
        return ""
