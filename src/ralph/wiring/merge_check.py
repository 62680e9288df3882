"""Where merged work is verified once more: in a sandbox of its own, if the work has one."""

from __future__ import annotations

from pathlib import Path

from ralph.adapters.checks.commands import ShellCommands
from ralph.domain.proof.required_command import RequiredCommand
from ralph.domain.proof.verification_config import commands_of_merge
from ralph.domain.tasks.criteria import criteria_for
from ralph.domain.tasks.pipeline import Pipeline
from ralph.domain.tasks.task import Task
from ralph.engine.deadline import until_time_is_over
from ralph.engine.tasks.verification import verify_merge
from ralph.values import dataclass
from ralph.wiring.kit import Kit


@dataclass(frozen=True, slots=True)
class FinalVerification:
    """The guardrails, and every command that a role of the task is verified by."""

    kit: Kit
    task: Task
    pipeline: Pipeline

    @property
    def required(self) -> tuple[RequiredCommand, ...]:
        pipeline = self.pipeline
        return commands_of_merge(
            [guardrail.required for guardrail in self.kit.launch.guardrails],
            [criteria_for(self.task, role, pipeline.defaults) for role in pipeline.roles],
        )

    async def verify(self, path: Path) -> str:
        """Empty if all of them pass, else what is wrong."""
        kit, required = self.kit, self.required
        async with (
            kit.runner_at(path) as runner,
            until_time_is_over(kit.control, kit.time_over) as control,
        ):
            return await verify_merge(
                required,
                ShellCommands(runner, path),
                log=lambda number: kit.record.folder / f"merge_{self.task.id}_{number:02}.log",
                control=control,
                publish=kit.publish,
                rerun=kit.launch.settings.profiles.verified.rerun_failing,
            )
