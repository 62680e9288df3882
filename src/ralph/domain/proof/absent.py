"""What commands ask for that was not there when the work began: a script, a target of make, a script of a package."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ralph.domain.proof.makefiles import lacks
from ralph.domain.proof.scripts import Read, has_script, made_by, packages_run, scripts_in
from ralph.values import dataclass


@dataclass(frozen=True, slots=True)
class Absent:
    """``command``, which is run in ``folder``, asks for it. ``places``: the files that would have it."""

    command: str
    folder: str
    places: tuple[str, ...]


def find_absent(commands: Iterable[tuple[str, str]], read: Read) -> Iterator[Absent]:
    """``read`` gives the text of a file that the work began with, or None. What is asked for by what was there does not
    count: the command may have passed without it."""
    for command, folder in commands:
        for script in sorted(scripts_in(command, folder)):
            if read(script) is None:
                yield Absent(command, folder, (script,))
        for makefiles, target in made_by(command, folder):
            text = next((one for one in map(read, makefiles) if one is not None), None)
            if text is None or lacks(text, target):
                yield Absent(command, folder, makefiles)
        for package, name in packages_run(command, folder):
            if not has_script(read(package), name):
                yield Absent(command, folder, (package,))
