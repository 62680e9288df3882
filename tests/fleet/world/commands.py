"""`ralph fleet …` as people type it, against a server of the tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.fleet.world.server import Server

WITHIN = 90.0


@dataclass(frozen=True)
class Typed:
    """``here``: the folder in which it is typed."""

    server: Server
    here: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        others = ("RALPH_", "XDG_", "TEMPORAL_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(others)}
        own = {"HOME": str(self.here), "GIT_CONFIG_GLOBAL": os.devnull}
        return {**kept, **self.server.environment, **own, **self.variables}

    def words(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "ralph", "fleet", *words]

    def __call__(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.words(*words),
            cwd=self.here,
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=WITHIN,
            check=False,
        )
