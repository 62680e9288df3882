"""ralph-orchestrator 1.2.3, the last of its Python line, from PyPI (MIT)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from bench.faults.acts import Act, Promise
from bench.faults.harness import Harness, install_pip
from bench.faults.stage import Stage

CONFIG = """agent: claude
prompt_file: PROMPT.md
max_iterations: {iterations}
max_runtime: 600
retry_delay: 1
checkpoint_interval: 1
adapters:
  claude:
    enabled: true
    timeout: {timeout}
"""


class RalphOrchestrator(Harness):
    name = "ralph-orchestrator"
    version = "1.2.3"
    about = "PyPI ralph-orchestrator, MIT; its SDK's own copy of claude is removed, so that it takes the one on PATH"
    settings = (
        "ralph.yml with agent claude, checkpoints at each iteration and --completion-promise; hangs: adapters.claude.timeout 5. "
        "It has no setting for a command that must pass."
    )
    claims: ClassVar[Mapping[Promise, str]] = {
        Promise.HANGS: "README: adapters.claude.timeout, in seconds",
        Promise.OVERFLOW: "README: 'Error Recovery: Automatic retry with exponential backoff'",
    }
    absent: ClassVar[Mapping[str, str]] = {
        Promise.RESUME: "1.2.3 saves state for analysis; its documentation names no way to resume",
    }
    claim = "LOOP_COMPLETE"
    unplan = "printf 'Nothing is left to do. Print LOOP_COMPLETE.\\n' > PROMPT.md"

    def install(self) -> None:
        self.programs = install_pip("ralph-orchestrator", self.version)
        for bundled in self.programs.parent.glob(
            "lib/python*/site-packages/claude_agent_sdk/_bundled/claude"
        ):
            bundled.unlink()

    def prepare(self, stage: Stage, act: Act, iterations: int) -> None:
        timeout = "5" if act.promise is Promise.HANGS else "60"
        (stage.root / "ralph.yml").write_text(
            CONFIG.replace("{iterations}", str(iterations)).replace("{timeout}", timeout)
        )
        # The words of the claim must not be in the prompt file: it takes them there for a finished task.
        text = f"# Task\n\nMake every answer() in work*.py say 42, until `{act.check}` passes.\n"
        (stage.root / "PROMPT.md").write_text(text)

    def command(self, stage: Stage, act: Act, iterations: int) -> Sequence[str]:
        limits = ["-i", str(iterations), "--retry-delay", "1", "--completion-promise", self.claim]
        return [
            str(self.programs / "ralph"),
            "run",
            "-c",
            "ralph.yml",
            "-a",
            "claude",
            "-P",
            "PROMPT.md",
            *limits,
        ]

    def done(self, stage: Stage, code: int | None, output: str) -> str:
        """It says so however the loop ended: a script that starts it sees nothing else."""
        words = "Ralph Orchestrator completed successfully"
        return f"exit 0, '{words}'" if code == 0 and words in output else ""
