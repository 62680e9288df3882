"""Programs that stand in for those that keep sandboxes."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from ralph.adapters.isolation.sandbox import Site
from ralph.adapters.own_programs import OwnPrograms
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.config.schema import Settings
from ralph.wiring.agents import needs_of

RECORDER = Path(__file__).parents[1] / "data" / "sandboxes" / "recorder.py"


@dataclass
class StandIns:
    """Programs that write down how they were called and fail on what the real ones do not take."""

    folder: Path
    workspace: Path
    environ: dict[str, str]

    def install(self, *names: str) -> None:
        for name in names:
            link = self.folder / "lib" / name  # the recorder knows by its name whom it stands in for
            link.symlink_to(RECORDER)
            program = self.folder / "bin" / name
            program.write_text(f"#!/bin/sh\nexec '{sys.executable}' -I '{link}' \"$@\"\n")
            program.chmod(0o755)

    def answer(self, *answers: tuple[list[str], int, str, str]) -> None:
        (self.folder / "answers.json").write_text(json.dumps(answers))

    def calls(self) -> list[dict[str, object]]:
        file = self.folder / "calls.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def argvs(self) -> list[list[str]]:
        return [list(call["argv"]) for call in self.calls()]  # type: ignore[call-overload]

    def site(self, *programs: str) -> Site:
        agents = programs or ("claude",)
        needs = needs_of(Settings(), agents)
        own = OwnPrograms(self.environ, (self.workspace,))
        return Site(self.workspace, self.workspace / ".ralph", agents, "run-1", self.environ, needs, own=own)

    def runner(self) -> PosixProcessRunner:
        return PosixProcessRunner(run_id="run-1", base_environment=self.environ)
