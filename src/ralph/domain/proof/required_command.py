"""A command that must pass: what is required of it, and whether the way it ended is a pass."""

from __future__ import annotations

import posixpath
import re

from ralph.domain.loop.session_report import Ending
from ralph.domain.text.excerpt import Keep
from ralph.values import dataclass

TIMED_OUT_CODE = 124  # as timeout(1) reports it
NOT_STARTED_CODE = 127  # as a shell reports it
SIGNAL_BASE = 128
NO_TESTS_CODE = 5  # as pytest and unittest report it
_SHELL_SAYS = {
    126: "the command cannot be executed; check how it is spelled",
    127: "command not found; check how it is spelled",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredCommand:
    """A guardrail, a verification by command or a verifyCommand: whoever runs it, it means the same.

    ``working_dir`` is relative to the workspace. ``allow_empty``: tests that did not run, or failed without a word to
    the shell, are accepted. ``rerun``: whether a failure is confirmed by a second run; None: as the settings say.
    ``keep`` and ``most_chars`` say which part of its output the agent is shown.
    """

    command: str
    working_dir: str = "."
    timeout: float | None = None
    idle_timeout: float | None = None
    success_exit_code: int = 0
    output_contains: str = ""
    output_not_contains: str = ""
    allow_empty: bool = False
    can_allow_empty: bool = True  # there is a setting for it where this command comes from
    rerun: bool | None = None
    keep: Keep = Keep.BOTH
    most_chars: int = 5_000

    @property
    def label(self) -> str:
        """Tells it from the same command elsewhere."""
        return self.command if self.working_dir == "." else f"{self.command} (in {self.working_dir})"

    @property
    def searches_output(self) -> bool:
        """All of its output counts, not only its end."""
        return bool(self.output_contains or self.output_not_contains)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandVerdict:
    """How a command came out.

    ``reason``: why it did not pass. ``remark``: the same, but empty where the exit code already says it.
    ``errored``: it could not be run, or not to its end, which says nothing about the work. ``failed_before``: why the first of two runs
    failed.
    """

    passed: bool
    reason: str = ""
    remark: str = ""
    errored: bool = False
    exit_code: int | None = None
    seconds: float = 0.0
    excerpt: str = ""
    is_cut: bool = False  # the excerpt is not all of the output
    last_lines: tuple[str, ...] = ()
    output_sha256: str = ""
    failed_before: str = ""

    @property
    def flaky(self) -> str:
        """What the user should know about a pass that took two runs; empty: nothing."""
        return f"failed ({self.failed_before}) and passed when it was run again" if self.failed_before else ""


def shell_code(ending: Ending, code: int | None) -> int:
    """The exit code as a shell would report it."""
    match ending:
        case Ending.NOT_STARTED:
            return NOT_STARTED_CODE
        case Ending.TIMED_OUT | Ending.IDLE:
            return TIMED_OUT_CODE
        case _ if code is None:
            return NOT_STARTED_CODE
        case _:
            return SIGNAL_BASE - code if code < 0 else code


def judge_end(
    required: RequiredCommand, ending: Ending, code: int | None, *, output: str, error: str = ""
) -> tuple[str, str]:
    """Why it did not pass, and what of that the exit code does not say; both empty if it passed."""
    match ending:
        case Ending.NOT_STARTED:
            return _alike(f"Command failed: {error}")
        case Ending.TIMED_OUT:
            return _alike(f"Command timed out after {required.timeout or 0:g}s")
        case Ending.IDLE:
            return _alike(f"Command was ended: it printed nothing for {required.idle_timeout or 0:g} s")
        case Ending.STOPPED:
            return _alike("Command was stopped")
        case _:
            pass
    ended_with = shell_code(ending, code)
    if ended_with != required.success_exit_code:
        hint = _SHELL_SAYS.get(ended_with) or _ran_nothing(required.command, ended_with, output)
        told = f"Command exited with {ended_with}, expected {required.success_exit_code}"
        return (f"{told}: {hint}" if hint else told), hint
    return _alike(_wrong_output(required, output))


def _ran_nothing(command: str, code: int, output: str) -> str:
    """pytest, and unittest since Python 3.12, have an exit code for it; what it means is worth saying."""
    if code != NO_TESTS_CODE:
        return ""
    from ralph.domain.proof.tests_ran import failures_in, nothing_was_tested

    return "" if failures_in(output) else nothing_was_tested(command, output)


def _wrong_output(required: RequiredCommand, output: str) -> str:
    if required.output_contains and required.output_contains not in output:
        return f"Output doesn't contain: {required.output_contains}"
    if required.output_not_contains and required.output_not_contains in output:
        return f"Output contains forbidden: {required.output_not_contains}"
    if required.allow_empty:
        return ""
    # Loaded here: a run whose guardrails fail or that has none never needs it.
    from ralph.domain.proof.tests_ran import failures_in, nothing_was_tested

    failed = failures_in(output) if required.success_exit_code == 0 else ""
    if failed:
        return f"{failed}, although the command succeeded"
    empty = nothing_was_tested(required.command, output)
    return f"{empty}; `allowEmpty: true` accepts that" if empty and required.can_allow_empty else empty


def _alike(text: str) -> tuple[str, str]:
    return text, text


def is_outside(working_dir: str) -> bool:
    """Whether a relative path leaves its folder, judged by its text alone."""
    if working_dir.startswith(("/", "\\", "~")) or re.match(r"[A-Za-z]:", working_dir):
        return True
    return posixpath.normpath(working_dir.replace("\\", "/")).split("/", 1)[0] == ".."
