"""Preview a run: what its first iteration would do. Nothing is started or written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ralph.adapters.processes.redaction import redact_argv
from ralph.wiring.launch import Launch
from ralph.wiring.runs.prompt_run import PromptComposition


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """``command`` has its secrets masked; ``guardrails`` are (command, what becomes of its output)."""

    workspace: Path
    profile: str
    maximum: int | None
    completion: str
    agent: str
    command: str
    gets_prompt_on_stdin: bool
    notes: Sequence[str]
    guardrails: Sequence[tuple[str, str]]
    warnings: Sequence[str]
    scm: Sequence[str]
    prompt: str


def preview_run(launch: Launch) -> Preview:
    composition, profile, scm = launch.composition, launch.profile, launch.settings.scm
    assert isinstance(composition, PromptComposition)
    start, prompt = composition.first_command(launch)
    return Preview(
        workspace=launch.root.workspace,
        profile=f"{profile.name} ({profile.summary})",
        maximum=launch.maximum,
        completion=f"<{profile.tag}>{composition.completion}</{profile.tag}>",
        agent=launch.agent,
        command=redact_argv(start.argv),
        gets_prompt_on_stdin=start.stdin is not None,
        notes=launch.agents.first.notes,
        guardrails=[(guardrail.command, str(guardrail.placement)) for guardrail in launch.guardrails],
        warnings=list(launch.warnings()),
        scm=[f"{scm.command} {task}" for task in scm.tasks] if scm is not None else (),
        prompt=prompt,
    )
