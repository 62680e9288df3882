"""What is mounted must be what was looked at.

bubblewrap finds each place by its path again. Agents that work on one repository at a time share its git folder: one could
swap a folder there for a link to home just while another's sandbox is set up. The first program inside looks whether each
is mounted at its own path, and is what it was.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from ralph.adapters import beneath
from ralph.adapters.isolation.place import How, Place, is_in

NEW = "new"  #: something that bubblewrap made


def witnesses(found: Iterable[Place], shown: Path) -> Iterator[str]:
    """``WHAT:PATH`` of each place that lies where agents write. ``shown``: what is seen of a masked file."""
    places = [*found]
    writable = [place.real for place in places if place.how is How.WRITABLE]
    for place in places:
        if any(is_in(place.real, folder) for folder in writable):
            yield f"{_what(place, shown)}:{place.path}"


def _what(place: Place, shown: Path) -> str:
    if place.how in (How.HIDDEN, How.CLOSED, How.BARRED) or (place.how is How.MASKED and place.path.is_dir()):
        return NEW
    return identity(shown if place.how is How.MASKED else place.real)


def identity(path: Path) -> str:
    """Its device and number there; of what is missing, a link or behind one, those of nothing."""
    with suppress(OSError):
        found = beneath.status(path)
        if found is not None and not stat.S_ISLNK(found.st_mode):
            return f"{found.st_dev}.{found.st_ino}"
    return "0.0"
