"""Where ralph itself is installed, and the folders on PATH: read-only for an agent that could write there.

A run imports parts of ralph as late as at its end, outside of the sandbox; and what is in a folder on PATH is found by the
user's own shell later. ralph's own programs never come from such a folder (``OwnPrograms``).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from ralph.adapters.files import real_path
from ralph.adapters.isolation.place import How, Place, deepest
from ralph.adapters.isolation.sandbox import Site
from ralph.adapters.own_programs import OwnPrograms, links_to
from ralph.errors import ConfigError

_PACKAGE = Path(__file__).parents[2]
_DEPENDENCIES = ("click", "msgspec", "yaml")
_ELSEWHERE = "install ralph outside of it (`pipx install`, `uv tool install`), or use --no-sandbox"
_OFF_PATH = "take it off PATH for this run, or use --no-sandbox"


def own_places(site: Site, found: Iterable[Place]) -> list[Place]:
    """What must be read-only although ``found`` shows it writable. Raises ConfigError if it cannot be."""
    covers, workspace = [*found], real_path(site.workspace)
    for path in _ralph():
        for link in links_to(str(path)):
            if _is_writable(Path(link), covers):
                message = f"ralph runs from {path}, by a link that the agent could change ({link})"
                raise ConfigError(message, hint=_ELSEWHERE)
    protected: list[Place] = []
    for why, hint, paths in _reasons(site.own):
        for path in paths:
            real = real_path(path)
            if not real.exists() or not _is_writable(real, covers):
                continue
            if real == workspace:
                message = f"the workspace cannot be read-only, but {why}: {workspace}"
                raise ConfigError(message, hint=hint)
            protected.append(Place(real, How.PROTECTED))
    return protected


def own_notes(site: Site, found: Iterable[Place]) -> Iterator[str]:
    """For the head of a run: what is read-only for these reasons, and what cannot be."""
    covers, told = [*found], set[Path]()
    protected = {place.path for place in covers if place.how is How.PROTECTED}
    for why, hint, paths in _reasons(site.own):
        for path in paths:
            real = real_path(path)
            if not told.isdisjoint((real, *real.parents)):
                continue
            if real in protected:
                told.add(real)
                yield f"read-only, because {why}: {real} (if the agent must write there: {hint})"
            elif _is_writable(real, covers):
                yield f"{why}, and the agent may create it: {real} (ralph runs nothing from there, your shell would)"
    for entry in site.own.vague_folders:
        yield f"your PATH has {entry or 'an empty entry'}, which may be a folder of the agent's (ralph runs nothing from there)"


def links_on_path(own: OwnPrograms) -> Iterator[Path]:
    """Nothing can be mounted over a link: those on the way to a folder on PATH are put back if an agent changes them."""
    for folder in own.reached_folders:
        yield from (Path(link) for link in links_to(folder) if own.is_reached(link))


def leave_reach(own: OwnPrograms) -> None:
    """Import nothing from where an agent writes: what PYTHONPATH or the current directory added is not ralph's."""
    needed = {str(path) for path in _ralph()}
    sys.path[:] = [
        entry
        for entry in sys.path
        if entry in needed or not own.is_reached(str(Path(entry).absolute())) or _is_below(entry, needed)
    ]
    if sys.pycache_prefix is not None and own.is_reached(str(Path(sys.pycache_prefix).absolute())):
        sys.pycache_prefix = None


def _reasons(own: OwnPrograms) -> tuple[tuple[str, str, tuple[Path, ...]], ...]:
    """Why folders are to be read-only, what to do where that is impossible, and the folders."""
    return (
        ("ralph itself runs from there", _ELSEWHERE, _ralph()),
        ("it is on your PATH", _OFF_PATH, tuple(map(Path, own.reached_folders))),
    )


@cache
def _ralph() -> tuple[Path, ...]:
    """The installation, its interpreter's, and folders outside of both that ralph or what it needs is imported from."""
    tops = [sys.prefix, sys.base_prefix, str(Path(sys.executable or sys.prefix).parent), str(_PACKAGE.parent)]
    others = (
        entry
        for entry in sys.path
        if entry and not _is_below(entry, tops) and any(Path(entry, name).exists() for name in _DEPENDENCIES)
    )
    return tuple(map(Path, dict.fromkeys((*tops, *others))))


def _is_below(entry: str, tops: Iterable[str]) -> bool:
    return any(entry == top or entry.startswith(f"{top}/") for top in tops)


def _is_writable(path: Path, covers: Iterable[Place]) -> bool:
    place = deepest(path, covers)
    return place is not None and place.how is How.WRITABLE
