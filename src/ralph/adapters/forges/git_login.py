"""How our git logs in where it pushes: with the user's own ways first, then with the login that the forge's client has."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from ralph.adapters.online.github_login import is_vouched, token_name


def login_for(
    address: str, repository: str, *, environ: Mapping[str, str], find: Callable[[str], str | None]
) -> tuple[str, ...]:
    """Settings for git: a helper for this host alone, which is asked after the user's own. No secret is in them.

    ``repository``: as the settings name it. A host that only the remote names gets nobody's token: whoever writes in the
    repository can change that.
    """
    parts = urlsplit(address)
    if parts.scheme != "https" or not parts.hostname:
        return ()
    if parts.hostname != repository.partition("/")[0].lower() and not is_vouched(parts.hostname, environ):
        return ()
    key = f"credential.https://{parts.hostname}{f':{parts.port}' if parts.port else ''}.helper"
    if (gh := find("gh")) is not None:
        return (f"{key}=!{shlex.quote(gh)} auth git-credential",)
    if name := token_name(parts.hostname, environ):
        return (f"{key}={_helper(name)}",)
    return ()


def _helper(variable: str) -> str:
    said = f"printf 'username=x-access-token\\npassword=%s\\n' \"${variable}\""
    return f'!f() {{ test "$1" = get && {said}; }}; f'
