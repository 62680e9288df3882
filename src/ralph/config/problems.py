"""What is wrong with settings, as values: all of it is gathered before anything is said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ralph.errors import ConfigError

KeyPath = tuple[str | int, ...]
"""``("guardrails", 1, "command")``; camelCase, as on disk."""


def spell(path: KeyPath) -> str:
    """``guardrails[1].command``."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


@dataclass(frozen=True, slots=True)
class Problem:
    """``source`` is a file or an origin such as a flag; ``key`` is empty if the whole source is meant."""

    source: str
    key: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        text = ": ".join(part for part in (self.source, self.key, self.message) if part)
        return f"{text}; {self.hint}" if self.hint else text


class InvalidSettings(ConfigError):
    """The settings cannot be used. The message lists every problem, one a line."""

    def __init__(self, problems: Sequence[Problem], *, where: str = "") -> None:
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        place = f" of {where}" if where else ""
        lines = "\n".join(f"  {problem}" for problem in problems)
        hint = "`ralph config validate` lists warnings too"
        super().__init__(f"{count} in the settings{place}:\n{lines}", hint=hint)
        self.problems = tuple(problems)
