"""Where merged work is verified once more: in a sandbox of its own, if the work has one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ralph.adapters.checks.commands import ShellCommands
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.config.root import Root
from ralph.domain.proof.verification_config import commands_of_merge
from ralph.domain.tasks.criteria import criteria_for
from ralph.domain.tasks.pipeline import Pipeline
from ralph.domain.tasks.task import Task
from ralph.engine.ports import ProcessRunner
from ralph.engine.tasks.verification import verify_merge
from ralph.wiring.confinement import confinement_of, open_sandbox
from ralph.wiring.kit import Kit


@dataclass(frozen=True, slots=True)
class FinalVerification:
    """The guardrails, and every command that a role of the task is verified by."""

    kit: Kit
    task: Task
    pipeline: Pipeline

    async def verify(self, path: Path) -> str:
        """Empty if all of them pass, else what is wrong."""
        kit, pipeline = self.kit, self.pipeline
        required = commands_of_merge(
            [guardrail.required for guardrail in kit.launch.guardrails],
            [criteria_for(self.task, role, pipeline.defaults) for role in pipeline.roles],
        )
        async with self._confined(path) as runner:
            return await verify_merge(
                required,
                ShellCommands(runner, path),
                log=lambda number: kit.record.folder / f"merge_{self.task.id}_{number:02}.log",
                control=kit.control,
                publish=kit.publish,
                rerun=kit.launch.settings.profiles.verified.rerun_failing,
            )

    @asynccontextmanager
    async def _confined(self, path: Path) -> AsyncIterator[ProcessRunner]:
        """The sandbox of the whole work may write to the user's tree; this one may not."""
        kit = self.kit
        if not kit.runners.is_confined or not kit.launch.settings.sandbox_checks:
            yield kit.runners.checks
            return
        runner = PosixProcessRunner(
            run_id=kit.record.run_id,
            base_environment=kit.runners.environment,
            redactor=kit.runners.redactor,
            watcher=kit.record.watcher,
        )
        confinement = await confinement_of(
            replace(kit.launch, root=Root(kit.launch.root.state, path)),
            runner,
            run_id=kit.record.run_id,
            run_folder=kit.record.folder,
            environment=kit.runners.agent_environment,
            report=kit.warn,
        )
        async with open_sandbox(confinement, runner):
            yield confinement.around(runner)
