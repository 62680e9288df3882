"""Programs by name, in the folders of a PATH: what `shutil.which` finds, without loading what `shutil` needs."""

from __future__ import annotations

import os


def find_program(name: str, path: str, *, mode: int = os.X_OK) -> str | None:
    """The first file of that name that this process may use so; a name with a slash is a path already.

    An empty folder in the PATH is the current one, but an empty PATH has no folder.
    """
    folders = path.split(os.pathsep) if path else []
    places = [name] if os.sep in name else [os.path.join(folder, name) for folder in folders]  # noqa: PTH118
    return next((place for place in places if os.path.isfile(place) and os.access(place, mode)), None)  # noqa: PTH113
