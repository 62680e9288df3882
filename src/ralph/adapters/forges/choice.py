"""The forges that ralph knows, and which of them a remote belongs to."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from ralph.adapters.forges.address import RemoteAddress, read_address
from ralph.adapters.forges.github import GitHub
from ralph.adapters.online.github_login import Surroundings, is_github, reach_github
from ralph.domain.text.safe_text import clean_line
from ralph.engine.delivery.ports import Forge
from ralph.engine.ports import ProcessRunner
from ralph.errors import UsageError
from ralph.values import dataclass

HINT = (
    "set pullRequest.repository to HOST/OWNER/NAME of a repository on GitHub: ralph knows no other forge yet"
)


class Open(Protocol):
    def __call__(
        self, host: str, owner: str, name: str, around: Surroundings, *, is_named: bool
    ) -> Forge: ...


@dataclass(frozen=True, slots=True)
class Kind:
    """``owns``: whether a host, as the environment has it, is one of these."""

    name: str
    owns: Callable[[str, Mapping[str, str]], bool]
    open: Open


def _open_github(host: str, owner: str, name: str, around: Surroundings, *, is_named: bool) -> Forge:
    return GitHub(reach_github(host, around, is_named=is_named), owner, name, now=around.now)


KINDS = (Kind("GitHub", is_github, _open_github),)
"""The first is that of a host which only the settings name."""


def find_forge(
    remote_url: str,
    setting: str = "",
    *,
    environ: Mapping[str, str],
    find: Callable[[str], str | None],
    runner: ProcessRunner,
    cwd: Path,
    now: Callable[[], float] = time.time,
) -> Forge:
    """``setting`` (HOST/OWNER/NAME) goes before the remote. Asks nothing yet.

    Raises UsageError if it is no forge, and ServiceRefused if there is no way to log in.
    """
    remote = read_address(remote_url)
    address = _read_setting(setting) if setting else remote
    kind = _kind_of(address, environ, is_named=bool(setting))
    if kind is None or len(address.parts) != 2:
        raise _unknown(address, is_kind_known=kind is not None)
    _require_same(remote, address, environ, is_web="://" in remote_url and not _is_ssh(remote_url))
    owner, name = address.parts
    around = Surroundings(environ=environ, find=find, runner=runner, cwd=cwd, now=now)
    return kind.open(address.host, owner, name, around, is_named=bool(setting))


def is_same_repository(setting: str, address: str) -> bool:
    """Whether HOST/OWNER/NAME is what the address of a remote means. The host of one for ssh may be a name that only the
    user's configuration knows."""
    wanted, found = _read_setting(setting), read_address(address)
    is_web = "://" in address and not _is_ssh(address)
    return (
        bool(found.host)
        and wanted.path.lower() == found.path.lower()
        and (not is_web or wanted.host == found.host)
    )


def _read_setting(setting: str) -> RemoteAddress:
    host, _, path = setting.strip().partition("/")
    return read_address(f"https://{host}/{path}")


def _is_ssh(remote_url: str) -> bool:
    return "ssh" in remote_url.partition("://")[0]


def _require_same(
    remote: RemoteAddress, wanted: RemoteAddress, environ: Mapping[str, str], *, is_web: bool
) -> None:
    """What is pushed to one repository makes no pull request in another, or one of somebody else's branch.

    ``is_web``: its host is one. For ssh it may be a name that only the user's configuration knows.
    """
    if _kind_of(remote, environ, is_named=False) is None or len(remote.parts) != 2:
        return
    is_same = remote.path.lower() == wanted.path.lower()
    if is_same and (remote.host == wanted.host or not is_web):
        return
    there, here = (clean_line(f"{one.host}/{one.path}") for one in (wanted, remote))
    message = f"the remote is {here}, but pullRequest.repository is {there}: the branch would not be there"
    raise UsageError(
        message,
        hint=f"name the remote of {there} in pullRequest.remote, or set pullRequest.repository to {here}",
    )


def _kind_of(address: RemoteAddress, environ: Mapping[str, str], *, is_named: bool) -> Kind | None:
    if not address.host:
        return None
    known = next((kind for kind in KINDS if kind.owns(address.host, environ)), None)
    return KINDS[0] if known is None and is_named else known


def _unknown(address: RemoteAddress, *, is_kind_known: bool) -> UsageError:
    """Names the host alone: the rest of an address may hold a password."""
    if not address.host:
        return UsageError(
            "the remote is not on a forge that ralph knows: its address names no host", hint=HINT
        )
    host = clean_line(address.host)
    if is_kind_known:
        return UsageError(f"the address at {host} is not that of a repository, OWNER/NAME", hint=HINT)
    return UsageError(f"the remote is at {host}, which is no forge that ralph knows", hint=HINT)
