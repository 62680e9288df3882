"""When a limit resets, from the text of an agent's *limit error*; in other prose these words mean nothing.

Agents without a field for it write "try again at 8:12 AM", "try again in 3 days 4 hours" or "resets 3pm (UTC)".
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Final

from ralph.patterns import pattern

_RELATIVE = pattern(
    r"\b(?:again|resets?|retry) in (?:about )?(?P<span>less than a minute|(?:\d[\d.]{0,8}\s?[a-z]+[,\s]*(?:and )?)+)",
    re.IGNORECASE,
)
_PIECE = pattern(r"([\d.]+)\s?([a-z]+)", re.IGNORECASE)
_UNITS: Final = {
    "ms": 0.001,
    "s": 1.0, "sec": 1.0, "secs": 1.0, "second": 1.0, "seconds": 1.0,
    "m": 60.0, "min": 60.0, "mins": 60.0, "minute": 60.0, "minutes": 60.0,
    "h": 3_600.0, "hr": 3_600.0, "hrs": 3_600.0, "hour": 3_600.0, "hours": 3_600.0,
    "d": 86_400.0, "day": 86_400.0, "days": 86_400.0,
    "week": 604_800.0, "weeks": 604_800.0,
}  # fmt: skip

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ABSOLUTE = pattern(
    r"\b(?:again|resets?)(?: (?:at|on))? "
    rf"(?:(?P<month>{'|'.join(_MONTHS)})[a-z]* (?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,? (?P<year>\d{{4}}))?,?(?: at)? )?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))? ?(?P<half>[ap]m)\b"
    r"(?: \((?P<zone>[\w/+-]+)\))?",
    re.IGNORECASE,
)
_EPOCH = pattern(r"\blimit reached\|(\d{10})\b")

_JUST_NOW: Final = timedelta(minutes=15)
"""A time of day that passed this recently means today; an earlier one means tomorrow."""


def reset_time(text: str, now: float, *, utc_offset: float = 0.0) -> float | None:
    """Seconds since the epoch, if the text says when. ``utc_offset`` of the local time: seconds east."""
    if found := _EPOCH.search(text):
        return float(found[1])
    if found := _RELATIVE.search(text):
        seconds = _seconds(found["span"])
        return None if seconds is None else now + seconds
    if found := _ABSOLUTE.search(text):
        try:
            # Any zone but UTC is that of the machine.
            is_utc = (found["zone"] or "").upper() in ("UTC", "GMT")
            zone = UTC if is_utc else timezone(timedelta(seconds=utc_offset))
            return _moment(found, datetime.fromtimestamp(now, zone), zone).timestamp()
        except (ValueError, OverflowError, OSError):
            return None  # the 31st of February
    return None


def _seconds(span: str) -> float | None:
    if not span[0].isdigit():
        return 60.0
    total = 0.0
    for number, unit in _PIECE.findall(span):
        factor = _UNITS.get(unit.lower())
        if factor is None:
            break  # the sentence continues: "in 5 minutes or upgrade"
        try:
            total += float(number.rstrip(".")) * factor
        except ValueError:
            return None
    return total or None


def _moment(found: re.Match[str], now: datetime, zone: tzinfo) -> datetime:
    hour, minute = int(found["hour"]), int(found["minute"] or 0)
    if not 1 <= hour <= 12:
        message = f"no hour of a clock with a.m. and p.m.: {hour}"
        raise ValueError(message)
    hour = hour % 12 + (12 if found["half"].lower() == "pm" else 0)
    if found["month"] is None:
        moment = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
        return moment if moment >= now - _JUST_NOW else moment + timedelta(days=1)
    month, day = _MONTHS.index(found["month"].lower()) + 1, int(found["day"])
    if found["year"] is not None:
        return datetime(int(found["year"]), month, day, hour, minute, tzinfo=zone)
    moment = datetime(now.year, month, day, hour, minute, tzinfo=zone)
    return moment if moment >= now - timedelta(days=1) else moment.replace(year=now.year + 1)
