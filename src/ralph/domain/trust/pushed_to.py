"""Where a run that delivers pushes to: what git makes of a remote's address, and which settings name it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import unquote

from ralph.patterns import pattern

PUSHES = "pushes to"
_LOGIN = pattern(r"(\w+://)[^/\s]*@")
_FILE = "file://"
_NAMED = (".url", ".pushurl")


class Named(NamedTuple):
    """A setting, and the file that has it."""

    key: str
    value: str
    source: str


def without_login(text: str) -> str:
    """The same, but for names and passwords in addresses."""
    return _LOGIN.sub(r"\1", text)


def is_option(address: str) -> bool:
    """Whether git could take it for an option of its own."""
    return address.startswith("-")


def local_path(address: str) -> str:
    """The folder that git takes it for; empty: it is on another machine."""
    if address.startswith(_FILE):
        return unquote(address.removeprefix(_FILE))
    before, colon, _ = address.partition(":")
    return address if not colon or "/" in before else ""


def addresses_of(remote: str, settings: Iterable[Named], known: Iterable[str] = ()) -> list[Named]:
    """Those settings that say where ``remote`` is. An address may be the name of another remote, and git follows that.

    ``known``: addresses of it that no setting has.
    """
    named = {
        setting: setting.key.removeprefix("remote.").removesuffix(ending)
        for setting in settings
        for ending in _NAMED
        if setting.key.startswith("remote.") and setting.key.endswith(ending) and setting.value
    }
    names, more = {remote, *known}, True
    while more:
        values = {setting.value for setting, name in named.items() if name in names}
        more = not values <= names
        names |= values
    return [setting for setting, name in named.items() if name in names]
