"""Work is verified once more where it was merged: two tasks that are right apart may be wrong together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ralph.adapters.checks.external import CommandVerdict, commands_in, run_command
from ralph.adapters.processes.shell import shell_argv
from ralph.domain.criteria import criteria_for
from ralph.domain.task import Task
from ralph.domain.workflows.pipeline import Pipeline
from ralph.wiring.kit import Kit


@dataclass(frozen=True, slots=True)
class FinalVerification:
    """Guardrails, and every command that some role of the task is verified by."""

    kit: Kit
    task: Task
    pipeline: Pipeline

    async def verify(self, path: Path) -> str:
        """Empty if it holds, else what is wrong."""
        kit = self.kit
        configs: list[dict[str, object]] = [
            {"command": guardrail.command, "timeout": guardrail.timeout} for guardrail in kit.plan.guardrails
        ]
        for role in self.pipeline.roles:
            configs += commands_in(criteria_for(self.task, role, self.pipeline.defaults))
        seen: list[dict[str, object]] = []
        for config in configs:
            if config in seen:
                continue
            seen.append(config)
            log = kit.run_folder / f"merge_{self.task.id}_{len(seen):02}.log"
            verdict = await self._run(config, path, log)
            rerun = config.get("rerun", kit.plan.settings.profiles.verified.rerun_failing)
            if not verdict.passed and rerun and not kit.control.stopping:
                verdict = await self._run(config, path, log)
            if not verdict.passed:
                return f"`{config['command']}` {verdict.reason}\n{verdict.excerpt}"
        return ""

    async def _run(self, config: Mapping[str, object], path: Path, log: Path) -> CommandVerdict:
        kit = self.kit
        return await run_command(
            config, runner=kit.runner, shell=shell_argv, root=path, log=log, stop=kit.control.stop_now()
        )
