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
from dataclasses import dataclass
from pathlib import Path
from typing import Final

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

AGENTS: Final[Mapping[str, Package]] = {
    "claude": Package("@anthropic-ai/claude-code", "2.1.325"),
    "codex": Package("@openai/codex", "0.166.0"),
    "gemini": Package("@google/gemini-cli", "0.61.0"),
    "opencode": Package("opencode-ai", "1.18.33"),
    "qwen": Package("@qwen-code/qwen-code", "0.24.4"),
    "copilot": Package("@github/copilot", "1.0.102"),
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
    _install(cache, NODE)
    for package in (INSPECTOR, *(AGENTS[agent] for agent in agents)):
        _install(cache, package)


def _install(cache: Path, package: Package) -> None:
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
