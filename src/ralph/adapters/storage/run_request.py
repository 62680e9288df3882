"""What a run was started with, so that ``ralph resume`` can start it again: ``runs/<id>/request.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ralph.adapters.files import write_atomic
from ralph.errors import StoreError

VERSION = 2


@dataclass(frozen=True, slots=True)
class RunRequest:
    """``arguments`` are the profile's own; ``flags`` are (key path, value, name of the flag); ``settings`` what was in
    effect then. ``by_program``: started by a program, which may have changed any part of the run."""

    profile: str
    arguments: Mapping[str, object]
    workspace: str
    flags: Sequence[tuple[Sequence[str], object, str]] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    by_program: bool = False


def save_request(folder: Path, request: RunRequest) -> None:
    """Only for the user's eyes: prompts and flags may hold secrets."""
    content = {
        "version": VERSION,
        "profile": request.profile,
        "arguments": request.arguments,
        "workspace": request.workspace,
        "flags": [[list(path), value, origin] for path, value, origin in request.flags],
        "settings": request.settings,
        "byProgram": request.by_program,
    }
    path = folder / "request.json"
    write_atomic(path, json.dumps(content, indent=1) + "\n")
    path.chmod(0o600)


def save_flags(folder: Path, flags: Sequence[tuple[Sequence[str], object, str]]) -> None:
    """What a resumed run was given stays with it, should it be cut off once more."""
    try:
        request = load_request(folder)
    except StoreError:
        return  # whoever needs it will say what is wrong with it
    if list(request.flags) != list(flags):
        save_request(folder, replace(request, flags=flags))


def load_request(folder: Path) -> RunRequest:
    path = folder / "request.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["version"] != VERSION:
            message = f"{path} was written by another version of ralph ({content['version']})"
            raise StoreError(message, hint="start a new run with `ralph run`")
        return RunRequest(
            profile=str(content["profile"]),
            arguments=dict(content["arguments"]),
            workspace=str(content["workspace"]),
            flags=[(tuple(map(str, path)), value, str(origin)) for path, value, origin in content["flags"]],
            settings=dict(content["settings"]),
            by_program=content.get("byProgram") is True,
        )
    except FileNotFoundError:
        message = f"{path} is missing, so it is not known how the run was started"
        raise StoreError(message, hint="start a new run with `ralph run`") from None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        message = f"{path} cannot be read: {error}"
        raise StoreError(message, hint="start a new run with `ralph run`") from error
