"""A guardrail: a shell command the user wrote, run by the harness and judged by its exit code."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from ralph.domain.loop.events import ProcessesEnded
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.feedback import Feedback, Placement, guardrail_failure
from ralph.domain.loop.session_report import Ending
from ralph.domain.text.excerpt import Excerpt, Keep
from ralph.engine.ports import Command, Exit, Journal, Judging, ProcessRunner, Timeouts, When

TIMED_OUT_CODE = 124  # what timeout(1) says
NOT_STARTED_CODE = 127  # what a shell says
SIGNAL_BASE = 128
SHELL_SAYS = {
    126: "the command cannot be executed; check the guardrail in the settings",
    127: "command not found; check the guardrail in the settings",
}

END_BYTES = 4_096
LAST_LINES = 5
LINE_CHARS = 300


@dataclass(frozen=True, slots=True)
class Guardrail:
    """One guardrail, everything resolved."""

    command: str
    slug: str
    placement: Placement = Placement.APPEND
    hint: str = ""
    timeout: float | None = None
    idle_timeout: float | None = None
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
        output = _Output(Excerpt(self._truncate_chars, guardrail.keep))
        exit_ = await self._runner.run(
            Command(self._shell(guardrail.command), self._root, merge_stderr=True),
            timeouts=Timeouts(guardrail.timeout, guardrail.idle_timeout),
            on_output=output.take,
            log=log,
            stop=judging.control.stop_now(),
        )
        if exit_.left_behind:
            judging.publish(ProcessesEnded(exit_.left_behind))
        code = _exit_code(exit_)
        reason = _reason(exit_, code, guardrail)
        shown_log = self._shown(log.name)
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
                    output=output.text() + (f"\n[ralph] {reason}" if reason else ""),
                ),
                guardrail.placement,
            ),
            command=guardrail.command,
            exit_code=code,
            seconds=exit_.seconds,
            log_file=shown_log,
            output_sha256=output.sha256(),
            reason=reason,
            last_lines=() if passed else output.last_lines(),
        )

    def _shown(self, log_name: str) -> str:
        """As the agent can open it: in a git worktree the state folder is elsewhere."""
        link = self._state_folder / log_name
        return str(link.relative_to(self._root) if link.is_relative_to(self._root) else link)


class _Output:
    """What is kept of the output while it streams by: an excerpt for the agent, the end for the screen."""

    def __init__(self, excerpt: Excerpt) -> None:
        self._excerpt = excerpt
        self._end = b""
        self._hash = sha256()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""

    def take(self, chunk: bytes) -> None:
        self._hash.update(chunk)
        self._end = (self._end + chunk)[-END_BYTES:]
        if not self._excerpt.is_full:
            self._add(self._decoder.decode(chunk))

    def _add(self, text: str) -> None:
        # Line ends wait until something follows: the last ones are nobody's information and must not count.
        text = self._held + text
        kept = text.rstrip("\n")
        self._held = text[len(kept) :]
        self._excerpt.add(kept)

    def text(self) -> str:
        return self._excerpt.text()

    def sha256(self) -> str:
        """Of the log file, as it was written."""
        return self._hash.hexdigest()

    def last_lines(self) -> tuple[str, ...]:
        lines = self._end.decode(errors="replace").strip().splitlines()
        return tuple(line.rstrip()[:LINE_CHARS] for line in lines[-LAST_LINES:])


def _exit_code(exit_: Exit) -> int:
    match exit_.ending:
        case Ending.NOT_STARTED:
            return NOT_STARTED_CODE
        case Ending.TIMED_OUT | Ending.IDLE:
            return TIMED_OUT_CODE
        case _:
            code = exit_.code if exit_.code is not None else NOT_STARTED_CODE
            return SIGNAL_BASE - code if code < 0 else code


def _reason(exit_: Exit, code: int, guardrail: Guardrail) -> str:
    match exit_.ending:
        case Ending.NOT_STARTED:
            return f"could not be started: {exit_.error}"
        case Ending.TIMED_OUT:
            return f"ended after {guardrail.timeout:g} s: it ran out of time"
        case Ending.IDLE:
            return f"ended: it printed nothing for {guardrail.idle_timeout:g} s"
        case Ending.STOPPED:
            return "ended: the run was stopped"
        case _:
            return SHELL_SAYS.get(code, "")
