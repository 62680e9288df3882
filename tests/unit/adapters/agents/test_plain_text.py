from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ralph.adapters.agents.echo import normalized
from ralph.adapters.agents.plain_text import PlainTextParser, without_ansi
from ralph.domain.agent_events import AgentEvent, Text

PROMPT = "Fix the tests.\n\nWhen all pass, say\n  <response>DONE</response>\nand stop.\n"

quickly = settings(deadline=None, max_examples=150)


def texts(events: Iterable[AgentEvent]) -> list[str]:
    return [event.text for event in events if isinstance(event, Text)]


def said(output: str | bytes, prompt: str = PROMPT) -> str:
    parser = PlainTextParser(prompt)
    raw = output.encode() if isinstance(output, str) else output
    events: list[AgentEvent] = []
    for line in raw.removesuffix(b"\n").split(b"\n") if raw else []:
        events += parser.parse(line)
    events += parser.finish()
    assert all(isinstance(event, Text) for event in events)
    pieces = [event for event in events if isinstance(event, Text)]
    assert [piece.final for piece in pieces] == [False] * (len(pieces) - 1) + [True]
    return "".join(piece.text for piece in pieces)


def quoted(text: str) -> str:
    return "".join(f"> {line}\n" for line in text.splitlines())


def test_lines_are_text_as_they_come() -> None:
    assert said("one\n\ntwo") == "one\n\ntwo\n"


@pytest.mark.parametrize(
    "echo",
    [
        PROMPT,
        quoted(PROMPT),
        quoted(quoted(PROMPT)),
        PROMPT.replace("\n", "\n\n"),
        PROMPT.replace("\n\n", "\n").replace(" ", "   "),
        PROMPT.replace("\n", "\r\n"),
        "\x1b[2m" + PROMPT.replace("\n", "\x1b[0m\n"),
    ],
    ids=["as it is", "quoted", "quoted twice", "spaced out", "other blanks", "crlf", "coloured"],
)
def test_an_echo_of_the_prompt_is_removed_and_the_text_around_it_kept(echo: str) -> None:
    assert "DONE" not in said(f"before\n{echo}after\n")
    assert said(f"before\n{echo}after\n").split() == ["before", "after"]
    assert said(echo + echo).strip() == ""


def test_a_part_of_the_prompt_is_the_agents_own_text() -> None:
    part = "Fix the tests.\n\nWhen all pass, say\n  <response>DONE</response>\n"

    assert said(part) == part
    assert said("  <response>DONE</response>\n") == "  <response>DONE</response>\n"


def test_a_line_of_the_prompt_inside_a_line_is_the_agents_own_text() -> None:
    assert said("you said: go\n", prompt="go") == "you said: go\n"


def test_a_prompt_of_one_line_counts_as_a_block() -> None:
    assert said("say <response>DONE</response>\nok\n", prompt="say <response>DONE</response>") == "ok\n"


def test_an_echo_that_begins_in_a_false_start_is_found() -> None:
    prompt = "a\nb\na\nb\nc"

    assert said("a\nb\n" + prompt + "\nend\n", prompt) == "a\nb\nend\n"
    assert said("a\n\nb\na\n\n" + "b\na\nb\nc\nend\n", prompt) == "a\n\nb\nend\n"


def test_an_empty_prompt_removes_nothing() -> None:
    assert said("\n\nx\n", prompt=" \n\n") == "\n\nx\n"


def test_what_is_held_back_is_bounded() -> None:
    parser = PlainTextParser("first line\nsecond line")
    parser.parse(b"first line")

    given_out = sum(len(parser.parse(b"")) for _ in range(1_000))
    assert given_out > 800

    parser.parse(b"first line")
    long = b"second" + b" " * 1_000_000 + b"line"
    assert texts(parser.parse(long)) == ["first line\n", long.decode() + "\n"]


def test_bytes_that_are_no_text_become_replacement_characters() -> None:
    assert said(b"a\xff\xfeb\n") == "a\ufffd\ufffdb\n"


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b[?25lx\x1b[2K\x1b(B", "x"),
        ("<resp\x1b[1monse>DONE</response>", "<response>DONE</response>"),
        ("end\x1b", "end"),
        ("no escape", "no escape"),
    ],
)
def test_terminal_sequences_are_stripped(text: str, plain: str) -> None:
    assert without_ansi(text) == plain


lines = st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp")), max_size=12)
prompts = st.lists(lines, min_size=1, max_size=6).map("\n".join)
few_lines = st.lists(st.sampled_from(["a", "b", "> a", " b ", "", "c"]), max_size=12)


@quickly
@given(prompts)
def test_output_that_is_exactly_the_prompt_is_no_text(prompt: str) -> None:
    assume(any(map(normalized, prompt.splitlines())))

    assert said(prompt, prompt).strip() == ""
    assert said(quoted(prompt), prompt).strip(" >\n") == ""


@quickly
@given(few_lines, few_lines)
def test_without_an_echo_everything_is_kept_in_order(prompt: list[str], output: list[str]) -> None:
    wanted = [key for key in map(normalized, prompt) if key]
    seen = [key for key in map(normalized, output) if key]
    has_echo = any(seen[at : at + len(wanted)] == wanted for at in range(len(seen)))
    assume(not wanted or not has_echo)
    text = "".join(f"{line}\n" for line in output)

    assert said(text, "\n".join(prompt)) == text


@quickly
@given(few_lines, few_lines, few_lines)
def test_after_removal_no_whole_echo_was_passed_on_and_the_rest_is_in_order(
    prompt: list[str], before: list[str], after: list[str]
) -> None:
    wanted = [key for key in map(normalized, prompt) if key]
    assume(wanted)
    output = [*before, *prompt, *after]
    kept = [
        key for key in map(normalized, said("\n".join(output) + "\n", "\n".join(prompt)).splitlines()) if key
    ]
    seen = [key for key in map(normalized, output) if key]

    # Greedy from the left, not overlapping: what a plain search over the whole output removes.
    expected, at = [], 0
    while at < len(seen):
        if seen[at : at + len(wanted)] == wanted:
            at += len(wanted)
        else:
            expected.append(seen[at])
            at += 1
    assert kept == expected


@quickly
@given(st.binary(max_size=200), prompts)
def test_no_bytes_make_it_raise(output: bytes, prompt: str) -> None:
    said(output, prompt)
