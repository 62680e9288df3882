"""Resume a run: the same request, with today's settings and perhaps a new limit."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ralph.adapters.storage.places import run_folder
from ralph.adapters.storage.request_marks import strange_request
from ralph.adapters.storage.run_files import RunRequest, load_request
from ralph.config.loading import load, recorded
from ralph.config.root import STATE_FOLDER, Root, shares_record
from ralph.config.sources import Flag
from ralph.domain.text.secret_names import MASK
from ralph.domain.views.runs import RunView
from ralph.errors import UsageError
from ralph.operations.runs.choose import resumable_run
from ralph.operations.runs.surroundings import require_outside
from ralph.values import dataclass, replace
from ralph.wiring.launch import Launch
from ralph.wiring.profiles import load_profile, prepare_again

ALLOWED = ("allowTestChanges",)
NO_LIMITS = frozenset({("limits", "waitForLimits"), ("proof",), ALLOWED})
"""They do not make an exhausted run one that can continue."""


@dataclass(frozen=True, slots=True)
class Resumption:
    """``changed``: one line for each setting that has changed since the run began."""

    run: RunView
    launch: Launch
    changed: Sequence[str]


def prepare_resume(
    root: Root,
    reference: str | None,
    *,
    iterations: int | None = None,
    flags: Sequence[Flag] = (),
    as_found: bool = False,
    keeps_settings: bool = False,
) -> Resumption:
    """``iterations`` and ``flags`` replace the run's own; files that it may change are added to them. ``as_found``: what is
    there now is the user's word. ``keeps_settings``: what the project's files said when the run began still counts: nobody
    but its sessions has changed them since."""
    extended = iterations is not None or any(tuple(path) not in NO_LIMITS for path, *_ in flags)
    run = resumable_run(root, reference, extended=extended)
    require_outside(root.state / STATE_FOLDER, run.id)
    folder = run_folder(root.state / STATE_FOLDER, run.id)
    request, asked = load_request(folder), tuple(strange_request(folder))
    _require_resumable(run, request, root)
    given = _merge([*request.flags, *_iteration_flag(request, iterations), *flags])
    kept = request.project_files if keeps_settings else None
    loaded = load(root.state, environ=os.environ, flags=given, kept=kept)
    launch = prepare_again(
        request.profile, request.arguments, loaded, Root(root.state, Path(request.workspace)), resumes=run.id
    )
    launch = replace(launch, demands=(*launch.demands, *asked), as_found=as_found)
    if iterations is not None:  # not every profile has a setting that says so
        launch = replace(launch, maximum=iterations)
    return Resumption(run, launch, tuple(_differences(request.settings, recorded(loaded))))


def _require_resumable(run: RunView, request: RunRequest, root: Root) -> None:
    if request.by_program:
        message = f"run {run.id} was started by a program that may have its own checks"
        raise UsageError(
            message, hint=f"resume it there: prepare_run(…, resumes={run.id!r}); or name another run"
        )
    if not Path(request.workspace).is_dir():
        message = f"the working tree of run {run.id} no longer exists: {request.workspace}"
        raise UsageError(message, hint="make it again (`git worktree add`), or start a new run")
    if not shares_record(Path(request.workspace), root.state):
        message = f"run {run.id} names a folder that is neither the project nor a worktree of it: {request.workspace}"
        raise UsageError(message, hint="start a new run")


def _merge(given: Sequence[tuple[Sequence[str], object, str]]) -> list[Flag]:
    """The last of each counts; whatever was allowed stays allowed."""
    merged: dict[tuple[str, ...], Flag] = {}
    for path, value, origin in given:
        key = tuple(path)
        before = merged[key][1] if key in merged else None
        if key == ALLOWED and isinstance(before, list) and isinstance(value, list):
            merged[key] = (key, list(dict.fromkeys([*before, *value])), origin)
        else:
            merged[key] = (key, value, origin)
    return list(merged.values())


def _iteration_flag(request: RunRequest, iterations: int | None) -> list[Flag]:
    """`basic` has its settings at the top, the other profiles have a section each."""
    profile = load_profile(request.profile)
    if iterations is None or not profile.limit:
        return []
    section = () if profile.name == "basic" else ("profiles", profile.name)
    return [((*section, profile.limit), iterations, "--max-iterations")]


def _differences(before: Mapping[str, object], now: Mapping[str, object], path: str = "") -> Iterator[str]:
    """Of what the record may keep: see ``recorded``."""
    for key in sorted({*before, *now}):
        name = f"{path}.{key}" if path else key
        old, new = before.get(key), now.get(key)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from _differences(old, new, name)
        elif old != new and MASK not in json.dumps([old, new]):
            was, now_is = _words(old), _words(new)
            yield f"{name} was {was}, is {now_is}" if was and now_is else f"{name} has changed"


def _words(value: object) -> str:
    """For people; empty: it is not for one line."""
    if value in (None, [], ""):
        return "not set"
    if not isinstance(value, list):
        return _word(value)
    each = list(map(_word, value))
    return ", ".join(each) if all(each) else ""


def _word(value: object) -> str:
    """A guardrail is told by its command."""
    match value:
        case bool():
            return "on" if value else "off"
        case str() | int() | float():
            return str(value)
        case Mapping():
            return str(value.get("command") or "")
        case _:
            return ""
