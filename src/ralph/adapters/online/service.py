"""A service that is asked over HTTPS: its name in messages, and what its requests carry."""

from __future__ import annotations

from collections.abc import Mapping

from ralph.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """``authorization``: what stands before the token. ``token``, ``address``: the variables that hold them, for messages.

    ``log_in``: what to do if nobody is.
    """

    name: str
    log_in: str
    token: str
    address: str
    authorization: str = "Bearer "
    headers: Mapping[str, str]


GITHUB = Service(
    name="GitHub",
    log_in="log in with `gh auth login`, or set GITHUB_TOKEN",
    token="GITHUB_TOKEN",  # noqa: S106 - the variable's name
    address="GITHUB_API_URL",
    headers={"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"},
)
