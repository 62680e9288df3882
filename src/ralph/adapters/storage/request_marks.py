"""The mark of a run's ``request.json``: ralph wrote it, here. What it names runs when the run is resumed, so git or an archive
must not bring one along unseen.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ralph.adapters import beneath
from ralph.adapters.storage.places import RUNS
from ralph.adapters.trust_store import is_marked, mark
from ralph.domain.trust.demand import Demand

REQUEST = "request.json"
MARK = "mark"
MOST_BYTES = 100_000_000
MEANS = "resumes a run that ralph cannot tell from a stranger's, with"


def with_mark(content: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """``folder``: the run's, ``<project>/.ralph/runs/<id>``."""
    state, name = _names(folder)
    written = json.loads(json.dumps(content))  # as it will be read
    return {**content, MARK: mark(state, name, written, os.environ)}


def read_request(folder: Path, top: Path) -> dict[str, Any]:
    """Without its mark, as it can go elsewhere; empty if it cannot be read."""
    data = beneath.read_whole(folder / REQUEST, MOST_BYTES, top)
    try:
        content = json.loads(data or b"{}")
    except (ValueError, RecursionError):
        return {}
    return {key: value for key, value in content.items() if key != MARK} if isinstance(content, dict) else {}


def strange_request(folder: Path, environ: Mapping[str, str] = os.environ) -> Iterator[Demand]:
    """What the run's request asks for, unless ralph wrote it here; nothing if it cannot be read."""
    state, name = _names(folder)
    try:
        content = json.loads(beneath.read_plain(folder / REQUEST, MOST_BYTES, Path(state)))
        found = content.pop(MARK, "")
        demand = request_demand(content, folder.name)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return
    if not is_marked(state, name, content, found, environ):
        yield demand


def request_demand(content: Mapping[str, Any], run_id: str) -> Demand:
    """What a request asks for. Raises LookupError, TypeError or ValueError if it is none."""
    flags = {".".join(map(str, path)): value for path, value, _ in content["flags"]}
    whole = json.dumps(content, sort_keys=True)
    return Demand(MEANS, flags or "no flags", run_id, f".ralph/{RUNS}/{run_id}/{REQUEST}", whole=whole)


def strange_requests(state_folder: Path, environ: Mapping[str, str]) -> Iterator[Demand]:
    """Of all runs."""
    try:
        names = beneath.list_names(state_folder / RUNS, state_folder)
    except OSError:
        return
    for name in names:
        yield from strange_request(state_folder / RUNS / name, environ)


def _names(folder: Path) -> tuple[str, str]:
    folder = folder.absolute()
    return str(folder.parent.parent), f"{RUNS}/{folder.name}/{REQUEST}"
