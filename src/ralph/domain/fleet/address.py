"""The address of a job's repository: one that every machine understands, and that tells nobody how to log in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from ralph.patterns import pattern

_ELSEWHERE = pattern(r"(?:[^@/:\s]+@)?[^@/:\s\[\]]+:(?!/?/)\S")  # git@host:path
_LOG_IN = "leave it out, and log in with git on the workers: a credential helper, or a key for ssh"


class Refusal(NamedTuple):
    """What is wrong with something that somebody typed, and what to do about it."""

    message: str
    hint: str


def refusal_of(address: str) -> Refusal | None:
    """None: it can be a repository's. Nothing of it is repeated, for it may hold a password."""
    if refusal := _refusal_of_form(address):
        return refusal
    if ".." in re.split(
        r"[/\\:]", unquote(address)
    ):  # so that it matches a pattern only if it is what that means
        return Refusal("the address of the repository has `..` in its path", "give the path without it")
    return None


def _refusal_of_form(address: str) -> Refusal | None:
    if not address.strip() or address != address.strip() or not address.isprintable():
        return Refusal("the address of the repository is empty, or has spaces around it", "give --repo URL")
    if address.startswith("-"):
        return Refusal("the address of a repository does not begin with a dash", "give --repo URL")
    if "://" not in address:
        if "::" in address:  # git would start a program of that name
            return Refusal("name::address is not supported for the repository", "use https:// or ssh://")
        if address.startswith("/"):
            return None
        if _ELSEWHERE.match(address):
            return _refusal_of_elsewhere(*address.split(":", 1))
        return Refusal(
            "the repository is a relative path, which means nothing on another machine",
            "give an address, or the whole path of a bare repository on a disk that all workers share",
        )
    try:
        parts = urlsplit(address)
        host, user, password = parts.hostname, parts.username, parts.password
    except ValueError:
        return Refusal("the address of the repository is not one", "such as https://host/owner/name.git")
    if parts.scheme == "file":
        return None if parts.path.startswith("/") else Refusal("file:// needs a whole path", "file:///srv/x")
    if parts.scheme not in ("https", "ssh"):
        return Refusal(
            f"{parts.scheme}:// is not supported for the repository",
            "use https://, ssh://, user@host:path, or the path of a bare repository on a shared disk",
        )
    if not host or host.startswith("-") or (user or "").startswith("-"):
        return Refusal("the address of the repository names no host", "such as https://host/owner/name.git")
    if password is not None or (user and parts.scheme == "https"):
        return Refusal("the address of the repository holds a login", _LOG_IN)
    if parts.query or parts.fragment:
        return Refusal("the address of the repository has more than a path after its host", _LOG_IN)
    return None


def _refusal_of_elsewhere(place: str, path: str) -> Refusal | None:
    """Of user@host:path."""
    if any(part.startswith("-") for part in place.split("@")):  # ssh would take it for an option
        return Refusal("the address of the repository names no host", "such as git@host:owner/name.git")
    if "?" in path or "#" in path or "@" in path:
        return Refusal("the address of the repository has more than a path after its host", _LOG_IN)
    return None


def local_path(address: str) -> str:
    """Of a repository on a disk that this machine may have too; empty: it is on a host."""
    if address.startswith("/"):
        return address
    return unquote(urlsplit(address).path) if address.startswith("file://") else ""


def is_allowed(address: str, patterns: Sequence[str]) -> bool:
    """Whether a machine's owner lets jobs be about this repository; without patterns, about any."""
    return not patterns or any(fnmatchcase(address, pattern) for pattern in patterns)


def short_name(address: str) -> str:
    """For the names of jobs: the repository's own, without its owner."""
    last = re.split(r"[/:\\]", address.rstrip("/"))[-1].removesuffix(".git")
    return re.sub(r"[^a-z0-9]+", "-", last.lower()).strip("-")[:40].strip("-") or "job"
