"""Which version of an agent is installed, by its files: nothing is started for it, and it takes no time."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Final

from ralph.adapters.files import read_whole, real_path
from ralph.domain.agent.facts import AgentFacts
from ralph.domain.text.versions import version_in

_MOST_BYTES: Final = 256 * 1024
_LEVELS: Final = 6  # from a program up to the top of its package


def installed_version(program: Path, facts: AgentFacts) -> str:
    """Empty if no file says so for certain: a wrapper in a folder of its own may start anything."""
    real = real_path(program)
    return _by_package(real, facts.package) or _by_folder(real, facts.name)


def _by_package(program: Path, package: str) -> str:
    for folder in islice(program.parents, _LEVELS):
        data = read_whole(folder / "package.json", _MOST_BYTES)
        if data is None:
            continue
        try:
            described = json.loads(data)
        except (ValueError, RecursionError):
            return ""
        is_it = isinstance(described, dict) and package and described.get("name") == package
        return _version(described.get("version")) if is_it else ""
    return ""


def _by_folder(program: Path, name: str) -> str:
    """As native installers and Homebrew lay it out: ``claude/versions/2.1.325``, ``codex/0.166.0/bin/codex``."""
    parts = program.parts
    for place, part in enumerate(parts):
        above = parts[:place]
        if (above[-1:] == (name,) or above[-2:] == (name, "versions")) and (found := _version(part)):
            return found
    return ""


def _version(given: object) -> str:
    """Nothing but a version: not a text that has one somewhere."""
    found = version_in(given) if isinstance(given, str) else ""
    return found if found == given else ""
