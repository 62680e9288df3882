"""bernstein, from PyPI (Apache-2.0); needs Python 3.12."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import ClassVar

from bench.faults.acts import Act, Promise
from bench.faults.harness import Harness, install_pip
from bench.faults.lies import FEW_LIES
from bench.faults.stage import Stage


class Bernstein(Harness):
    name = "bernstein"
    version = "3.23.0"
    about = "PyPI bernstein, Apache-2.0"
    settings = (
        "A plan file with one step per task, the check as its completion signal (test_passes) and, in bernstein.yaml, as the "
        "tests gate; lint off, since the project has none; --cli claude --auto-approve --approval auto and merge_strategy direct, so that it merges."
    )
    claims: ClassVar[Mapping[Promise, str]] = {
        Promise.LIES: "README: 'Verify. The janitor checks concrete signals: tests pass … Failed tasks get retried'",
        Promise.ORPHANS: "help: 'stop: graceful stop (agents save work first)'",
        Promise.HANGS: "README: heartbeats and watchdog",
        Promise.RESUME: "README: 'resume support for interrupted runs'",
    }
    absent: ClassVar[Mapping[str, str]] = {"resume-limit": "it has no limit of iterations"}
    is_per_task = True
    seconds = 240.0
    session_seconds = 10.0
    parallel = 1
    only = FEW_LIES
    report = """sh -c "$(grep -m 1 '^bernstein task complete' "$here/prompt-$number")" """

    def install(self) -> None:
        self.programs = install_pip("bernstein", self.version)

    def prepare(self, stage: Stage, act: Act, iterations: int) -> None:
        stage.programs = [self.programs]
        gates = {
            "enabled": True,
            "lint": False,
            "tests": True,
            "test_command": act.check,
            "cache_enabled": False,
        }
        seed = {
            "goal": "Make every answer() say 42",
            "cli": "claude",
            "team": "auto",
            "budget": "$10",
            "internal_llm_provider": "none",
            "merge_strategy": "direct",
            "quality_gates": gates,
        }
        (stage.root / "bernstein.yaml").write_text(json.dumps(seed, indent=1))
        steps = [
            {
                "title": f"Make answer() in {name} say 42",
                "description": f"answer() in {name} says 41. It must say 42.",
                "role": "backend",
                "completion_signals": [{"type": "test_passes", "value": act.check}],
            }
            for name in stage.tasks(act)
        ]
        plan = {"name": "answers", "stages": [{"name": "fix", "steps": steps}]}
        (stage.root / "plan.yaml").write_text(json.dumps(plan, indent=1))

    def command(self, stage: Stage, act: Act, iterations: int) -> Sequence[str]:
        plan = ("--from-plan", "plan.yaml", "--cli", "claude", "--auto-approve", "--approval", "auto")
        return [str(self.programs / "bernstein"), *plan, "--quiet"]

    def environment(self, stage: Stage) -> dict[str, str]:
        return {"BERNSTEIN_ALLOW_MERGE_TO_DEFAULT_BRANCH": "1"}

    def done(self, stage: Stage, code: int | None, output: str) -> str:
        return "exit 0" if code == 0 else ""
