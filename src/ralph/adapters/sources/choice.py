"""The kinds of sources that ralph knows, and which of them a name belongs to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ralph.adapters.online.github_login import Surroundings
from ralph.domain.text.safe_text import clean_line
from ralph.engine.tickets.ports import Source
from ralph.errors import UsageError
from ralph.values import dataclass

EXAMPLES = "a path of Markdown, github:OWNER/REPO or linear:TEAM"


@dataclass(frozen=True, slots=True)
class Kind:
    """``prefix``: what its names begin with, before a colon. ``require`` raises UsageError if the rest of a name names
    nothing; neither it nor ``open`` asks anyone."""

    prefix: str
    require: Callable[[str], object]
    open: Callable[[str, Surroundings, bool], Source]


def _require_github(place: str) -> object:
    from ralph.adapters.sources.github import place_of

    return place_of(place)


def _require_linear(place: str) -> object:
    from ralph.adapters.sources.linear import place_of

    return place_of(place)


def _open_github(place: str, around: Surroundings, is_named: bool) -> Source:
    from ralph.adapters.sources.github import open_github

    return open_github(place, around, is_named=is_named)


def _open_linear(place: str, around: Surroundings, is_named: bool) -> Source:
    from ralph.adapters.sources.linear import open_linear

    return open_linear(place, around)


TRACKERS = (
    Kind("github", _require_github, _open_github),
    Kind("linear", _require_linear, _open_linear),
)
"""All of them are shared. Whatever has none of their prefixes is a path."""


def is_tracker(name: str) -> bool:
    """Whether others put tickets there, too."""
    return _tracker_of(name) is not None


def require_source(name: str, root: Path) -> None:
    """Raises UsageError if there can be no such source, without asking anyone."""
    prefix, colon, place = name.partition(":")
    if (kind := _tracker_of(name)) is not None:
        kind.require(place)
        return
    if not _is_there(root / name):
        known = ", ".join(f"{kind.prefix}:" for kind in TRACKERS)
        is_prefix = bool(colon) and prefix.isalnum()
        what = f"there is no kind of source {prefix}:" if is_prefix else f"{name} does not exist"
        raise UsageError(
            clean_line(what), hint=f"name {EXAMPLES}" + (f"; known: {known}" if is_prefix else "")
        )


def open_source(name: str, around: Surroundings, root: Path, *, is_named: bool) -> Source:
    """``root``: of the project; paths begin there. ``is_named``: by the user: else no token goes to a host that only it names.

    Raises UsageError if there is no such source, and ServiceRefused if there is no way to log in.
    """
    if (kind := _tracker_of(name)) is not None:
        return kind.open(name.partition(":")[2], around, is_named)
    require_source(name, root)
    from ralph.adapters.sources.markdown import open_markdown

    return open_markdown(root / name, root)


def _is_there(path: Path) -> bool:
    """A name that no file can have names none."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _tracker_of(name: str) -> Kind | None:
    prefix, colon, _ = name.partition(":")
    return next((kind for kind in TRACKERS if colon and kind.prefix == prefix.lower()), None)
