"""ralph-tui, from npm (MIT), without its screen."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import ClassVar

from bench.faults.acts import Act, Promise
from bench.faults.harness import Harness, install_npm
from bench.faults.stage import Stage

CONFIG = """tracker = "json"
defaultAgent = "claude"
maxIterations = {iterations}
autoCommit = true
[[agents]]
name = "claude"
plugin = "claude"
default = true
timeout = {timeout}
[agents.options]
[errorHandling]
strategy = "retry"
maxRetries = 2
retryDelayMs = 1000
"""
MARK = """jq '.userStories[].passes = true' prd.json > prd.new && mv prd.new prd.json"""


class RalphTui(Harness):
    name = "ralph-tui"
    version = "0.11.0"
    about = "npm ralph-tui, MIT; runs on bun 1.4.4 from npm"
    settings = (
        "prd.json with the check among the acceptance criteria, claude, --headless; errorHandling retry; hangs: agents.timeout 5000. It has no setting "
        "for a command of its own that must pass."
    )
    claims: ClassVar[Mapping[Promise, str]] = {
        Promise.RESUME: "README: 'Session Persistence: Pause anytime, resume later, survive crashes'",
        Promise.LIMITS: "configuration: rateLimitHandling (retries with back-off, fallback agents)",
        Promise.OVERFLOW: "configuration: errorHandling.strategy retry",
        Promise.HANGS: "configuration: the agent's timeout",
    }
    unclaimed = ("resume-limit",)
    mark = MARK
    unplan = "jq '.userStories = []' prd.json > prd.new && mv prd.new prd.json"
    is_per_task = True

    def install(self) -> None:
        self.programs = install_npm("ralph-tui", self.version, "bun@1.4.4")

    def environment(self, stage: Stage) -> dict[str, str]:
        return {"RALPH_PROGRAMS": str(self.programs)}

    def prepare(self, stage: Stage, act: Act, iterations: int) -> None:
        stage.programs = [self.programs]
        stories = [
            {
                "id": f"US-{number:03}",
                "title": f"Make answer() in {name} say 42",
                "description": f"answer() in {name} says 41. It must say 42.",
                "acceptanceCriteria": [
                    f"{name}: answer() returns 42",
                    f"`{act.check}` passes",
                    "no test is changed",
                ],
                "priority": number,
                "passes": False,
                "dependsOn": [],
            }
            for number, name in enumerate(stage.tasks(act), 1)
        ]
        (stage.root / "prd.json").write_text(
            json.dumps({"name": "sample", "branchName": "main", "userStories": stories}, indent=1)
        )
        (stage.root / ".ralph-tui").mkdir()
        timeout = 5000 if act.promise is Promise.HANGS else 60000
        text = CONFIG.replace("{iterations}", str(iterations)).replace("{timeout}", str(timeout))
        (stage.root / ".ralph-tui" / "config.toml").write_text(text)

    def command(self, stage: Stage, act: Act, iterations: int) -> Sequence[str]:
        program = str(self.programs / "ralph-tui")
        return [
            program,
            "run",
            "--prd",
            "prd.json",
            "--headless",
            "--no-setup",
            "--no-notify",
            "--serial",
            "--iterations",
            str(iterations),
        ]

    def again(self, stage: Stage, act: Act, iterations: int) -> Sequence[str]:
        return [str(self.programs / "ralph-tui"), "resume", "--headless", "--force"]

    def done(self, stage: Stage, code: int | None, output: str) -> str:
        for words in ("All tasks complete", "all tasks complete"):
            if words in output:
                return f"exit {code}, '{words}'"
        return ""
