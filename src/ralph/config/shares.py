"""The kind of setting that keeps a share of a subscription free."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from ralph.config.kinds import JsonKind, Reading
from ralph.domain.agent.quota import WINDOWS
from ralph.domain.text.reader import nearest

_SHARE = "a percentage of at least 0 and below 100"


class Shares(JsonKind[Mapping[str, float]]):
    """Percent of each window of a subscription; as text ``5h=15,week=25``."""

    expected = 'an object of percentages, such as {"5h": 15, "week": 25}'

    def read(self, value: object, at: Reading) -> Mapping[str, float]:
        if not isinstance(value, Mapping):
            hint = "on a command line or in a variable: 5h=15,week=25"
            return cast("Mapping[str, float]", at.unexpected(value, self.expected, hint))
        read: dict[str, float] = {}
        for name, share in value.items():
            if name not in WINDOWS:
                close = nearest(name, list(WINDOWS))
                at.inside(name).wrong(
                    f"there is no such window, only {' and '.join(WINDOWS)}",
                    f'did you mean "{close}"?' if close else "",
                )
            elif isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share < 100:
                at.inside(name).unexpected(share, _SHARE)
            else:
                read[name] = float(share)
        return read

    def json_schema(self) -> dict[str, object]:
        share = {"type": "number", "minimum": 0, "exclusiveMaximum": 100}
        return {"type": "object", "properties": dict.fromkeys(WINDOWS, share), "additionalProperties": False}

    def parse(self, text: str) -> object:
        if text.lstrip().startswith("{"):
            return super().parse(text)
        shares: dict[str, object] = {}
        for entry in text.split(","):
            name, equals, share = (part.strip() for part in entry.partition("="))
            if not equals:
                return text
            shares[name] = _number(share.removesuffix("%").strip())
        return shares

    def dump(self, value: Mapping[str, float]) -> object:
        return {name: int(share) if share.is_integer() else share for name, share in value.items()}


def _number(text: str) -> float | str:
    """Text that is no number stays text, so that the error can show it."""
    try:
        return float(text)
    except ValueError:
        return text
