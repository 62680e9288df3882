"""Real agents, at pinned versions, in a cache folder: ``python -m tests.live.install claude codex`` (or nothing: all).

What is there already is left alone. A folder appears under its final name only when it is complete, so an interrupted
or a second installation does no harm. Needs npm; the node that runs the agents is installed too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ralph.adapters.agents.registry import facts_of

from .agents import LIVE_AGENTS

INSTALL_SECONDS: Final = 900


@dataclass(frozen=True, slots=True)
class Package:
    """An npm package at the version that our adapters were tried with."""

    name: str
    version: str

    @property
    def folder(self) -> str:
        return f"{self.name.rpartition('/')[2]}-{self.version}"


NODE: Final = Package("node", "22.23.3")  # claude and qwen want 22; with an older one npm picks old agents


def pinned(agent: str) -> Package:
    """What the agent's own module says that it is tested with."""
    facts = facts_of(agent)
    assert facts.examination is not None
    assert facts.examination.known_good is not None
    return Package(facts.package, facts.examination.known_good.tested)


def _given(versions: str) -> dict[str, str]:
    """``"codex=0.170.0,claude=2.2.0"``, by agent."""
    return dict(each.split("=", 1) for each in versions.split(",") if each)


OTHER_VERSIONS: Final = "RALPH_AGENT_VERSIONS"
"""The variable that asks for others than the pinned ones: ``codex=0.170.0``."""

AGENTS: Final[Mapping[str, Package]] = {
    name: replace(pinned(name), version=version) if version else pinned(name)
    for name in LIVE_AGENTS
    for version in (_given(os.environ.get(OTHER_VERSIONS, "")).get(name),)
}

INSPECTOR: Final = Package("@modelcontextprotocol/inspector", "2.12.0")
"""The reference client of MCP servers; it comes with the agents."""


def cache_folder(environment: Mapping[str, str]) -> Path:
    given = environment.get("RALPH_AGENTS_CACHE")
    return Path(given) if given else Path.home() / ".cache" / "ralph-agents"


def programs(cache: Path, package: Package) -> Path:
    """Where the package's programs are once it is installed."""
    return cache / package.folder / "node_modules" / ".bin"


def is_installed(cache: Path, agent: str) -> bool:
    return programs(cache, NODE).is_dir() and programs(cache, AGENTS[agent]).is_dir()


def chosen(names: str) -> list[str]:
    """Agents by name (``"claude,codex"``); none given: all."""
    wanted = names.replace(",", " ").split()
    unknown = [name for name in wanted if name not in AGENTS]
    if unknown:
        sys.exit(f"unknown agent {', '.join(unknown)}; known: {', '.join(AGENTS)}")
    return wanted or list(AGENTS)


def install(cache: Path, agents: Sequence[str]) -> None:
    cache.mkdir(parents=True, exist_ok=True)
    install_package(cache, NODE)
    for package in (INSPECTOR, *(AGENTS[agent] for agent in agents)):
        install_package(cache, package)


def install_package(cache: Path, package: Package) -> None:
    final = cache / package.folder
    if final.is_dir():
        return
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("npm is needed to install the agents: install node and npm, then try again")
    print(f"installing {package.name} {package.version} into {cache} …", flush=True)
    partial = cache / f".{package.folder}.{os.getpid()}"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    quiet = ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
    try:
        subprocess.run(
            [npm, "install", f"--prefix={partial}", *quiet, f"{package.name}@{package.version}"],
            env={**os.environ, "PATH": f"{programs(cache, NODE)}{os.pathsep}{os.environ['PATH']}"},
            timeout=INSTALL_SECONDS,
            stdin=subprocess.DEVNULL,
            check=True,
        )
        if not final.is_dir():  # another installation may have been faster
            partial.replace(final)
    except subprocess.CalledProcessError as error:
        sys.exit(f"npm could not install {package.name} {package.version} (exit code {error.returncode})")
    finally:
        shutil.rmtree(partial, ignore_errors=True)


if __name__ == "__main__":
    install(cache_folder(os.environ), chosen(" ".join(sys.argv[1:])))
