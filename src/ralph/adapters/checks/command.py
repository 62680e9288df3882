"""A guardrail: a shell command the user wrote, run by the harness and judged by its exit code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ralph.domain.evidence import CheckResult, Verdict
from ralph.domain.excerpt import Excerpt, Keep
from ralph.domain.feedback import Feedback, Placement, guardrail_failure
from ralph.domain.loop_events import ProcessesEnded
from ralph.domain.report import Ending
from ralph.engine.ports import Command, Exit, Journal, Judging, ProcessRunner, Timeouts, When

TIMED_OUT_CODE = 124  # what timeout(1) says
NOT_STARTED_CODE = 127  # what a shell says
SIGNAL_BASE = 128


@dataclass(frozen=True, slots=True)
class Guardrail:
    command: str
    slug: str
    placement: Placement = Placement.APPEND
    hint: str = ""
    timeout: float | None = None
    keep: Keep = Keep.HEAD
    name: str = ""


class CommandCheck:
    """Passes on exit code 0 only. One that cannot start or runs out of time has failed, never passed."""

    when = When.ALWAYS

    def __init__(
        self,
        guardrail: Guardrail,
        *,
        runner: ProcessRunner,
        journal: Journal,
        shell: Callable[[str], tuple[str, ...]],
        root: Path,
        state_folder: Path,
        truncate_chars: int,
    ) -> None:
        self._guardrail = guardrail
        self._runner = runner
        self._journal = journal
        self._shell = shell
        self._root = root
        self._state_folder = state_folder
        self._truncate_chars = truncate_chars

    @property
    def name(self) -> str:
        return self._guardrail.name or self._guardrail.command

    @property
    def command(self) -> str:
        return self._guardrail.command

    async def run(self, judging: Judging) -> CheckResult:
        guardrail = self._guardrail
        log = self._journal.check_log(judging.iteration, guardrail.slug)
        excerpt = Excerpt(self._truncate_chars, guardrail.keep)
        exit_ = await self._runner.run(
            Command(self._shell(guardrail.command), self._root, merge_stderr=True),
            timeouts=Timeouts(total=guardrail.timeout),
            on_lines=_reader(excerpt),
            log=log,
            stop=judging.control.stop_now(),
        )
        if exit_.left_behind:
            judging.publish(ProcessesEnded(exit_.left_behind))
        if remark := _remark(exit_, guardrail):
            excerpt.add(remark + "\n")
        code = _exit_code(exit_)
        shown_log = f"{self._state_folder.name}/{log.name}"
        passed = exit_.ending is Ending.EXITED and code == 0
        return CheckResult(
            name=self.name,
            verdict=Verdict.PASSED if passed else Verdict.FAILED,
            feedback=None
            if passed
            else Feedback(
                guardrail_failure(
                    command=guardrail.command,
                    exit_code=code,
                    hint=guardrail.hint,
                    log_file=shown_log,
                    output=excerpt.text().rstrip("\n"),
                ),
                guardrail.placement,
            ),
            command=guardrail.command,
            exit_code=code,
            seconds=exit_.seconds,
            log_file=shown_log,
            reason=_remark(exit_, guardrail),
        )


def _reader(excerpt: Excerpt) -> Callable[[list[bytes]], None]:
    def read(lines: list[bytes]) -> None:
        for line in lines:
            if excerpt.is_full:
                return
            excerpt.add(line.decode(errors="replace") + "\n")

    return read


def _exit_code(exit_: Exit) -> int:
    match exit_.ending:
        case Ending.NOT_STARTED:
            return NOT_STARTED_CODE
        case Ending.TIMED_OUT | Ending.IDLE:
            return TIMED_OUT_CODE
        case _:
            code = exit_.code if exit_.code is not None else NOT_STARTED_CODE
            return SIGNAL_BASE - code if code < 0 else code


def _remark(exit_: Exit, guardrail: Guardrail) -> str:
    match exit_.ending:
        case Ending.NOT_STARTED:
            return f"[ralph] could not be started: {exit_.error}"
        case Ending.TIMED_OUT:
            return f"[ralph] ended after {guardrail.timeout:g} s: it ran out of time"
        case Ending.STOPPED:
            return "[ralph] ended: the run was stopped"
        case _:
            return ""
