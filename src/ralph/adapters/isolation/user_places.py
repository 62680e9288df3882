"""The user's own settings and what they have trusted: no agent changes them, wherever its workspace is.

A workspace in ``~/.config``, or a list in the settings, would otherwise show them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from ralph.adapters.isolation.place import How, Place, deepest
from ralph.adapters.trust_store import store_folder


def user_places(found: Iterable[Place]) -> list[Place]:
    """Folders that are missing are made: what is not there cannot be protected."""
    covers = [*found]
    return [place for place in _wanted() if _matters(place, covers)]


def _wanted() -> Iterator[Place]:
    environ = os.environ  # not that of the agent, which the repository has a say in
    if store := store_folder(environ):
        yield Place(Path(os.path.realpath(store)), How.CLOSED)  # it has a key that others must not read
    config = environ.get("XDG_CONFIG_HOME", "")
    config = config if config.startswith("/") else f"{environ.get('HOME', '')}/.config"
    if config.startswith("/"):
        yield Place(Path(os.path.realpath(f"{config}/ralph")), How.PROTECTED)


def _matters(place: Place, covers: Iterable[Place]) -> bool:
    shown = deepest(place.path, covers)
    if shown is None:  # in the read-only root, or hidden with the home
        return False
    if shown.how is How.WRITABLE:
        with suppress(OSError):
            place.path.mkdir(0o700, parents=True, exist_ok=True)
    is_shown = shown.how in (How.READABLE, How.WRITABLE, How.PROTECTED)
    return is_shown and place.path.is_dir() and (place.how is How.CLOSED or shown.how is How.WRITABLE)
