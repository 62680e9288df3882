"""Where a sandboxed run takes place: everything the kinds of sandbox have to know about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ralph.domain.sandbox.needs import AgentNeeds


def _silent(message: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Site:
    """``environ`` is the whole environment that the runner gives to processes; a sandbox lets a part of it in."""

    workspace: Path
    state_folder: Path  # .ralph, of the workspace or of the main checkout
    programs: tuple[str, ...]  # of the agent and those that stand in for it, as they would be started
    run_id: str
    environ: Mapping[str, str]
    needs: AgentNeeds = AgentNeeds()  # of these agents
    explicit: frozenset[str] = frozenset()  # variables that settings gave to the agent: they always stay
    writable: tuple[Path, ...] = ()  # besides the workspace: the task folder
    network_log: Path | None = None
    report: Callable[[str], None] = field(default=_silent)  # what the user should know, while the run goes on

    @property
    def home(self) -> Path:
        return Path(self.environ.get("HOME") or "/nonexistent")

    @property
    def path(self) -> str:
        return self.environ.get("PATH") or "/usr/local/bin:/usr/bin:/bin"
