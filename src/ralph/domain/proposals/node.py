"""package.json: its scripts, started by the package manager that locked its packages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from ralph.domain.proposals.proposal import Files, Kind, Proposal, first_there, propose

SOURCE = "package.json"
_LOCKS = {
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "package-lock.json": "npm",
}
_INSTALL = {
    "npm": "npm ci --no-audit --no-fund",
    "pnpm": "pnpm install --frozen-lockfile",
    "bun": "bun install --frozen-lockfile",
}
"""None of them changes the lock file."""
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


def setup(files: Files) -> Iterator[Proposal]:
    """Only what is locked: otherwise an installation would write a lock file that nobody asked for."""
    lock = first_there(files, *_LOCKS)
    if not lock or files.read(SOURCE) is None:
        return
    # Yarn's first version and its successors name the same option differently.
    option = "--frozen-lockfile" if "yarn lockfile v1" in (files.read(lock) or "") else "--immutable"
    yield propose(_INSTALL.get(_LOCKS[lock], f"yarn install {option}"), lock)


def _package(files: Files) -> Mapping[str, object]:
    try:
        package = json.loads(files.read(SOURCE) or "{}")
    except (ValueError, RecursionError):
        return {}
    return package if isinstance(package, dict) else {}


def _manager(package: Mapping[str, object], files: Files) -> str:
    found = _LOCKS.get(first_there(files, *_LOCKS), "")
    named = str(package.get("packageManager", "")).partition("@")[0]
    return found or (named if named in _LOCKS.values() else "npm")
