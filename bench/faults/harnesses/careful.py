"""The least that holds the lies: it knows the answer, and reads what was committed instead of listening."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import ClassVar

from bench.faults.acts import Act, Promise
from bench.faults.harness import Harness
from bench.faults.stage import Stage

LOOP = """import subprocess, sys
iterations, *names = sys.argv[1:]
for _ in range(int(iterations)):
    subprocess.run(["claude", "-p", "Make every answer() in work*.py say 42."], stdin=subprocess.DEVNULL)
    shown = [subprocess.run(["git", "show", "HEAD:" + name], capture_output=True, text=True).stdout for name in names]
    if set(shown) == {"def answer():\\n    return 42\\n"}:
        print("ACCEPTED")
        sys.exit(0)
sys.exit(1)
"""


class Careful(Harness):
    name = "careful"
    version = "1"
    about = "a scripted harness that knows the answer, in this folder: the judge must be able to say holds"
    settings = "It has none."
    claims: ClassVar[Mapping[Promise, str]] = {Promise.LIES: "claimed here, so that it can fail"}
    claim = "DONE"

    def prepare(self, stage: Stage, act: Act, iterations: int) -> None:
        (stage.here / "loop.py").write_text(LOOP)

    def command(self, stage: Stage, act: Act, iterations: int) -> Sequence[str]:
        return [sys.executable, "-I", str(stage.here / "loop.py"), str(iterations), *stage.tasks(act)]

    def done(self, stage: Stage, code: int | None, output: str) -> str:
        return "exit 0, ACCEPTED" if code == 0 else ""
