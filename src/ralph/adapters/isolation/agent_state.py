"""The state of agents, as they find it in a sandbox: the user's own, but what they write there stays there.

What the user's later sessions run or read as instructions (settings, hooks, skills, shell snapshots, memories) can
therefore not be changed, whatever its name: the folder is a private one in which the user's files are copies and the
user's folders are read-only. Two things outlive a process: a renewed login, and sessions, which are kept in the
project's ``.ralph``, apart from the user's.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

from ralph.adapters.files import make_private_folder
from ralph.adapters.isolation.place import How, Place
from ralph.adapters.isolation.record import SESSIONS
from ralph.adapters.isolation.sandbox import Site
from ralph.domain.agent.facts import AgentNeeds
from ralph.errors import ConfigError

_LARGEST_COPY = 1_000_000


def state_places(site: Site, needs: AgentNeeds) -> Iterator[Place]:
    home = site.home.resolve()
    for name in needs.state:
        yield Place(home / name, How.HIDDEN)
        for place, is_copy in _entries(home, name, needs):
            if not is_copy:
                yield place
    for name in needs.sessions:
        yield Place(home / name, How.WRITABLE, _session_folder(site, name))


def state_copies(site: Site, needs: AgentNeeds) -> list[Place]:
    """Files of which each process gets a copy of its own: it may replace them, as most agents do."""
    home = site.home.resolve()
    found = [place for name in needs.state for place, is_copy in _entries(home, name, needs) if is_copy]
    alone = (_place(home / name, home / name) for name in needs.copied)
    return [*found, *(place for place, is_copy in filter(None, alone) if is_copy)]


def state_sources(site: Site, needs: AgentNeeds) -> Iterator[Path]:
    """Where the user really keeps it: perhaps in a repository of settings, which may be the workspace."""
    home = site.home.resolve()
    for name in needs.state:
        yield (home / name).resolve()
        yield from (place.real for place, _ in _entries(home, name, needs))
    yield from ((home / name).resolve() for name in needs.copied)


def make_session_folders(site: Site, needs: AgentNeeds) -> None:
    for name in needs.sessions:
        folder = _session_folder(site, name)
        for path in (folder.parent, folder):  # a repository may bring it along
            if path.is_symlink():
                message = f"{path} leads to {path.resolve()}: an agent would write its sessions there"
                raise ConfigError(message, hint="remove the link")
        make_private_folder(folder)


def _session_folder(site: Site, name: str) -> Path:
    """Not nested: what one agent may write is not above what another one may."""
    return site.state_folder.resolve() / SESSIONS / name.replace("/", "+")


def _entries(home: Path, name: str, needs: AgentNeeds) -> Iterator[tuple[Place, bool]]:
    """(What is shown of the user's folder, whether it is to be copied)."""
    try:
        entries = [*os.scandir(home / name)]
    except OSError:
        return
    for entry in entries:
        below = f"{name}/{entry.name}"
        if below in needs.sessions or _is_listed(below, needs.scratch):
            continue
        found = _place(home / below, Path(entry.path))
        if found is not None and below in needs.login:
            yield Place(found[0].path, How.WRITABLE, found[0].source), False
        elif found is not None:
            yield found


def _place(path: Path, entry: Path) -> tuple[Place, bool] | None:
    """None: neither a file nor a folder with something in it. A link of the user is shown as what it leads to."""
    with suppress(OSError, RuntimeError):  # we may not look at it, or it is a circle of links
        real = entry.resolve()
        if real.is_file() and os.access(real, os.R_OK):
            return Place(path, How.PROTECTED, real), real.stat().st_size <= _LARGEST_COPY
        if real.is_dir() and os.listdir(real):  # noqa: PTH208 an empty one the agent may make itself, and write to
            return Place(path, How.PROTECTED, real), False
    return None


def _is_listed(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
