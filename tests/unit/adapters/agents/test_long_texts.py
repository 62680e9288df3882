"""A text of many megabytes is measured in pieces: as if it had been decoded whole."""

from __future__ import annotations

import json
from typing import cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.adapters.agents.claude.stream import ClaudeStreamParser
from ralph.adapters.agents.excerpts import measure
from ralph.adapters.agents.json_lines import UNREADABLE
from ralph.adapters.agents.long_texts import LONG_LINE, measure_long
from ralph.domain.agent.events import AgentEvent, ToolEnded

CHARS = st.text(st.sampled_from('ab\\"\n\t/é✓🎉'), min_size=1, max_size=9)


@given(CHARS, st.integers(0, 20), st.booleans())
def test_a_text_is_measured_as_if_it_were_whole(unit: str, ahead: int, ascii_only: bool) -> None:
    text = "x" * ahead + unit * (LONG_LINE // len(unit.encode()) + 3)
    raw = msgspec.Raw(json.dumps(text, ensure_ascii=ascii_only).encode())
    assert measure_long(raw) == measure(text)


@pytest.mark.parametrize(
    "raw", [b"null", b"[]", b'"\xff"', b'"\\ud800"', b'"' + b"x" * 2 * LONG_LINE + b'\xff"']
)
def test_what_is_no_text_is_not_measured(raw: bytes) -> None:
    with pytest.raises(UNREADABLE):
        measure_long(msgspec.Raw(raw))


def tool_result(content: object, *, identity: str = "toolu_1", **more: object) -> bytes:
    block = {"type": "tool_result", "tool_use_id": identity, "content": content, **more}
    message = {"role": "user", "content": [block]}
    return json.dumps({"type": "user", "message": message, "parent_tool_use_id": None}).encode()


def heard(line: bytes) -> list[AgentEvent]:
    parser = ClaudeStreamParser()
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "cat x"}}
    parser.parse([json.dumps({"type": "assistant", "message": {"content": [call]}}).encode()])
    return parser.parse([line])


@pytest.mark.parametrize("identity", ["toolu_1", "toolu_2"])
@pytest.mark.parametrize("is_error", [True, False, None])
def test_a_long_result_is_heard_like_a_short_one(identity: str, is_error: bool | None) -> None:
    text = "one line of many\n" * 100_000
    name = "Bash" if identity == "toolu_1" else ""
    expected = ToolEnded(identity, name, text[:2000], is_error is True, 100_000, len(text))
    assert heard(tool_result(text, identity=identity, is_error=is_error)) == [expected]
    # As the framer hands over what came in many chunks.
    in_chunks = cast(bytes, bytearray(tool_result(text, identity=identity, is_error=is_error)))
    assert heard(in_chunks) == [expected]


def test_a_long_result_in_parts_is_heard_whole() -> None:
    parts = [{"type": "text", "text": "a" * LONG_LINE}, {"type": "image"}]
    (event,) = heard(tool_result(parts))
    assert isinstance(event, ToolEnded)
    assert event.chars == LONG_LINE + len("\n[image]")
