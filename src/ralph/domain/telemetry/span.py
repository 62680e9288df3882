"""A span as a plain value: a name, two times, attributes, and whether it ended in an error."""

from __future__ import annotations

from collections.abc import Mapping

from ralph.values import dataclass, field

Value = str | int | float | bool | tuple[str, ...]
Attributes = Mapping[str, Value | None]
"""None: it is not known, and left out."""

LONGEST = 500
"""Characters of an attribute that is a sentence."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened during a span."""

    name: str
    at: float
    attributes: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """``error``: its kind, in a word; empty: it ended well. ``message`` says more. Times are seconds since the epoch."""

    name: str
    id: str
    parent_id: str
    start: float
    end: float
    attributes: Mapping[str, Value]
    error: str = ""
    message: str = ""
    moments: tuple[Moment, ...] = ()


def known(attributes: Attributes) -> dict[str, Value]:
    """Without what is not known or empty."""
    return {name: value for name, value in attributes.items() if value not in (None, "", ())}


def shorten(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
