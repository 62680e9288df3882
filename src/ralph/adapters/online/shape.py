"""Reads a service's JSON without trusting it: whatever is missing, null or of another type reads as nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ralph.values import dataclass

LARGEST = 2**63


@dataclass(frozen=True, slots=True)
class Shape:
    """A part of an answer. ``shape["head"]["sha"].text`` never raises."""

    value: object = None

    def __getitem__(self, key: str) -> Shape:
        return Shape(self.value.get(key)) if isinstance(self.value, Mapping) else Shape()

    def __iter__(self) -> Iterator[Shape]:
        return map(Shape, self.value) if isinstance(self.value, list) else iter(())

    def has(self, key: str) -> bool:
        """Whether it says anything about it, be it null."""
        return isinstance(self.value, Mapping) and key in self.value

    @property
    def is_text(self) -> bool:
        return isinstance(self.value, str)

    @property
    def is_null(self) -> bool:
        return self.value is None

    @property
    def is_count(self) -> bool:
        """A number, from 0."""
        return isinstance(self.value, int) and not isinstance(self.value, bool) and 0 <= self.value < LARGEST

    @property
    def is_object(self) -> bool:
        return isinstance(self.value, Mapping)

    @property
    def is_list(self) -> bool:
        return isinstance(self.value, list)

    @property
    def text(self) -> str:
        return self.value if isinstance(self.value, str) else ""

    @property
    def number(self) -> int:
        """0 also if it is none, is negative, or is larger than any forge counts."""
        value = self.value
        is_number = isinstance(value, int) and not isinstance(value, bool)
        return value if is_number and isinstance(value, int) and 0 < value < LARGEST else 0

    @property
    def flag(self) -> bool | None:
        return self.value if isinstance(self.value, bool) else None

    @property
    def moment(self) -> float:
        """Seconds since the epoch, of a date as in RFC 3339."""
        return moment_of(self.text)


def moment_of(text: str) -> float:
    """0.0 if it is no date."""
    from datetime import UTC, datetime

    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return 0.0
