"""What goes back into the next prompt."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from ralph.domain.loop.claims import Tag
from ralph.domain.loop.session_report import AgentReport, Ending
from ralph.values import dataclass


class Placement(StrEnum):
    """The setting ``failAction``: where a failure message goes relative to the prompt."""

    APPEND = "APPEND"
    PREPEND = "PREPEND"
    REPLACE = "REPLACE"


@dataclass(frozen=True, slots=True)
class Feedback:
    """One message and its place."""

    text: str
    placement: Placement = Placement.APPEND
    is_history: bool = False  # of earlier sessions; it does not say why the last one was not accepted


def remark_on(report: AgentReport) -> Feedback | None:
    """What the next session learns about how the last one ended."""
    match report.ending:
        case Ending.TIMED_OUT:
            return Feedback("The previous session was ended by the harness: it ran out of time.")
        case Ending.IDLE:
            return Feedback("The previous session was ended by the harness: it printed nothing for too long.")
        case Ending.EXITED if report.reason:
            return Feedback(
                f"The previous session was cut short: {report.reason}. Nothing that it said was counted."
            )
        case Ending.EXITED if report.tags and not report.is_orderly:
            tag = report.tags[-1]
            return Feedback(
                f"The program of the previous session ended with exit code {report.exit_code}, so nothing it said was"
                f" counted, not even <{tag.name}>{tag.content[:80]}</{tag.name}>. If the work is done, say so again and"
                " end without an error."
            )
        case _:
            return None


def remark_on_promise(tags: Sequence[Tag], promise: str) -> Feedback | None:
    """For a session that gave another promise than its stage's, and so claimed nothing."""
    said = [tag.content for tag in tags if tag.name == "promise"]
    if not promise or not said or promise in said:
        return None
    return Feedback(
        f"You said <promise>{said[-1][:80]}</promise>. That is not the promise asked for, so nothing was verified."
        f" When the work is done, say exactly <promise>{promise}</promise>."
    )


def guardrail_failure(
    *, command: str, exit_code: int | str, hint: str, log_file: str, output: str, is_cut: bool
) -> str:
    """A fixed format that prompts and scripts rely on. ``output`` may be cut already; the hint never is."""
    hint_line = f"Hint: {hint}\n" if hint else ""
    return (
        f'Guardrail "{command}" failed with exit code {exit_code}.\n'
        f"{hint_line}"
        f"Output file: {log_file}\n"
        f"Output{' (truncated)' if is_cut else ''}:\n"
        f"{output}"
    )
