"""Files that are not part of the work but that its checks may need: dependencies, and what the user had ignored."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from ralph.adapters.files import open_plain
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
COMPILED = frozenset(
    (
        "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".coverage", ".cache",
        ".eslintcache", ".tsbuildinfo",
    )
)  # fmt: skip
COMPILED_ENDINGS = (".pyc", ".pyo")
MOST_FILES = 20_000
MOST_BYTES = 20_000_000
"""A larger file is known by its size and times instead of its content."""

Manifest = Mapping[str, str]
"""A signature of each ignored file, by its path."""


def is_program(folder: Path) -> bool:
    """Installed, not written, because something asks for it. A name alone proves nothing: work could be hidden there."""
    if (folder / "pyvenv.cfg").is_file():
        return True
    return any((folder.parent / name).is_file() for name in ASKED_FOR_BY.get(folder.name, ()))


def list_manifest(top: Path, ignored: Iterable[str]) -> dict[str, str]:
    """Of the ignored files that are there now; ``ignored`` are files, and folders with a ``/`` at the end."""
    found: dict[str, str] = {}
    for path, is_installed in _walk(top, ignored):
        if len(found) >= MOST_FILES:
            break
        if not is_installed and (signature := _signature(top / path)):
            found[path] = signature
    return found


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
        os.path.relpath(file, top): _signature(file) for file in files if is_read_from_below(file.as_posix())
    }


def bring(top: Path, ignored: Iterable[str], manifest: Manifest, place: Path) -> tuple[list[str], list[str]]:
    """Put into ``place`` what a check may need of the ``ignored``; gives what was brought, and what was left out."""
    brought: list[str] = []
    left: list[str] = []
    for path, is_installed in _walk(top, ignored):
        if is_installed:
            brought += _link((top / path).resolve(), place / path, path)
        elif manifest.get(path) and manifest[path] == _signature(top / path):
            _copy(top / path, place / path)
            brought.append(path)
        else:
            left.append(path)
    return brought, left


def _walk(top: Path, ignored: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Each file in the ignored places but compiled ones; and each folder of programs, with True."""
    for path in ignored:
        bare = path.rstrip("/")
        if not COMPILED.isdisjoint(bare.split("/")) or bare.endswith(COMPILED_ENDINGS):
            continue
        if not path.endswith("/"):
            yield bare, (top / bare).is_dir() and is_program(top / bare)  # a link to one
        elif is_program(top / bare):
            yield bare, True
        else:
            yield from _walk(top, (f"{bare}/{child}" for child in _children(top / bare)))


def _children(folder: Path) -> Iterator[str]:
    with suppress(OSError), os.scandir(folder) as found:
        for entry in found:
            yield f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name


def _signature(file: Path) -> str:
    """Empty: it is not there, or is no plain file or link."""
    try:
        if file.is_symlink():
            return f"link {file.readlink()}"
        with open_plain(file, follow=False) as opened:
            about = os.fstat(opened.fileno())
            if about.st_size > MOST_BYTES:
                return f"large {about.st_size} {about.st_mtime_ns} {about.st_ctime_ns}"
            return sha256(opened.read()).hexdigest()
    except OSError:
        return ""


def _link(source: Path, target: Path, path: str) -> list[str]:
    """Where a part of it is in the tree, the rest is linked piece by piece."""
    if target.is_symlink():
        return []
    if target.is_dir():
        brought: list[str] = []
        for child in source.iterdir():
            if not (target / child.name).exists() or (target / child.name).is_dir():
                brought += _link(child, target / child.name, f"{path}/{child.name}")
        return brought
    if target.exists():
        return []
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(source)
    return [path]


def _copy(source: Path, target: Path) -> None:
    with suppress(FileExistsError, NotADirectoryError):
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            target.symlink_to(source.parent.resolve() / source.readlink())
        elif source.stat().st_size > MOST_BYTES:
            target.symlink_to(source.resolve())
        elif not target.exists():
            shutil.copy2(source, target)
