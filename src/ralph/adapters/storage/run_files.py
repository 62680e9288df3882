"""The JSON files in a run's folder: ``request.json``, which `ralph resume` needs, and ``receipt.json``."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ralph.adapters import beneath
from ralph.adapters.storage.places import located, recorded
from ralph.adapters.storage.request_marks import MOST_BYTES, REQUEST, with_mark
from ralph.errors import StoreError
from ralph.values import dataclass, field, replace

VERSION = 2
NEW_RUN = "start a new run with `ralph run`"
PATHS = ("promptFile", "ralphDir", "taskFolder", "folder")
"""The arguments that are paths. Those inside the project are kept relative to it: see ``places``."""
RECEIPT_RUN = "SELECT id, profile, agent, root, started_at, ended_at FROM runs WHERE id = ?"


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a run was started with.

    ``arguments`` are the profile's own; ``flags`` are (key path, value, name of the flag); ``settings`` are those in
    effect at the time. ``by_program``: a program started it and may have replaced any part of the run. ``project_files``: the
    project's files of settings, of a run that keeps them through many processes; None: each reads them again.
    """

    profile: str
    arguments: Mapping[str, object]
    workspace: str
    flags: Sequence[tuple[Sequence[str], object, str]] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    by_program: bool = False
    project_files: Mapping[str, bytes] | None = None


def save_request(folder: Path, request: RunRequest) -> None:
    """Readable by the user alone: prompts and flags may hold secrets."""
    project = _project_of(folder)
    content = {
        "version": VERSION,
        "profile": request.profile,
        "arguments": {key: _kept(key, value, project) for key, value in request.arguments.items()},
        "workspace": recorded(Path(request.workspace), project),
        "flags": [[list(path), value, origin] for path, value, origin in request.flags],
        "settings": request.settings,
        "byProgram": request.by_program,
    }
    if request.project_files is not None:
        files = request.project_files.items()
        content["projectFiles"] = {name: data.decode(errors="surrogateescape") for name, data in files}
    text = json.dumps(with_mark(content, folder), indent=1) + "\n"
    beneath.write_atomic(folder / REQUEST, text, _state_of(folder))


def save_flags(folder: Path, flags: Sequence[tuple[Sequence[str], object, str]]) -> None:
    """Keep the flags of a resumed run, in case it is interrupted again."""
    try:
        request = load_request(folder)
    except StoreError:
        return  # whoever needs the request will report what is wrong with it
    if list(request.flags) != list(flags):
        save_request(folder, replace(request, flags=flags))


def load_request(folder: Path) -> RunRequest:
    path = folder / REQUEST
    try:
        content = json.loads(beneath.read_plain(path, MOST_BYTES, _state_of(folder)))
        if content["version"] != VERSION:
            message = f"{path} was written by another version of ralph ({content['version']})"
            raise StoreError(message, hint=NEW_RUN)
        project, was = _project_of(folder), Path(str(content["workspace"]))
        now = located(str(was), project)
        arguments = dict(content["arguments"])
        return RunRequest(
            profile=str(content["profile"]),
            arguments={
                key: _found(key, value, project, was=was, now=now) for key, value in arguments.items()
            },
            workspace=str(now),
            flags=[(tuple(map(str, path)), value, str(origin)) for path, value, origin in content["flags"]],
            settings=dict(content["settings"]),
            by_program=content.get("byProgram") is True,
            project_files=_project_files(content.get("projectFiles")),
        )
    except FileNotFoundError:
        message = f"{path} is missing, so how the run was started is unknown"
        raise StoreError(message, hint=NEW_RUN) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        message = f"{path} cannot be read: {error}"
        raise StoreError(message, hint=NEW_RUN) from error


def _project_files(kept: Any) -> dict[str, bytes] | None:
    if kept is None:
        return None
    return {str(name): str(text).encode(errors="surrogateescape") for name, text in kept.items()}


def keep_prompt(file: Path, shown: str) -> None:
    """The session is over, and has read its prompt: the record keeps it without secrets."""
    with suppress(OSError):  # a full disk, say: it is for the user's eyes alone
        beneath.write_atomic(file, shown, _state_of(file.parent))


def mask_prompts(folder: Path, redact: Callable[[str], str]) -> None:
    """Those of sessions that were killed before they had ended."""
    try:
        names = beneath.list_names(folder, _state_of(folder))
    except OSError:
        return
    for file in (folder / name for name in names if fnmatchcase(name, "prompt_*.txt")):
        data = beneath.read_whole(file, MOST_BYTES, _state_of(folder))
        text = data.decode(errors="replace") if data is not None else ""
        if (shown := redact(text)) != text:
            keep_prompt(file, shown)


def _state_of(run_folder: Path) -> Path:
    """``<project>/.ralph/runs/<id>``"""
    return run_folder.absolute().parent.parent


def _project_of(run_folder: Path) -> Path:
    return _state_of(run_folder).parent


def _kept(key: str, value: object, project: Path) -> object:
    if key not in PATHS or not isinstance(value, str) or not Path(value).is_relative_to(project):
        return value
    return recorded(Path(value), project)


def _found(key: str, value: object, project: Path, *, was: Path, now: Path) -> object:
    if key not in PATHS or not isinstance(value, str) or not value:
        return value
    path = Path(value)
    if was.is_absolute() and path.is_relative_to(was):  # an earlier version wrote it
        path = now / path.relative_to(was)
    return str(project / path)


def write_receipt(database: sqlite3.Connection, run_folder: Path, run_id: str) -> Path:
    from ralph.adapters.storage.database import store_errors  # what only a run that has ended needs

    path = run_folder / "receipt.json"
    text = json.dumps(read_receipt(database, run_folder, run_id), indent=1) + "\n"
    with store_errors(path):
        beneath.write_atomic(path, text, _state_of(run_folder))
    return path


def read_receipt(database: sqlite3.Connection, run_folder: Path, run_id: str) -> dict[str, Any]:
    """Of everything that is on record so far."""
    from ralph.adapters.storage.database import store_errors
    from ralph.adapters.storage.wire import decode_event, restore
    from ralph.domain.views.receipt import KINDS, receipt

    kinds = ", ".join("?" * len(KINDS))
    query = f"SELECT data FROM events WHERE run_id = ? AND kind IN ({kinds}) ORDER BY seq"  # noqa: S608
    with store_errors(run_folder):
        row = database.execute(RECEIPT_RUN, (run_id,)).fetchone()
        run = dict(zip(("run", "profile", "agent", "root", "started_at", "ended_at"), row, strict=True))
        run["root"] = str(located(run["root"], _project_of(run_folder)))
        stored = database.execute(query, (run_id, *KINDS))
        # A clone can bring others. One after the other: there may be tens of thousands.
        events = (decode_event(data) for (data,) in stored if restore(data) is not None)
        return receipt(run, events)
