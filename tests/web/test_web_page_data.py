"""Whatever is in the record, the page gets bounded and harmless JSON of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ralph.domain.views.runs import FeedEvent
from ralph.interfaces.web.hub import encode
from ralph.interfaces.web.page_data import MOST_CHARS, MOST_ITEMS, event_data, line

TEXTS = st.text(st.characters(), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=8,
)
BUSY = settings(suppress_health_check=[HealthCheck.too_slow])  # a machine may be
KINDS = st.sampled_from(["text", "tool_ended", "todo_changed", "reasoning", "unheard_of", 7, None])


def shown(kind: str, data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(encode(event_data(FeedEvent(1, 1, 1.0, kind, data))))
    return found


@given(
    st.sampled_from(["warned", "agent_acted", "run_ended", "novel"]),
    st.binary() | VALUES.map(lambda value: json.dumps(value).encode()),
)
@BUSY
def test_any_data_can_be_told(kind: str, data: bytes) -> None:
    assert shown(kind, data)["seq"] == 1


@given(
    st.lists(
        st.tuples(
            KINDS, st.dictionaries(st.sampled_from(["text", "output", "items", "final", "parent"]), VALUES)
        ),
        max_size=6,
    )
)
@BUSY
def test_any_words_of_an_agent_can_be_told(items: list[tuple[Any, dict[str, Any]]]) -> None:
    record = {"kind": "agent_acted", "events": [{**given, "kind": kind} for kind, given in items]}
    found = shown("agent_acted", json.dumps(record).encode())
    text = json.dumps(found, ensure_ascii=False)
    assert not any(character in text for character in ("\x1b", "\u202e", "\u2066", "\x9b"))


@pytest.mark.parametrize("pieces", [10, 100_000])
def test_a_flood_in_one_event_is_cut_and_counted(pieces: int) -> None:
    record = {"events": [{"kind": "tool_ended", "id": str(n), "output": "y" * 50} for n in range(pieces)]}
    found = shown("agent_acted", json.dumps(record).encode())
    assert len(found["items"]) == min(pieces, MOST_ITEMS)
    assert found["omitted"] == pieces - len(found["items"])


def test_pieces_of_one_text_are_one() -> None:
    pieces = [{"kind": "text", "text": word, "final": word == "end"} for word in ("be", "gin ", "end")]
    other = {"kind": "text", "text": "another", "final": True}
    found = shown("agent_acted", json.dumps({"events": [*pieces, other]}).encode())
    assert [item["text"] for item in found["items"]] == ["begin end", "another"]


def test_one_event_stays_small() -> None:
    record = {"events": [{"kind": "tool_ended", "output": "z" * 1_000_000} for _ in range(50)]}
    assert (
        len(encode(event_data(FeedEvent(1, 1, 1.0, "agent_acted", json.dumps(record).encode()))))
        < 2 * MOST_CHARS
    )


@given(TEXTS)
def test_a_line_is_one_line(text: str) -> None:
    assert "\n" not in line(text)
