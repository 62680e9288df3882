"""Messages as text and back: everything survives, nothing can be forged, damage is skipped and reported."""

from __future__ import annotations

from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.supervision.message import BusMessage, message_id, parse_bus, render_message

ID = "20261115T141500.123456Z-1a2b3c4d"
OTHER = "20261115T141600.123456Z-00000001"

texts = st.text(st.characters(codec="utf-8"), max_size=200)
names = st.from_regex(r"[\w.@+-]{0,20}", fullmatch=True)
ids = st.builds(
    message_id,
    st.integers(0, 4_000_000_000).map(float),
    st.binary(min_size=4, max_size=4),
)
messages = st.builds(
    BusMessage,
    id=ids,
    time=st.integers(0, 4_000_000_000).map(float),
    type=st.from_regex(r"[A-Za-z][A-Za-z0-9_.-]{0,20}", fullmatch=True),
    body=texts,
    project=names,
    task=names,
    run=names,
    parents=st.lists(ids, max_size=3).map(tuple),
)


def message(body: str = "hello", *, name: str = ID, kind: str = "FACT") -> BusMessage:
    return BusMessage(
        id=name, time=1_763_216_100.5, type=kind, body=body, project="shop", task="search", run="r1"
    )


@given(st.lists(messages, max_size=4))
def test_whatever_is_rendered_is_read_back_the_same(posted: list[BusMessage]) -> None:
    data = b"".join(map(render_message, posted))

    reading = parse_bus(data)

    assert reading.messages == posted
    assert not reading.problems
    assert reading.torn_tail is None
    assert reading.settled == len(data)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("1970-01-01T00:05:00Z", 300.0),
        ("1970-01-01T00:05:00", 300.0),
        ("soon", 0.0),
        ("0001-01-01T00:00:00", 0.0),
        ("0001-01-01T00:00:00+23:59", 0.0),
        ("9999-12-31T23:59:59.999999-23:59", 0.0),
        ("9999-12-31T23:59:59.999999Z", 0.0),
    ],
)
def test_a_time_that_nobody_could_write_down_again_is_none(written: str, expected: float) -> None:
    block = f"## FACT {ID}\n\n- time: {written}\n\n> by hand\n\n".encode()
    (read,) = parse_bus(block + f"<!-- end {ID} {crc32(block):08x} -->\n".encode()).messages
    assert read.time == expected


@given(messages, messages)
def test_a_body_that_looks_like_a_message_is_only_a_body(inner: BusMessage, outer: BusMessage) -> None:
    body = render_message(inner).decode()
    wrapped = BusMessage(id=outer.id, time=outer.time, type=outer.type, body=body)

    assert parse_bus(render_message(wrapped)).messages == [wrapped]


@given(st.data())
def test_a_message_that_was_cut_anywhere_is_skipped_and_the_next_one_is_read(data: st.DataObject) -> None:
    whole = render_message(message("one\ntwo"))
    cut = data.draw(st.integers(1, len(whole) - len(b"\n\n") - 1))
    after = message("after", name=OTHER)

    # The next writer begins on a line of its own.
    torn = whole[:cut]
    reading = parse_bus(torn + (b"" if torn.endswith(b"\n") else b"\n") + render_message(after))

    assert reading.messages == [after]
    assert len(reading.problems) == 1


@given(st.binary(max_size=400), st.integers(0, 1000))
def test_whatever_stands_in_the_file_is_read_without_an_error(data: bytes, offset: int) -> None:
    reading = parse_bus(data, offset=offset)
    assert offset <= reading.settled <= offset + len(data)


def test_a_torn_tail_is_told_apart_from_what_is_whole() -> None:
    whole = render_message(message("one"))
    torn = render_message(message("two", name=OTHER))[:-30]

    reading = parse_bus(whole + torn)

    assert [each.body for each in reading.messages] == ["one"]
    assert reading.torn_tail is not None
    assert OTHER in reading.torn_tail.text
    assert reading.settled == reading.torn_tail.offset == len(whole)


def test_an_altered_message_is_skipped_and_named() -> None:
    data = render_message(message("we ship on friday")).replace(b"friday", b"monday")

    reading = parse_bus(data)

    assert not reading.messages
    assert "altered" in reading.problems[0].text
    assert ID in reading.problems[0].text


def test_text_that_somebody_wrote_between_messages_is_reported_once() -> None:
    data = (
        render_message(message("one"))
        + b"a note\nof two lines\n\n"
        + render_message(message("two", name=OTHER))
    )

    reading = parse_bus(data)

    assert [each.body for each in reading.messages] == ["one", "two"]
    assert [problem.text for problem in reading.problems] == ["text outside of any message was skipped"]


def test_reading_goes_on_where_it_was_settled() -> None:
    first, second = render_message(message("one")), render_message(message("two", name=OTHER))
    half = parse_bus(first + second[:20])

    rest = parse_bus((first + second)[half.settled :], offset=half.settled)

    assert [each.body for each in (*half.messages, *rest.messages)] == ["one", "two"]
    assert rest.settled == len(first) + len(second)


def test_the_text_is_what_the_documentation_shows() -> None:
    shown = render_message(message("the search works")).decode()
    assert shown.startswith(f"## FACT {ID}\n\n- time: 2025-11-15T14:15:00.500000Z\n- project: shop\n")
    assert "\n> the search works\n\n<!-- end " in shown
