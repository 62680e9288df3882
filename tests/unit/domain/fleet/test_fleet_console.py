"""Which lines of a sign of life are new."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.fleet.console import Place, news_of
from ralph.domain.fleet.shift import Beat


def beat(first: int, *lines: str, turn: int = 1, worker: str = "box") -> Beat:
    return Beat(worker=worker, turn=turn, first_line=first, lines=lines)


@given(st.integers(1, 60), st.integers(1, 20), st.lists(st.integers(0, 12), max_size=20))
def test_every_line_is_told_once_or_counted_as_missed(total: int, window: int, steps: list[int]) -> None:
    place, told, missed, end = Place(), 0, 0, 0
    for step in steps:
        end = min(total, end + step)
        first = max(0, end - window)
        news = news_of(beat(first, *(str(number) for number in range(first, end))), place)
        assert list(news.lines) == [str(number) for number in range(end - len(news.lines), end)]
        told, missed, place = told + len(news.lines), missed + news.missed, news.place
    assert told + missed == end


def test_a_session_that_begins_again_is_told_from_its_beginning() -> None:
    place = news_of(beat(0, "a", "b"), Place()).place
    for again in (beat(0, "c", worker="other"), beat(0, "c", turn=2), beat(0, "c")):
        news = news_of(again, place)
        assert (news.lines, news.begins) == (("c",), True)
    assert not news_of(beat(0, "a", "b"), place).begins
