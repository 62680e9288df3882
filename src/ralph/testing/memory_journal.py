"""A journal in memory; the session files it names are never written."""

from __future__ import annotations

from pathlib import Path

from ralph.domain.loop.events import LoopEvent
from ralph.domain.loop.state import LoopState
from ralph.engine.ports import SessionFiles
from ralph.values import dataclass, field


@dataclass(slots=True)
class MemoryJournal:
    """What was recorded, for the test to inspect."""

    folder: Path = Path("memory")
    events: list[LoopEvent] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)
    states: list[LoopState] = field(default_factory=list)

    def open_session(self, prompt: str, *, iteration: int, attempt: int, purpose: str = "") -> SessionFiles:
        self.prompts.append(prompt)
        name = f"{iteration:03}_{attempt}{purpose}"
        return SessionFiles(self.folder / f"prompt_{name}.txt", self.folder / f"agent_{name}.log")

    def check_log(self, iteration: int, slug: str) -> Path:
        return self.folder / f"guardrail_{iteration:03}_{slug}.log"

    def name_of(self, log: Path) -> str:
        return str(log)

    def append(self, event: LoopEvent, *, at: float) -> None:
        self.events.append(event)

    def flush(self) -> None:
        pass

    def commit(self, state: LoopState) -> None:
        self.states.append(state)
