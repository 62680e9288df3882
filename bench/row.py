"""One row of the table: what was measured, its baseline, and the bar that it should meet."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Sense(StrEnum):
    """Which side of the bar is good."""

    AT_MOST = "at most"
    AT_LEAST = "at least"


@dataclass(frozen=True, slots=True)
class Bar:
    value: float
    sense: Sense = Sense.AT_MOST

    def is_met(self, value: float) -> bool:
        return value <= self.value if self.sense is Sense.AT_MOST else value >= self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """``measured`` and ``baseline`` are in ``unit``; ``compared`` is their ratio (``x``) or difference.

    A row without a bar is for information.
    """

    name: str
    measured: float
    unit: str
    compared: float
    compared_unit: str
    baseline: float | None = None
    bar: Bar | None = None

    @property
    def ok(self) -> bool | None:
        return None if self.bar is None else self.bar.is_met(self.compared)


def as_ratio(name: str, measured: float, unit: str, baseline: float, bar: Bar | None = None) -> Row:
    """How many times the baseline."""
    return Row(
        name=name,
        measured=measured,
        unit=unit,
        compared=measured / baseline,
        compared_unit="x",
        baseline=baseline,
        bar=bar,
    )


def as_speed(name: str, measured: float, unit: str, baseline: float, bar: Bar | None = None) -> Row:
    """How many times as fast as the baseline: 2 is half its time."""
    return Row(
        name=name,
        measured=measured,
        unit=unit,
        compared=baseline / measured,
        compared_unit="x",
        baseline=baseline,
        bar=bar,
    )


def as_difference(name: str, measured: float, unit: str, baseline: float, bar: Bar | None = None) -> Row:
    """How much more than the baseline."""
    return Row(
        name=name,
        measured=measured,
        unit=unit,
        compared=measured - baseline,
        compared_unit=unit,
        baseline=baseline,
        bar=bar,
    )
