"""What work on tasks needs from the world. A user's own verification methods use these values too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ralph.domain.loop.evidence import Verdict
from ralph.domain.loop.session_report import Spend
from ralph.domain.tasks.completion import CompletionCriteria
from ralph.domain.tasks.task import Task
from ralph.engine.ports import Agent, Commands, Journal, Judging, ProcessRunner

Judge = Callable[[str, Sequence[str]], Agent]
"""Model (empty: the settings' choice) and the tags it will answer in → the agent that judges."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationTools:
    """What all verifications of a task share. ``custom_method`` finds a method of the user's own by its name."""

    runner: ProcessRunner  # in the sandbox, if there is one
    commands: Commands  # run there too
    journal: Journal
    judge: Judge
    custom_method: Callable[[str], Method]
    root: Path
    state_folder: Path
    truncate_chars: int
    redact: Callable[[str], str]
    fingerprint: Callable[[], Awaitable[str]]  # of the working tree; empty: not known
    diff: Callable[[], Awaitable[str]]  # what the task has changed so far
    rerun_failing: bool = False
    known: dict[object, MethodVerdict] = field(default_factory=dict)  # verdicts on this iteration's tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Verifying:
    """One verification: of ``task`` in ``role``, after the session that ``judging`` is about."""

    config: Mapping[str, Any]
    criteria: CompletionCriteria
    task: Task
    role: str
    judging: Judging
    tools: VerificationTools
    name: str = ""  # of the stage, if it is one of several


@dataclass(frozen=True, slots=True)
class MethodVerdict:
    """``told`` goes to the agent if it did not pass; ``reason`` is one line for people."""

    verdict: Verdict
    reason: str
    told: str = ""
    command: str = ""
    exit_code: int | None = None
    seconds: float = 0.0
    log_file: str = ""
    output_sha256: str = ""
    spend: Spend = Spend()
    concern: str = ""
    last_lines: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return self.verdict is Verdict.PASSED


class Method(Protocol):
    """One way to verify. Never raises for what the work does."""

    async def verify(self, verifying: Verifying) -> MethodVerdict: ...
