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

from ralph.adapters.files import make_private_folder, real_path
from ralph.adapters.isolation.named_paths import locate, read_paths
from ralph.adapters.isolation.place import How, Place, as_places
from ralph.adapters.isolation.sandbox import Site
from ralph.adapters.kept_sessions import kept_sessions
from ralph.domain.agent.facts import AgentNeeds
from ralph.errors import ConfigError
from ralph.values import dataclass

_LARGEST_COPY = 1_000_000


@dataclass(frozen=True, slots=True)
class AgentState:
    """``copies``: files of which each process gets one of its own, because most agents replace what they write.

    ``sources``: where the user really keeps all this, perhaps in a repository of settings, which may be the workspace.
    """

    places: tuple[Place, ...] = ()
    copies: tuple[Place, ...] = ()
    sources: tuple[Path, ...] = ()


def survey_state(site: Site, needs: AgentNeeds) -> AgentState:
    home = real_path(site.home)
    folders = [(locate(site, needs, name), name) for name in needs.state]
    folders += [(path, "") for path in read_paths(site, needs) if path.is_dir()]
    places: list[Place] = as_places(
        How.READABLE, (path for path in read_paths(site, needs) if path.is_file())
    )
    copies: list[Place] = []
    sources: list[Path] = []
    for folder, name in folders:
        places.append(Place(folder, How.HIDDEN))
        sources.append(real_path(folder))
        for place, is_copy, is_link in _entries(folder, name, needs):
            (copies if is_copy else places).append(place)
            sources += [place.real] if is_link else []
    for name in needs.copied:
        if (path := home / name).is_file() and os.access(path, os.R_OK):
            copies.append(Place(path, How.PROTECTED, real_path(path)))
            sources.append(real_path(path))
    for name in needs.sessions:
        places.append(Place(locate(site, needs, name), How.WRITABLE, _session_folder(site, name)))
    return AgentState(tuple(places), tuple(copies), tuple(sources))


def make_session_folders(site: Site, needs: AgentNeeds) -> None:
    for name in needs.sessions:
        folder = _session_folder(site, name)
        for path in (folder.parent, folder):  # a repository may bring it along
            if path.is_symlink():
                message = f"{path} leads to {real_path(path)}: an agent would write its sessions there"
                raise ConfigError(message, hint="remove the link")
        make_private_folder(folder)


def pack(copies: Iterable[Place]) -> bytes:
    """All in one file, which ``inside.py`` unpacks: every mount takes its time."""
    packed = bytearray()
    for place in copies:
        with suppress(OSError):  # gone meanwhile
            data, mode = place.real.read_bytes(), place.real.stat().st_mode
            packed += b"%o %d %s\0%s" % (mode & 0o100 | 0o600, len(data), os.fsencode(place.path), data)
    return bytes(packed)


def _session_folder(site: Site, name: str) -> Path:
    return kept_sessions(real_path(site.state_folder), name)


def _entries(folder: Path, name: str, needs: AgentNeeds) -> Iterator[tuple[Place, bool, bool]]:
    """(What is shown of the user's folder, whether it is to be copied, whether it is a link)."""
    try:
        entries = [*os.scandir(real_path(folder))]
    except OSError:
        return
    for entry in entries:
        below = f"{name}/{entry.name}"
        if below in needs.sessions or any(fnmatchcase(below, pattern) for pattern in needs.scratch):
            continue
        with suppress(OSError, RuntimeError):  # we may not look at it, or it is a circle of links
            is_link = entry.is_symlink()
            real = real_path(Path(entry.path)) if is_link else Path(entry.path)
            if entry.is_file() and os.access(real, os.R_OK):
                how = How.WRITABLE if below in needs.login else How.PROTECTED
                is_small = entry.stat().st_size <= _LARGEST_COPY
                yield Place(folder / entry.name, how, real), is_small and how is How.PROTECTED, is_link
            elif entry.is_dir() and os.listdir(real):  # noqa: PTH208 an empty one the agent may make, and write to
                yield Place(folder / entry.name, How.PROTECTED, real), False, is_link
