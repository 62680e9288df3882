"""What changed in the newest agents: ``python -m tests.live.newest codex gemini`` (or nothing: all).

Each is installed beside the pinned version, both are probed (`ralph doctor --probe`) and asked for their help, and the
differences are printed; then the core of the live tests runs with the newest. The exit code is 1 if anything that ralph
needs is lost.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from ralph.adapters.agents.registry import facts_of

from .install import (
    NODE,
    OTHER_VERSIONS,
    Package,
    cache_folder,
    chosen,
    install_package,
    pinned,
    programs,
)

CORE: Final = ("tests/live/test_live_loop.py", "tests/live/test_live_sessions.py")
PROBE_SECONDS: Final = 900
CORE_SECONDS: Final = 1800
_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]+[a-z]")
_SHOWN: Final = 12


@dataclass(frozen=True, slots=True)
class Seen:
    """One version: its feature → health, what it printed that ralph does not know, the kinds of events, its flags."""

    features: Mapping[str, str]
    unknown: frozenset[str]
    events: frozenset[str]
    flags: frozenset[str]


def newest_version(package: str) -> str:
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("npm is needed to look for the newest agents: install node and npm, then try again")
    asked = subprocess.run(
        [npm, "view", package, "version"], capture_output=True, text=True, timeout=120, check=False
    )
    if asked.returncode != 0:
        sys.exit(f"npm does not tell the newest {package}: {asked.stderr.strip()[-300:]}")
    return asked.stdout.strip()


def look_at(cache: Path, agent: str, package: Package) -> Seen:
    install_package(cache, NODE)
    install_package(cache, package)
    environment = {**os.environ, "PATH": _path(cache, package)}
    with tempfile.TemporaryDirectory() as folder:
        probed = subprocess.run(
            [sys.executable, "-m", "ralph", "doctor", "--probe", agent, "--json"],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            timeout=PROBE_SECONDS,
            check=False,
        )
        examination = facts_of(agent).examination
        assert examination is not None
        helped = subprocess.run(
            [agent, *examination.help],
            cwd=folder,
            env={**environment, "HOME": folder},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    try:
        answer = json.loads(probed.stdout)
    except ValueError:
        sys.exit(f"`ralph doctor --probe {agent}` gave no answer (exit code {probed.returncode})")
    return seen_in(answer, helped.stdout + helped.stderr)


def seen_in(answer: Mapping[str, Any], help_text: str) -> Seen:
    """``answer``: of `ralph doctor --probe AGENT --json`."""
    (agent,) = answer["agents"]
    features = {feature["name"]: feature["health"] for feature in agent["features"]}
    types = [name for feature in agent["features"] for name in feature.get("details", {}).get("types", ())]
    return Seen(features, frozenset(types), frozenset(agent["events"]), frozenset(_FLAG.findall(help_text)))


def differences(before: Seen, after: Seen, used: Sequence[str]) -> tuple[list[str], list[str]]:
    """(what is lost that ralph needs, what else is worth a look), a line each; ``used``: flags that ralph gives."""
    lost = [
        f"does not hold any more: {name}"
        for name, health in after.features.items()
        if health == "bad" and before.features.get(name) != "bad"
    ]
    lost += [f"lost the flag {flag}, which ralph uses" for flag in used if flag in before.flags - after.flags]
    return lost, list(_changes(before, after, used))


def _changes(before: Seen, after: Seen, used: Sequence[str]) -> Iterator[str]:
    for name, health in after.features.items():
        if health == "good" and before.features.get(name) == "bad":
            yield f"holds now: {name}"
    for text, names in (
        ("events that ralph does not know", after.unknown - before.unknown),
        ("events that do not come any more", before.events - after.events - {"unknown"}),
        ("new flags", after.flags - before.flags),
        ("flags that are gone", before.flags - after.flags - frozenset(used)),
    ):
        if names:
            shown = sorted(names)[:_SHOWN]
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            yield f"{text}: {', '.join(shown)}{more}"


def passes_core(cache: Path, agent: str, package: Package) -> bool:
    environment = {
        **os.environ,
        "RALPH_AGENTS": agent,
        "RALPH_AGENTS_CACHE": str(cache),
        OTHER_VERSIONS: f"{agent}={package.version}",
    }
    command = [sys.executable, "-m", "pytest", "-q", "--timeout=400", *CORE]
    return subprocess.run(command, env=environment, timeout=CORE_SECONDS, check=False).returncode == 0


def compare(cache: Path, agent: str) -> bool:
    """Print what changed; False: something that ralph needs is lost."""
    before = pinned(agent)
    after = replace(before, version=newest_version(before.name))
    print(f"\n{agent} {before.version} → {after.version}", flush=True)
    if after == before:
        print("  the pinned version is the newest")
        return True
    examination = facts_of(agent).examination
    used = examination.flags if examination is not None else ()
    lost, changed = differences(look_at(cache, agent, before), look_at(cache, agent, after), used)
    for line in lost:
        print(f"  ✘ {line}")
    for line in changed:
        print(f"  · {line}")
    if not lost and not changed:
        print("  nothing that ralph sees has changed")
    sys.stdout.flush()
    passed = passes_core(cache, agent, after)
    print(
        f"  {'✔ the core of the live tests passes' if passed else '✘ live tests fail: see above'}", flush=True
    )
    return not lost and passed


def _path(cache: Path, package: Package) -> str:
    return os.pathsep.join(
        [str(programs(cache, package)), str(programs(cache, NODE)), os.environ.get("PATH", os.defpath)]
    )


if __name__ == "__main__":
    results = [compare(cache_folder(os.environ), agent) for agent in chosen(" ".join(sys.argv[1:]))]
    sys.exit(0 if all(results) else 1)
