"""What goes back into the next prompt."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ralph.domain.loop.session_report import Ending


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


def remark_on(ending: Ending) -> Feedback | None:
    """What the next session learns about how the last one ended."""
    match ending:
        case Ending.TIMED_OUT:
            return Feedback("The previous session was ended by the harness: it ran out of time.")
        case Ending.IDLE:
            return Feedback("The previous session was ended by the harness: it printed nothing for too long.")
        case _:
            return None


def guardrail_failure(*, command: str, exit_code: int | str, hint: str, log_file: str, output: str) -> str:
    """A fixed format that prompts and scripts rely on. ``output`` is truncated already; the hint never is."""
    hint_line = f"Hint: {hint}\n" if hint else ""
    return (
        f'Guardrail "{command}" failed with exit code {exit_code}.\n'
        f"{hint_line}"
        f"Output file: {log_file}\n"
        f"Output (truncated):\n"
        f"{output}"
    )
