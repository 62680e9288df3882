"""A change of the plan that a session was not allowed to make."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """A change that the session was not allowed to make."""

    item: str
    message: str
