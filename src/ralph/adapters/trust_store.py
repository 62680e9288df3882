"""What the user has trusted, outside every repository: ``$XDG_STATE_HOME/ralph/trust.json``; and the seals of state folders.

Hooks read it too: it imports the standard library only, and little of that.
"""
# Importing pathlib alone would cost a hook a quarter of its start.
# ruff: noqa: PTH100, PTH101, PTH102, PTH103, PTH108, PTH118, PTH119, PTH120, PTH208

from __future__ import annotations

import json
import os
import stat
from contextlib import suppress

from ralph.adapters.files import open_plain, read_whole, write_atomic
from ralph.domain.trust.seal import RECORDS, mark_of, seal_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any

STORE = "trust.json"
SEAL = "seal"
LARGEST = 16_000_000
KEY_BYTES = 32


def store_folder(environ: Mapping[str, str]) -> str:
    """Empty if there is no place for it. A relative one would be a place in whatever project this is."""
    folder = environ.get("XDG_STATE_HOME", "")
    if not folder.startswith("/"):
        home = environ.get("HOME", "")
        folder = f"{home}/.local/state" if home.startswith("/") else ""
    return f"{folder}/ralph" if folder else ""


def trusted_digests(project: str, environ: Mapping[str, str]) -> frozenset[str]:
    """What was trusted in this project, by its real path."""
    return frozenset(_trusted(_projects(_read(environ)), project))


def remember(project: str, digests: Collection[str], environ: Mapping[str, str]) -> None:
    """Trust these too. Raises OSError."""

    def add(store: dict[str, Any]) -> None:
        projects = _projects(store)
        projects[project] = sorted({*_trusted(projects, project), *digests})
        store["projects"] = projects

    _change(environ, add)


def forget(project: str, environ: Mapping[str, str]) -> None:
    """Raises OSError."""

    def remove(store: dict[str, Any]) -> None:
        projects = _projects(store)
        projects.pop(project, None)
        store["projects"] = projects

    _change(environ, remove)


def _trusted(projects: Mapping[str, object], project: str) -> list[str]:
    known = projects.get(project)
    return [one for one in known if isinstance(one, str)] if isinstance(known, list) else []


# --- seals ---


def records_in(folder: str) -> list[str]:
    """What a state folder holds that ralph would act on."""
    try:
        return sorted(name for name in os.listdir(folder) if name in RECORDS)
    except OSError:
        return []


def is_sealed(folder: str, environ: Mapping[str, str]) -> bool:
    """Whether ralph made this folder here, for this user."""
    key = _key(_read(environ))
    found = read_whole(os.path.join(folder, SEAL), 1_000, follow=False) if key else None
    return found is not None and found.decode(errors="replace").strip() == seal_of(_place(folder), key)


def seal(folder: str, environ: Mapping[str, str]) -> None:
    """Raises OSError."""
    _write(os.path.join(folder, SEAL), f"{seal_of(_place(folder), _ensure_key(environ))}\n")


def mark(folder: str, name: str, content: object, environ: Mapping[str, str]) -> str:
    """For what ralph writes into a state folder; empty if no key can be kept, and then it will be asked about."""
    try:
        return mark_of(_place(folder), name, content, _key(_read(environ)) or _ensure_key(environ))
    except OSError:
        return ""


def is_marked(folder: str, name: str, content: object, found: object, environ: Mapping[str, str]) -> bool:
    """Whether ralph wrote this here, for this user."""
    key = _key(_read(environ))
    return bool(key) and found == mark_of(_place(folder), name, content, key)


def seal_unless_used(folder: str) -> None:
    """Whatever is written to it from now on is ours. A record that is there already came from elsewhere, or has a seal."""
    if not records_in(folder) and not is_sealed(folder, os.environ):
        with suppress(OSError):  # then the next run asks, and this one says so at its end
            seal(folder, os.environ)


def unseal(folder: str) -> None:
    """Raises OSError."""
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(folder, SEAL))


def _place(folder: str) -> str:
    """Where it is: a link in its place would lead to a folder that was sealed elsewhere."""
    return os.path.join(os.path.realpath(os.path.dirname(os.path.abspath(folder))), os.path.basename(folder))


# --- the file ---


def _read(environ: Mapping[str, str]) -> dict[str, Any]:
    """Empty if it is missing, damaged, or could have been written by somebody else."""
    folder = store_folder(environ)
    try:
        with open_plain(os.path.join(folder, STORE), follow=False) as file:
            status = os.fstat(file.fileno())
            if status.st_uid not in (os.geteuid(), 0) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                return {}
            store = json.loads(file.read(LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return store if isinstance(store, dict) else {}


def _projects(store: Mapping[str, Any]) -> dict[str, Any]:
    found = store.get("projects")
    return dict(found) if isinstance(found, dict) else {}


def _key(store: Mapping[str, Any]) -> bytes:
    try:
        key = bytes.fromhex(store.get("key", ""))
    except (TypeError, ValueError):
        return b""
    return key if len(key) == KEY_BYTES else b""


def _ensure_key(environ: Mapping[str, str]) -> bytes:
    """Raises OSError."""
    made: list[bytes] = []

    def ensure(store: dict[str, Any]) -> None:
        made.append(_key(store) or os.urandom(KEY_BYTES))
        store["key"] = made[0].hex()

    _change(environ, ensure)
    return made[0]


def _change(environ: Mapping[str, str], change: Callable[[dict[str, Any]], None]) -> None:
    """One process at a time: a lost key would make every sealed folder a stranger."""
    import fcntl

    folder = store_folder(environ)
    if not folder:
        raise OSError(0, "there is no home folder to remember it in")
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        os.chmod(folder, 0o700)
    lock = os.open(
        os.path.join(folder, "trust.lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
    )
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = _read(environ)
        store = dict(before)
        change(store)
        if store != before:
            file = os.path.join(folder, STORE)
            if not before:  # what cannot be believed must not hand on its permissions
                with suppress(FileNotFoundError):
                    os.unlink(file)
            _write(file, json.dumps(store, indent=1, sort_keys=True))
    finally:
        os.close(lock)


def _write(path: str, text: str) -> None:
    """Whole or not at all, for its owner only: both folders are private."""
    from pathlib import Path

    write_atomic(Path(path), text)
