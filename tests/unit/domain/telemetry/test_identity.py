"""Which trace a run belongs to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.telemetry.identity import (
    Place,
    below,
    parse_traceparent,
    part_of,
    place_of,
    span_of,
    traceparent,
)

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (f"00-{TRACE}-{SPAN}-01", Place(TRACE, SPAN)),
        (f" 00-{TRACE}-{SPAN}-03\n", Place(TRACE, SPAN)),
        (f"00-{TRACE}-{SPAN}-00", Place(TRACE, SPAN, is_sampled=False)),
        (f"01-{TRACE}-{SPAN}-01-later", Place(TRACE, SPAN)),
        (f"00-{TRACE}-{SPAN}-01-later", None),
        (f"ff-{TRACE}-{SPAN}-01", None),
        (f"00-{'0' * 32}-{SPAN}-01", None),
        (f"00-{TRACE}-{'0' * 16}-01", None),
        (f"00-{TRACE.upper()}-{SPAN}-01", None),
        (f"00-{TRACE}-{SPAN}", None),
        ("", None),
    ],
)
def test_what_a_traceparent_means(text: str, place: Place | None) -> None:
    assert parse_traceparent(text) == place


@given(st.text(max_size=80))
def test_any_text_is_a_place_or_none(text: str) -> None:
    parse_traceparent(text)


@given(st.text(), st.booleans())
def test_what_is_written_can_be_read(run_id: str, is_sampled: bool) -> None:
    place = Place(place_of(run_id).trace_id, is_sampled=is_sampled)
    told = traceparent(place, span_of(run_id, "session", 1))
    assert parse_traceparent(told) == Place(place.trace_id, span_of(run_id, "session", 1), is_sampled)


def test_spans_are_told_apart_by_run_kind_and_number() -> None:
    ids = {span_of(run, kind, number) for run in "ab" for kind in ("run", "session") for number in (1, 2)}
    assert len(ids) == 8
    assert below("a", "1 t") != below("a", "2 t")


def test_a_part_is_below_its_whole() -> None:
    assert part_of("whole", Place(TRACE, SPAN)) == Place(TRACE, span_of("whole", "run", 1))
