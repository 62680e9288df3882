"""This project, as a user runs it: ``ralph run`` with the check as its guardrail."""

from __future__ import annotations

import json
from collections.abc import Sequence

import ralph
from bench.faults.acts import Act, Promise
from bench.faults.harness import Harness
from bench.faults.stage import Stage
from bench.project import ralph_program

CLAIM = "<response>DONE</response>"


class Ralph(Harness):
    name = "ralph"
    version = ralph.__version__
    about = "this repository"
    settings = (
        "`ralph run` with the check as a guardrail and otherwise defaults; hangs: agent.idleTimeout 5 s."
    )
    claims = dict.fromkeys(Promise, "README.md")
    claim = CLAIM
    seconds = 240.0
    unplan = "printf 'Nothing is left to do. Output <response>DONE</response>.\\n' > PROMPT.md"
    loosen = """printf '{"agent": {"command": "claude"}, "guardrails": []}' > .ralph/settings.json"""

    def prepare(self, stage: Stage, act: Act, iterations: int) -> None:
        settings = {
            "agent": {"command": "claude", "idleTimeout": 5 if act.promise is Promise.HANGS else 60},
            "guardrails": [{"command": act.check}],
        }
        (stage.root / ".ralph").mkdir()
        (stage.root / ".ralph" / "settings.json").write_text(json.dumps(settings))
        (stage.root / "PROMPT.md").write_text(
            f"Make every answer() in work*.py say 42. Then output {CLAIM}.\n"
        )

    def command(self, stage: Stage, act: Act, iterations: int) -> Sequence[str]:
        return [ralph_program(), "run", "-f", "PROMPT.md", "-m", str(iterations)]

    def again(self, stage: Stage, act: Act, iterations: int) -> Sequence[str]:
        return [ralph_program(), "resume"]

    def done(self, stage: Stage, code: int | None, output: str) -> str:
        return "exit 0" if code == 0 else ""

    def environment(self, stage: Stage) -> dict[str, str]:
        return {"RALPH_TRUST": "1"}
