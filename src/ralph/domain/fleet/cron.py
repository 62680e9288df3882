"""When a schedule fires, as cron has it: minute, hour, day of the month, month, day of the week; in UTC."""

from __future__ import annotations

from ralph.domain.fleet.address import Refusal
from ralph.patterns import pattern

_FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day", 1, 31), ("month", 1, 12), ("day of the week", 0, 7))
_NAMES = {
    "month": ("", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
    "day of the week": ("sun", "mon", "tue", "wed", "thu", "fri", "sat"),
}
_WORDS = ("@yearly", "@monthly", "@weekly", "@daily", "@hourly")
_PART = pattern(r"(?:\*|(\w+)(?:-(\w+))?)(?:/(\d{1,2}))?")
HINT = 'five fields, minute first, such as "0 3 * * 1-5" (03:00 UTC on working days), or @daily'


def refusal_of_cron(text: str) -> Refusal | None:
    """None: it is understood. A mistake is found here, in words, rather than by the server."""
    given = text.split()
    if len(given) == 1 and given[0] in _WORDS:
        return None
    if len(given) != len(_FIELDS):
        return Refusal(f"--cron {text!r} is not a time of cron", HINT)
    for field, (name, first, last) in zip(given, _FIELDS, strict=True):
        for part in field.split(","):
            found = _PART.fullmatch(part)
            if found is None:
                return Refusal(f"--cron: {part!r} is no {name}", HINT)
            ends = [_number(one, name) for one in found.group(1, 2) if one is not None]
            if any(not first <= one <= last for one in ends) or ends != sorted(ends) or found[3] == "0":
                return Refusal(f"--cron: {part!r} is no {name} ({first} to {last})", HINT)
    return None


def _number(text: str, field: str) -> int:
    names = _NAMES.get(field, ())
    if text.lower() in names:
        return names.index(text.lower())
    return int(text) if text.isascii() and text.isdigit() else -1
