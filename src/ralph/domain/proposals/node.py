"""package.json: its scripts, started by the package manager that locked its packages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from ralph.domain.proposals.proposal import Files, Kind, Proposal, propose

SOURCE = "package.json"
_LOCKS = {
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "package-lock.json": "npm",
}
_SCRIPTS = {
    "test": Kind.TEST,
    "lint": Kind.LINT,
    "check": Kind.LINT,
    "typecheck": Kind.TYPES,
    "type-check": Kind.TYPES,
    "check-types": Kind.TYPES,
}
_NO_TEST = "no test specified"  # what `npm init` writes
_NEVER_ENDS = "--watch"


def guardrails(files: Files) -> Iterator[Proposal]:
    package = _package(files)
    scripts = package.get("scripts")
    if not isinstance(scripts, dict):
        return
    manager = _manager(package, files)
    for name, kind in _SCRIPTS.items():
        script = scripts.get(name)
        if (
            isinstance(script, str)
            and script
            and _NO_TEST not in script
            and _NEVER_ENDS not in script.split()
        ):
            # `bun test` is bun's own runner, whatever the script says.
            is_short = name == "test" and manager != "bun"
            yield propose(f"{manager} test" if is_short else f"{manager} run {name}", SOURCE, kind)


def _package(files: Files) -> Mapping[str, object]:
    try:
        package = json.loads(files.read(SOURCE) or "{}")
    except (ValueError, RecursionError):
        return {}
    return package if isinstance(package, dict) else {}


def _manager(package: Mapping[str, object], files: Files) -> str:
    found = next((program for lock, program in _LOCKS.items() if files.read(lock) is not None), "")
    named = str(package.get("packageManager", "")).partition("@")[0]
    return found or (named if named in _LOCKS.values() else "npm")
