"""Whatever an agent prints, a parser makes events of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralph.adapters.agents.claude.stream import ClaudeStreamParser
from ralph.adapters.agents.codex.stream import CodexStreamParser
from ralph.adapters.agents.copilot.stream import CopilotStreamParser
from ralph.adapters.agents.gemini.stream import GeminiStreamParser
from ralph.adapters.agents.opencode.stream import OpencodeStreamParser
from ralph.adapters.agents.qwen.stream import QwenStreamParser
from ralph.domain.agent.events import AgentEvent, Noise, Notice, Text, ToolEnded, ToolStarted, TurnEnded
from ralph.engine.ports import StreamParser

STREAMS = Path(__file__).parents[3] / "data" / "streams"
PARSERS: list[tuple[str, Callable[[], StreamParser]]] = [
    ("claude", ClaudeStreamParser),
    ("codex", CodexStreamParser),
    ("amp", ClaudeStreamParser),
    ("gemini", GeminiStreamParser),
    ("opencode", OpencodeStreamParser),
    ("qwen", QwenStreamParser),
    ("copilot", CopilotStreamParser),
]
LINES = {
    agent: sorted(
        {
            line
            for path in STREAMS.glob(f"{agent}/*.ndjson")
            for line in path.read_bytes().splitlines()
            if line
        }
    )
    for agent, _ in PARSERS
}
quickly = settings(deadline=None, max_examples=200)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def events_of(parser: StreamParser, lines: Iterable[bytes]) -> list[AgentEvent]:
    events = [event for line in lines for event in parser.parse([line])]
    events += parser.finish()
    for event in events:
        assert event.kind
        match event:
            case ToolEnded():
                assert len(event.output) <= 2_000
                assert event.lines <= event.chars
            case ToolStarted():
                assert len(event.summary) <= 200
                assert event.summary.isprintable() or not any(mark in event.summary for mark in "\n\r\x1b")
            case Noise():
                assert len(event.text) <= 2_000
            case _:
                pass
        # What goes on to the journal and the screen must be encodable.
        repr(event).encode("utf-8")
    return events


@pytest.mark.parametrize(("agent", "parser"), PARSERS)
@quickly
@given(lines=st.lists(st.binary(max_size=80), max_size=5))
def test_arbitrary_bytes(agent: str, parser: Callable[[], StreamParser], lines: list[bytes]) -> None:
    events_of(parser(), lines)


@pytest.mark.parametrize(("agent", "parser"), PARSERS)
@quickly
@given(data=st.data())
def test_recorded_lines_with_bytes_changed_cut_or_doubled(
    agent: str, parser: Callable[[], StreamParser], data: st.DataObject
) -> None:
    line = bytearray(data.draw(st.sampled_from(LINES[agent])))
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, max(0, len(line) - 1)))
        match data.draw(st.sampled_from(["change", "cut", "double"])):
            case "change":
                line[at : at + 1] = data.draw(st.binary(min_size=1, max_size=3))
            case "cut":
                del line[at:]
            case _:
                line += line[at : at + 200]

    events_of(parser(), [bytes(line), *LINES[agent][:3]])


@pytest.mark.parametrize(("agent", "parser"), PARSERS)
@quickly
@given(data=st.data())
def test_recorded_lines_with_values_of_other_types(
    agent: str, parser: Callable[[], StreamParser], data: st.DataObject
) -> None:
    line = data.draw(st.sampled_from([line for line in LINES[agent] if _is_object(line)]))
    document = json.loads(line.decode("utf-8", "replace"))
    places = list(_places(document))
    for _ in range(data.draw(st.integers(1, 3))):
        holder, key = data.draw(st.sampled_from(places))
        holder[key] = data.draw(json_values)

    events_of(parser(), [json.dumps(document).encode()])


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line.decode("utf-8", "replace")), dict)
    except (ValueError, RecursionError):
        return False


def _places(document: Any) -> Iterable[tuple[Any, Any]]:
    """Not by recursion: some Pythons read documents that are deeper than their own stack."""
    pending = [document]
    while pending:
        holder = pending.pop()
        if isinstance(holder, dict | list):
            for key, value in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
                yield holder, key
                pending.append(value)


def test_a_huge_tool_result_becomes_a_small_event_that_counts_the_whole() -> None:
    content = json.dumps("0123456789\n" * 500_000)
    line = f'{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t","content":{content}}}]}}}}'

    (event,) = ClaudeStreamParser().parse([line.encode()])

    assert isinstance(event, ToolEnded)
    assert (len(event.output), event.lines, event.chars) == (2_000, 500_000, 5_500_000)


def test_tools_that_never_end_do_not_fill_the_memory() -> None:
    parser = ClaudeStreamParser()
    call = (
        '{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t%d","name":"Bash","input":{}}]}}'
    )
    for number in range(10_000):
        parser.parse([(call % number).encode()])

    assert len(parser._open_tools) <= 4_096
    result = (
        b'{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t9999","content":""}]}}'
    )
    assert parser.parse([result]) == [ToolEnded("t9999", "Bash")]


def test_words_to_the_assistant_are_never_its_own() -> None:
    line = b'{"type":"user","message":{"content":[{"type":"text","text":"say <response>DONE</response>"}]}}'

    assert ClaudeStreamParser().parse([line]) == [Notice("say <response>DONE</response>")]


def test_a_result_repeats_no_words_and_an_error_text_is_no_words_at_all() -> None:
    said = b'{"type":"assistant","message":{"content":[{"type":"text","text":"done"}]}}'
    result = b'{"type":"result","subtype":"success","result":"done"}'
    failed = b'{"type":"result","subtype":"success","is_error":true,"result":"<response>DONE</response>"}'
    parser = ClaudeStreamParser()

    assert [type(event) for event in events_of(parser, [said, result])] == [Text, TurnEnded]
    turn = parser.parse([failed])[-1]
    assert isinstance(turn, TurnEnded)
    assert (turn.text, turn.error) == ("", "<response>DONE</response>")
    assert not any(isinstance(event, Text) for event in parser.parse([failed]))
