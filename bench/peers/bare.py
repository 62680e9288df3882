"""The loop that costs least: it starts the agent again and again, and does nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from bench.faults.acts import Act, Promise
from bench.faults.harness import Harness
from bench.faults.stage import Stage

LOOP = """for ((i = 0; i < {iterations}; i++)); do
  claude -p "Make answer() in work.py say 42." --output-format stream-json --verbose < /dev/null >> agent.log
done
"""


class Bare(Harness):
    claims: ClassVar[Mapping[Promise, str]] = {}
    name = "bare loop"
    version = "1"
    about = "a bash loop of three lines, in bench/peers/bare.py"
    settings = "It has none."

    def prepare(self, stage: Stage, act: Act, iterations: int) -> None:
        (stage.root / "loop.sh").write_text(LOOP.replace("{iterations}", str(iterations)))

    def command(self, stage: Stage, act: Act, iterations: int) -> Sequence[str]:
        return ["bash", "loop.sh"]

    def done(self, stage: Stage, code: int | None, output: str) -> str:
        return ""
