"""Which messages may be posted, and which of them are wanted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ralph.domain.supervision.message import (
    MAX_BODY_CHARS,
    BusMessage,
    Selection,
    is_message_id,
    message_id,
    moment,
    problem_with,
)

GOOD = BusMessage(id="20261115T141500.123456Z-1a2b3c4d", time=100.0, type="FACT", body="x")


def test_an_id_sorts_by_time_and_is_known_as_one() -> None:
    early, late = message_id(1_000_000.0, b"\xff" * 4), message_id(1_000_000.5, b"\0" * 4)
    assert early < late
    assert is_message_id(early)
    assert not is_message_id(early[:-1])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"type": ""}, "type"),
        ({"type": "two words"}, "type"),
        ({"type": "FACT\n- run: forged"}, "type"),
        ({"task": "a\nb"}, "task"),
        ({"project": "x" * 201}, "project"),
        ({"run": " r"}, "begins or ends"),
        ({"parents": ("nobody",)}, "not the id"),
        ({"parents": (GOOD.id,) * 101}, "parents"),
        ({"body": "x" * (MAX_BODY_CHARS + 1)}, "too long"),
        ({"body": "half \ud800 character"}, "UTF-8"),
    ],
)
def test_a_message_that_makes_no_sense_is_refused_with_a_reason(
    change: dict[str, object], words: str
) -> None:
    problem = problem_with(replace(GOOD, **change))  # type: ignore[arg-type]
    assert problem is not None
    assert words in problem[0]
    assert problem[1]


def test_an_ordinary_message_has_no_problem() -> None:
    assert problem_with(replace(GOOD, project="shop", task="search", run="r1", parents=(GOOD.id,))) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10m", 400.0),
        ("2h", 1000.0 - 7200),
        ("1970-01-01T00:05:00Z", 300.0),
        ("1970-01-01T00:05", 300.0),
        ("1970-01-01", 0.0),
        ("1763216100", 1_763_216_100.0),
        ("soon", None),
        ("", None),
        ("-5m", None),
        ("9" * 20 + "d", 1000.0 - 86_400 * 10**9),
        ("9" * 5000 + "d", None),
    ],
)
def test_a_moment_is_a_span_back_a_date_or_seconds(text: str, expected: float | None) -> None:
    assert moment(text, now=1000.0) == expected


def test_what_comes_behind_an_id_goes_by_the_file_and_not_by_clocks() -> None:
    later = replace(GOOD, id=message_id(50.0, b"\0\0\0\1"), time=50.0)  # its clock was set back
    assert Selection(after_id=GOOD.id).of([GOOD, later]) == [later]
    assert Selection(since=99.0).of([GOOD, later]) == [GOOD]


def test_types_are_compared_without_regard_to_case() -> None:
    wait = replace(GOOD, type="wait_without_restart")
    assert Selection(frozenset({"WAIT_WITHOUT_RESTART"})).of([GOOD, wait]) == [wait]
