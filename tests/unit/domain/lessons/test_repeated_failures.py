from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.lessons.repeated_failures import MOST, Seen, lessons_of, print_of, without_place

LINE = "E501 line too long"


def seen(*places: tuple[str, int], check: str = "make lint", line: str = LINE) -> list[Seen]:
    return [Seen(run, iteration, check, line) for run, iteration in places]


@pytest.mark.parametrize(
    ("failures", "counts"),
    [
        ([], []),
        (seen(("a", 1), ("a", 2)), []),
        (seen(("a", 1), ("a", 2), ("a", 3)), []),  # the test that is being fixed
        (seen(("a", 1), ("b", 1)), [2]),
        (seen(("a", 1), ("a", 1), ("a", 1)), []),  # attempts of one iteration
        (seen(("a", 1)) + seen(("b", 1), line="other"), []),
        (seen(("a", 1)) + seen(("b", 1), check="make test"), []),
        (seen(("a", 1), line=f"src/a.py:3:80: {LINE}") + seen(("b", 1), line=f"b.py:9: {LINE}"), [2]),
        (seen(("a", 1), line="3 failed in 0.1s") + seen(("b", 1), line="4 failed in 2s"), [2]),
        (seen(("a", 1), ("b", 1)) + seen(("a", 1), ("b", 1), ("b", 2), line="other"), [3, 2]),
    ],
)
def test_what_came_back_is_a_lesson(failures: list[Seen], counts: list[int]) -> None:
    assert [len(lesson.places) for lesson in lessons_of(failures)] == counts


def test_a_lesson_says_where_and_how_it_failed_last() -> None:
    (lesson,) = lessons_of(
        [Seen("a", 2, "lint", "a.py:1: E1 of 3"), Seen("b", 1, "lint", "b.py:7:7: E1 of 9")]
    )
    assert (lesson.check, lesson.line, lesson.runs) == ("lint", "E1 of 9", ("a", "b"))


def test_a_long_record_is_read_in_a_moment() -> None:
    failures = seen(*(("ab"[number % 2], number) for number in range(100_000)))
    begun = time.process_time()
    (lesson,) = lessons_of(failures)
    assert time.process_time() - begun < 5.0  # a copy for each would take many times as long
    assert len(lesson.places) == 100_000


@pytest.mark.parametrize(
    ("line", "rest"),
    [
        ("src/a.py:3:80: E501 too long", "E501 too long"),
        ("a.c:1: error: x", "error: x"),
        ("FAILED tests/test_a.py::test_x - assert 1 == 2", "FAILED tests/test_a.py::test_x - assert 1 == 2"),
        ("a.py:3:", "a.py:3:"),
        ("", ""),
    ],
)
def test_where_it_was_is_left_out(line: str, rest: str) -> None:
    assert without_place(line) == rest


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 4), st.sampled_from("xy"), st.text(max_size=8)))
)
def test_order_and_number_are_bounded_and_nothing_is_counted_twice(
    rows: list[tuple[str, int, str, str]],
) -> None:
    lessons = lessons_of(Seen(*row) for row in rows)
    assert len(lessons) <= MOST
    counts = [len(lesson.places) for lesson in lessons]
    assert counts == sorted(counts, reverse=True)
    assert all(lesson.is_repeated and len(set(lesson.places)) == len(lesson.places) for lesson in lessons)
    assert len({(lesson.check, print_of(lesson.line)) for lesson in lessons}) == len(lessons)
    assert lessons_of(Seen(*row) for row in [*rows, *rows]) == lessons or not rows
