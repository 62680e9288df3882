"""When the user's share of a subscription is reached, and what people read about it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ralph.domain.agent.quota import LONGEST, AgentQuota, Window, newer
from ralph.domain.loop.keep_free import shortage, wanted_words
from ralph.domain.loop.session_report import RateLimited
from ralph.domain.views.quota import quota_in, quota_line

NOW = 1_000_000.0
HOUR = 3600.0


def five_hours(left: float, reset: float = NOW + HOUR) -> Window:
    return Window("5h", left, reset)


def week(left: float, reset: float = NOW + 48 * HOUR) -> Window:
    return Window("week", left, reset)


@pytest.mark.parametrize(
    ("windows", "keep_free", "until"),
    [
        ([five_hours(14.9)], {"5h": 15.0}, NOW + HOUR),
        ([five_hours(15)], {"5h": 15.0}, None),
        ([five_hours(10)], {}, None),
        ([five_hours(0)], {"5h": 0.0}, None),
        ([five_hours(10)], {"week": 25.0}, None),
        ([five_hours(10), week(10)], {"5h": 15.0, "week": 25.0}, NOW + 48 * HOUR),
        ([five_hours(10), week(30)], {"5h": 15.0, "week": 25.0}, NOW + HOUR),
        ([five_hours(10, NOW)], {"5h": 15.0}, None),  # it was reset: nobody knows how much is left
        ([five_hours(10, NOW + LONGEST + 1)], {"5h": 15.0}, None),  # no window is that long
        ([], {"5h": 15.0}, None),
    ],
)
def test_a_share_that_is_reached_is_a_limit_until_the_last_of_its_windows_resets(
    windows: list[Window], keep_free: Mapping[str, float], until: float | None
) -> None:
    found = shortage("claude", windows, keep_free, NOW)
    assert (found and found.until) == until


def test_the_reason_says_how_much_is_left_and_how_much_must_stay() -> None:
    found = shortage("claude", [five_hours(8), week(20.5)], {"5h": 15.0, "week": 25.0}, NOW)
    words = "claude has 8 % of 5 hours and 20.5 % of the week left, and 15 % and 25 % must stay free"
    assert found == RateLimited(words, NOW + 48 * HOUR)
    assert wanted_words({"week": 25.0, "5h": 15.0}) == "15 % of 5 hours and 25 % of the week"
    assert not wanted_words({"5h": 0.0})


def test_an_agent_that_speaks_of_one_window_has_not_taken_back_the_other() -> None:
    assert newer([five_hours(40), week(70)], [five_hours(30)]) == (five_hours(30), week(70))


def test_a_screen_shows_what_still_holds() -> None:
    quota = AgentQuota("claude", (five_hours(60), week(70)))
    assert quota_line(quota, NOW) == "claude: 60 % of 5 hours and 70 % of the week left"
    assert quota_line(quota, NOW + 2 * HOUR) == "claude: 70 % of the week left"
    assert not quota_line(quota, NOW + 99 * HOUR)


@pytest.mark.parametrize("kept", [None, 1, {"claude": 1}, {"claude": [{"name": "5h"}, {"name": 1}]}])
def test_what_another_version_kept_is_no_obstacle(kept: object) -> None:
    assert all(not each.windows for each in quota_in({"quota": kept}))
