"""Work is verified once more where it was merged: two tasks that are right apart may be wrong together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ralph.adapters.checks.external import CommandVerdict, commands_in, run_command
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.shell import shell_argv
from ralph.config.root import Root
from ralph.domain.loop.events import Warned
from ralph.domain.tasks.criteria import criteria_for
from ralph.domain.tasks.pipeline import Pipeline
from ralph.domain.tasks.task import Task
from ralph.engine.ports import ProcessRunner
from ralph.wiring.confinement import confinement_of, open_sandbox
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
            {"command": guardrail.command, "timeout": guardrail.timeout}
            for guardrail in kit.launch.guardrails
        ]
        for role in self.pipeline.roles:
            configs += commands_in(criteria_for(self.task, role, self.pipeline.defaults))
        different = [config for number, config in enumerate(configs) if config not in configs[:number]]
        async with self._confined(path) as runner:
            for number, config in enumerate(different, 1):
                log = kit.run_folder / f"merge_{self.task.id}_{number:02}.log"
                verdict = await self._run(config, runner, path, log)
                rerun = config.get("rerun", kit.launch.settings.profiles.verified.rerun_failing)
                if not verdict.passed and rerun and not kit.control.stopping:
                    verdict = await self._run(config, runner, path, log)
                if not verdict.passed:
                    return f"`{config['command']}` {verdict.reason}\n{verdict.excerpt}"
        return ""

    @asynccontextmanager
    async def _confined(self, path: Path) -> AsyncIterator[ProcessRunner]:
        """In a sandbox of its own, if there is one: that of the whole work may write to the user's tree, and not here."""
        kit = self.kit
        if not kit.is_confined or not kit.launch.settings.sandbox_checks:
            yield kit.runner
            return
        runner = PosixProcessRunner(run_id=kit.run_id, base_environment=kit.environ, redactor=kit.redactor)
        confinement = await confinement_of(
            replace(kit.launch, root=Root(kit.launch.root.state, path)),
            runner,
            run_id=kit.run_id,
            run_folder=kit.run_folder,
            environment=kit.environment,
            report=lambda message: kit.publish(Warned(message)),
        )
        async with open_sandbox(confinement, runner):
            yield confinement.around(runner)

    async def _run(
        self, config: Mapping[str, object], runner: ProcessRunner, path: Path, log: Path
    ) -> CommandVerdict:
        return await run_command(
            config, runner=runner, shell=shell_argv, root=path, log=log, stop=self.kit.control.stop_now()
        )
