"""When a limit is over, in the words of those who set it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.agent.reset_time import reset_time

NOW = datetime(2026, 11, 15, 6, 13, 38, tzinfo=UTC)


def at(text: str, *, utc_offset: float = 0.0) -> datetime | None:
    moment = reset_time(text, NOW.timestamp(), utc_offset=utc_offset)
    return None if moment is None else datetime.fromtimestamp(moment, UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        # codex: the time of day today, else with the date, in local time
        ("You\u2019ve hit your usage limit. Upgrade to Pro or try again at 8:12 AM.", NOW.replace(hour=8, minute=12, second=0)),
        ("You've hit your usage limit. Try again at 11:05 PM.", NOW.replace(hour=23, minute=5, second=0)),
        ("Try again at 12:30 AM.", datetime(2026, 11, 16, 0, 30, tzinfo=UTC)),
        ("try again at Nov 18th, 2026 8:12 AM.", datetime(2026, 11, 18, 8, 12, tzinfo=UTC)),
        ("try again at Dec 1st, 2026 12:00 PM", datetime(2026, 12, 1, 12, 0, tzinfo=UTC)),
        # codex, older; the model's API
        ("Try again in 3 days 4 hours 5 minutes.", NOW + timedelta(days=3, hours=4, minutes=5)),
        ("or try again in 5 days 22 hours 11\nminutes.", NOW + timedelta(days=5, hours=22, minutes=11)),
        ("Try again in less than a minute.", NOW + timedelta(minutes=1)),
        ("Rate limit reached for lab. Please try again in 1.5s.", NOW + timedelta(seconds=1.5)),
        ("Please try again in 6m0s. Visit us", NOW + timedelta(minutes=6)),
        ("Please try again in 120ms", NOW + timedelta(seconds=0.12)),
        ("try again in 5 minutes or upgrade", NOW + timedelta(minutes=5)),
        # claude
        ("You've hit your 5-hour limit · resets 7:56am (UTC)", NOW.replace(hour=7, minute=56, second=0)),
        ("5-hour limit reached ∙ resets 3pm", NOW.replace(hour=15, minute=0, second=0)),
        ("weekly limit · resets Nov 20, 3pm (UTC)", datetime(2026, 11, 20, 15, 0, tzinfo=UTC)),
        ("weekly limit · resets Jan 2 at 9:30am (UTC)", datetime(2027, 1, 2, 9, 30, tzinfo=UTC)),
        ("Claude AI usage limit reached|1794729378", datetime.fromtimestamp(1_794_729_378, UTC)),
    ],
)  # fmt: skip
def test_a_text_says_when_the_limit_is_over(text: str, moment: datetime) -> None:
    assert at(text) == moment


@pytest.mark.parametrize(
    "text",
    [
        "",
        "try again later",
        "exceeded retry limit, last status: 429 Too Many Requests",
        "at 8:12 AM something happened",  # no word about trying again
        "try again at 13:12 PM",
        "try again at 0:12 AM",
        "try again at 8:72 AM",
        "try again at Feb 31st, 2027 8:12 AM",
        "try again at Nov 18th, 0000 8:12 AM",
        "try again in 1.2.3s",
        "try again in 5 lightyears",
        "try again in . s",
    ],
)
def test_a_text_that_says_no_time_gives_none(text: str) -> None:
    assert at(text) is None


def test_a_time_of_day_is_local_unless_it_is_said_to_be_utc() -> None:
    berlin = 3600.0

    assert at("try again at 8:12 AM", utc_offset=berlin) == NOW.replace(hour=7, minute=12, second=0)
    assert at("resets 8:12am (Europe/Berlin)", utc_offset=berlin) == NOW.replace(hour=7, minute=12, second=0)
    assert at("resets 8:12am (UTC)", utc_offset=berlin) == NOW.replace(hour=8, minute=12, second=0)


def test_a_time_that_just_passed_is_not_tomorrows() -> None:
    assert at("try again at 6:13 AM") == NOW.replace(second=0)
    assert at("try again at 5:00 AM") == NOW.replace(hour=5, minute=0, second=0) + timedelta(days=1)


@given(st.text(max_size=400), st.floats(0, 4e9), st.floats(-86_399, 86_399))
def test_no_text_makes_it_raise(text: str, now: float, utc_offset: float) -> None:
    for words in (text, f"try again at {text}", f"try again in {text}", f"resets {text}"):
        moment = reset_time(words, now, utc_offset=utc_offset)
        assert moment is None or isinstance(moment, float)


@given(st.integers(0, 23 * 60), st.integers(1_700_000_000, 2_000_000_000), st.integers(-11, 13))
def test_what_an_agent_formats_is_read_back(minutes: int, now: int, hours_east: int) -> None:
    zone = timezone(timedelta(hours=hours_east))
    moment = datetime.fromtimestamp(now, zone).replace(second=0) + timedelta(minutes=minutes)
    clock = f"{(moment.hour - 1) % 12 + 1}:{moment.minute:02} {'AM' if moment.hour < 12 else 'PM'}"
    day = f"{moment:%b} {moment.day}th, {moment.year}"

    for text in (f"try again at {clock}.", f"or try again at {day} {clock}."):
        assert reset_time(text, now, utc_offset=3600.0 * hours_east) == moment.timestamp()


@given(st.integers(0, 99), st.integers(0, 23), st.integers(1, 59))
def test_a_span_of_days_hours_and_minutes_adds_up(days: int, hours: int, minutes: int) -> None:
    text = f"Try again in {days} days {hours} hours {minutes} minutes."

    assert reset_time(text, 0.0) == 86_400 * days + 3600 * hours + 60 * minutes
