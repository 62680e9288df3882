"""Files that are not part of the work but that its checks may need: dependencies, and what the user had ignored."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from stat import S_ISDIR

from ralph.adapters import beneath, trees
from ralph.adapters.files import NotPlain, is_true, real_path
from ralph.domain.proof.file_names import is_compiled
from ralph.domain.proof.protection import is_read_from_below

ASKED_FOR_BY = {
    "node_modules": ("package.json",),
    "bower_components": ("bower.json",),
    ".yarn": ("package.json",),
    ".tox": ("tox.ini", "tox.toml", "pyproject.toml", "setup.cfg"),
    ".nox": ("noxfile.py",),
    ".pixi": ("pixi.toml", "pyproject.toml"),
    ".direnv": (".envrc",),
    "vendor": ("composer.json", "Gemfile", "go.mod"),
    ".bundle": ("Gemfile",),
    "Pods": ("Podfile",),
    "deps": ("mix.exs",),
    "target": ("Cargo.toml",),
}
"""Folders of installed programs, and the files of which one lies beside each: brought along by a link, whatever is in them."""
SETTINGS_FOLDERS = (".cargo", ".mvn")
MOST_FILES = 20_000
MOST_BYTES = 20_000_000
"""A larger file is known by its size and times instead of its content."""

Manifest = Mapping[str, str]
"""A signature of each ignored file, by its path."""


def is_program(folder: Path) -> bool:
    """Installed, not written, because something asks for it. A name alone proves nothing: work could be hidden there."""
    signs = (folder / "pyvenv.cfg", *(folder.parent / name for name in ASKED_FOR_BY.get(folder.name, ())))
    return any(is_true(sign.is_file) for sign in signs)


def list_manifest(top: Path, ignored: Iterable[str]) -> dict[str, str]:
    """Of the ignored files that are there now; ``ignored`` are files, and folders with a ``/`` at the end."""
    found: dict[str, str] = {}
    for path, is_installed in _walk(top, ignored):
        if len(found) >= MOST_FILES:
            break
        if signature := _place_behind(top, path) if is_installed else _signature(top / path, top):
            found[path] = signature
    return found


def is_as_begun(top: Path, path: str, end: Path, manifest: Manifest) -> bool:
    """Whether the folder of programs ``end``, which ``path`` leads to, is the project's own, or was linked when the run
    began: a link that an agent made could open any folder to the checks."""
    return end == top / path or manifest.get(path) == f"folder {end}"


def project_around(top: Path, folder: Path) -> Path:
    """The project that the run's ``folder`` is in: of a task in a worktree, the user's own checkout."""
    return next((place for place in folder.parents if (place / ".git").exists()), top)


def list_settings(top: Path, folder: Path) -> dict[str, str]:
    """Settings of test runners in the folders above ``top`` and ``folder``, up to the project's own: whatever is started
    in one of them finds those."""
    project = project_around(top, folder)
    above = {place for low in (top, folder) for place in (low, *low.parents) if place.is_relative_to(project)}
    places = [place for each in above for place in (each, *(each / name for name in SETTINGS_FOLDERS))]
    files = (place / name for place in places for name in _children(place) if not name.endswith("/"))
    return {
        os.path.relpath(file, top): _signature(file, file.parent)
        for file in files
        if is_read_from_below(file.as_posix())
    }


def bring(top: Path, ignored: Iterable[str], manifest: Manifest, place: Path) -> tuple[list[str], list[str]]:
    """Put into ``place`` what a check may need of the ``ignored``; gives what was brought, and what was left out."""
    brought: list[str] = []
    left: list[str] = []
    for path, is_installed in _walk(top, ignored):
        if is_installed:
            end = real_path(top / path)
            is_trusted = is_as_begun(top, path, end, manifest)
            brought += _link(end, place / path, path, place) if is_trusted else []
        else:
            is_trusted = path in manifest and _copy(top, path, place, manifest[path])
            brought += [path] if is_trusted else []
        if not is_trusted:
            left.append(path)
    return brought, left


def _walk(top: Path, ignored: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Each file in the ignored places but compiled ones; and each folder of programs, with True."""
    waiting = [iter(ignored)]
    while waiting:
        path = next(waiting[-1], "")
        bare = path.rstrip("/")
        if not path:
            waiting.pop()
        elif is_compiled(bare):
            continue
        elif not path.endswith("/"):
            yield bare, is_true((top / bare).is_dir) and is_program(top / bare)  # a link to one
        elif is_program(top / bare):
            yield bare, True
        else:
            waiting.append(iter([f"{bare}/{child}" for child in _children(top / bare)]))


def _children(folder: Path) -> Iterator[str]:
    with suppress(OSError), os.scandir(folder) as found:
        for entry in found:
            yield f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name


def _place_behind(top: Path, path: str) -> str:
    """Of a folder of programs that is a link. Empty: it is none."""
    end = real_path(top / path)
    return f"folder {end}" if end != top / path else ""


def _signature(file: Path, top: Path) -> str:
    """Empty: it is not there, or is no plain file or link."""
    if target := beneath.read_link(file, top):
        return f"link {target}"
    try:
        with beneath.open_plain(file, top) as opened:
            about = os.fstat(opened.fileno())
            if about.st_size > MOST_BYTES:
                return f"large {about.st_size} {about.st_mtime_ns} {about.st_ctime_ns}"
            from hashlib import sha256  # loads OpenSSL, which a run that has nothing to prove never needs

            return sha256(opened.read()).hexdigest()
    except OSError:
        return ""


def _link(source: Path, target: Path, path: str, place: Path) -> list[str]:
    """Where a part of it is in the tree, the rest is linked piece by piece."""
    brought: list[str] = []
    waiting = [""]
    while waiting:
        inner = waiting.pop()
        try:
            found = beneath.status(target / inner, place)
            if found is None:
                beneath.make_link(target / inner, source / inner, place)
                brought.append(f"{path}/{inner}".rstrip("/"))
            elif S_ISDIR(found.st_mode):
                names = beneath.list_names(source / inner)
                waiting += (f"{inner}/{name}".lstrip("/") for name in reversed(names))
        except beneath.LinkInTheWay:
            if not inner:
                raise
    return brought


def _copy(top: Path, path: str, place: Path, signature: str) -> bool:
    """False: it is not what it was. What is there already is part of the tree, and stays."""
    source, target = top / path, place / path
    if signature.startswith(("link ", "large ")):
        if signature != _signature(source, top):
            return False
        link = beneath.read_link(source, top)
        with suppress(OSError):
            beneath.make_link(target, source.parent / link if link else source, place)
        return True
    try:
        trees.copy(source, target, top, place)
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        return signature == _signature(source, top)
    except (FileNotFoundError, PermissionError, beneath.LinkInTheWay, NotPlain):
        return False
    if signature == _signature(target, place):  # of the copy: nobody can change that meanwhile
        return True
    beneath.remove(target, place)
    return False
