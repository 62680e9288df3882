from __future__ import annotations

import json
import re
import textwrap
import tracemalloc
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ralph.adapters.agents.excerpts import without_ansi
from ralph.adapters.agents.plain.agent import PlainAdapter
from ralph.adapters.agents.plain_text import ECHO_LEFT_OUT, PlainTextParser
from ralph.domain.agent.events import AgentEvent, Notice, Text
from ralph.engine.ports import AgentRequest, StreamParser

TAG = "<response>DONE</response>"
PROMPT = f"""# Fix the tests.

- run `make test`, **always** (see "docs")
- change _nothing_ else in C:\\tools\\new

When all 17 pass, and not before that, say
  {TAG}
and stop.
"""
FEEDBACK = 'Guardrail "make test" failed with exit code 2.\nOutput (truncated):\n<b>3</b> failed\n'

quickly = settings(deadline=None, max_examples=150)


def pieces(events: Iterable[AgentEvent]) -> list[Text]:
    return [event for event in events if isinstance(event, Text)]


def heard(parser: StreamParser, output: str | bytes) -> str:
    """All that it takes for the agent's words; also checks the shape of the events."""
    raw = output.encode() if isinstance(output, str) else output
    events: list[AgentEvent] = []
    for line in raw.removesuffix(b"\n").split(b"\n") if raw else []:
        of_line = parser.parse([line])
        assert len(pieces(of_line)) <= 1
        events += of_line
    events += parser.finish()
    texts = pieces(events)
    assert all(event == Notice(ECHO_LEFT_OUT) for event in events if event not in texts)
    assert [text.final for text in texts] == [False] * (len(texts) - 1) + [True]
    assert all(text.text for text in texts[:-1])
    return "".join(text.text for text in texts)


def said(output: str | bytes, *sent: str) -> str:
    return heard(PlainTextParser(*(sent or [PROMPT])), output)


def letters(text: str) -> str:
    return "".join(filter(str.isalpha, text))


def quoted(text: str, mark: str = "> ") -> str:
    return "".join(f"{mark}{line}\n" for line in text.splitlines())


def folded(text: str, width: int) -> str:
    """What ``fold -s`` and friends make of it: the words in other lines."""
    return textwrap.fill(text, width, break_on_hyphens=False) + "\n"


def chopped(text: str, width: int) -> str:
    """What a terminal's edge makes of it: lines cut wherever they end."""
    return re.sub(f"(.{{{width}}})", r"\1\n", text)


def boxed(text: str) -> str:
    return "".join(["╭────────╮\n", *(f"│ {line:<50} │\n" for line in text.splitlines()), "╰────────╯\n"])


def test_lines_are_text_as_they_come() -> None:
    assert said("one\n\n  two\t\n") == "one\n\n  two\t\n"


ECHOES = {
    "as it is": PROMPT,
    "without its last newline": PROMPT.rstrip(),
    "quoted": quoted(PROMPT),
    "quoted twice": quoted(quoted(PROMPT)),
    "quoted without blanks": quoted(PROMPT, ">"),
    "indented": quoted(PROMPT, "\t    "),
    "as bullets": quoted(PROMPT, "* "),
    "in a box": boxed(PROMPT),
    "with line numbers": "".join(f"{n:6}\t{line}\n" for n, line in enumerate(PROMPT.splitlines(), 1)),
    "with times": quoted(PROMPT, "[2026-02-03 04:05:06] "),
    "spaced out": PROMPT.replace("\n", "\n\n"),
    "other blanks": PROMPT.replace("\n\n", "\n").replace(" ", "   "),
    "crlf": PROMPT.replace("\n", "\r\n"),
    "coloured": "\x1b[2m" + PROMPT.replace("\n", "\x1b[0m\n\x1b[2m"),
    "on one line": " ".join(PROMPT.split()),
    "wrapped": folded(PROMPT, 60),
    "wrapped narrowly": folded(PROMPT, 12),
    "wrapped, in a quote": quoted(folded(PROMPT, 30)),
    "cut at a terminal's edge": chopped(PROMPT, 13),
    "in a fence": f"```\n{PROMPT}```\n",
    "in quotation marks": f'"{PROMPT.strip()}".',
    "as bold text": f"**{PROMPT.strip()}**",
    "as a JSON string": json.dumps(PROMPT),
    "as a literal": repr(PROMPT),
    "without its markdown": re.sub(r"(?m)^[#-] |[`*_]", "", PROMPT),
}


@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES)
def test_an_echo_of_the_prompt_is_removed_and_the_text_around_it_kept(echo: str) -> None:
    echo = echo.removesuffix("\n") + "\n"

    assert letters(said(echo)) == ""
    assert letters(said(echo + echo)) == ""
    assert letters(said(f"before\n{echo}after\n")) == "beforeafter"
    assert letters(said(f"User: {echo}after\n")) == "Userafter"
    assert said(f"{echo}All done.\n{TAG}\n").endswith(f"All done.\n{TAG}\n")
    assert said(f"{echo}{TAG}\n").endswith(f"{TAG}\n")
    assert "<" not in said(f"{TAG}\n{echo}").removeprefix(f"{TAG}\n")


def test_an_echo_that_is_left_out_is_marked() -> None:
    parser = PlainTextParser(PROMPT)
    lines = f"before\n{PROMPT}\nafter".encode().split(b"\n")
    events = [event for line in lines for event in parser.parse([line])]
    assert [event for event in events if event != Text("\n", False)] == [
        Text("before\n", False),
        Notice(ECHO_LEFT_OUT),
        Text("after\n", False),
    ]
    assert parser.parse([b"more"]) == [Text("more\n", False)]


def test_whole_lines_go_whole() -> None:
    assert said(f"before\n\n{PROMPT}\nafter\n") == "before\n\n\nafter\n"
    assert said(f"before\n{quoted(PROMPT)}after\n") == "before\nafter\n"
    assert said(f"before\n{PROMPT}{PROMPT}") == "before\n"


@pytest.mark.parametrize(
    ("output", "kept"),
    [
        (f"User: {folded(PROMPT, 1_000)}ok\n", "User: \nok\n"),
        (f"prompt={folded(PROMPT, 1_000)}ok\n", "prompt=\nok\n"),
        (f'{{"prompt": {json.dumps(PROMPT)}, "model": "x"}}\n', '{"prompt": " "model": "x"}\n'),
        (f"{PROMPT.rstrip()} Sure. {TAG}\n", f" Sure. {TAG}\n"),
        (f"{PROMPT.rstrip()}{TAG}\n", f"{TAG}\n"),
    ],
    ids=[
        "a prefix",
        "a prefix without blank",
        "a request in a log",
        "an answer behind it",
        "an answer at once",
    ],
)
def test_an_echo_may_share_its_lines(output: str, kept: str) -> None:
    # Of the decoration some remains: only what cannot be the agent's goes with the echo.
    assert said(output).replace("# ", "") == kept


PARTS = (PROMPT, FEEDBACK)
SENT = f"Iteration 2 of 5, 3 remaining.\n\n{PROMPT}\n\n{FEEDBACK}\n\nlook at the clock"


def parser_of(prompt: str, parts: tuple[str, ...]) -> StreamParser:
    nowhere = Path("nowhere")
    request = AgentRequest(prompt, nowhere, nowhere, nowhere, parts=parts)
    return PlainAdapter(command="parrot", flags=(), as_root=False).parser(request)


@pytest.mark.parametrize(
    "echo",
    [SENT, PROMPT, FEEDBACK, PROMPT + FEEDBACK, FEEDBACK + PROMPT, SENT + PROMPT, folded(PROMPT, 30) + SENT],
    ids=[
        "all",
        "the base",
        "feedback",
        "both",
        "the other way round",
        "all, then the base",
        "the base, then all",
    ],
)
def test_an_echo_of_a_part_of_the_prompt_is_removed(echo: str) -> None:
    assert letters(heard(parser_of(SENT, PARTS), echo)) == ""
    assert heard(parser_of(SENT, PARTS), f"{echo}\nok\n{TAG}\n").strip() == f"ok\n{TAG}"


def test_a_prompt_of_unknown_parts_is_known_as_a_whole() -> None:
    assert heard(parser_of(PROMPT, ()), PROMPT) == ""


def test_a_text_within_another_does_not_hide_it() -> None:
    outer = f"Go on with this:\n{PROMPT}\nand end with <promise>OVER</promise> then\n"

    assert said(outer, PROMPT, outer) == ""
    assert said(PROMPT, PROMPT, outer) == ""


def test_a_text_that_claims_nothing_is_not_looked_for() -> None:
    assert said("fix it\n", "fix it") == "fix it\n"
    assert said("say <response>\n", "say <response>") == "say <response>\n"
    assert said("\n\n</>\n", " \n", "</>") == "\n\n</>\n"


def test_very_many_echoes_are_removed_in_one_line() -> None:
    assert said("Fix the tests. <r>DONE</r> " * 20_000, "Fix the tests. <r>DONE</r>").strip() == ""


def test_half_an_echo_is_the_agents_own_text() -> None:
    half = PROMPT[: PROMPT.index("and stop")]

    assert said(half) == half
    assert said(f"{half}and go on\n") == f"{half}and go on\n"
    assert said(f"  {TAG}\n") == f"  {TAG}\n"
    assert said(PROMPT.replace("nothing", "little")) == PROMPT.replace("nothing", "little")


@pytest.mark.parametrize(
    ("prompt", "output", "kept"),
    [
        ("a\nb\na\nb\n</c>", "a\nb\na\nb\na\nb\n</c>\nend\n", "a\nb\nend\n"),
        ("a\nb\na\nb\n</c>", "a\n\nb\na\n\nb\na\nb\nc\nend\n", "a\n\nb\nend\n"),
        ("go go go </go>", "go go go go go\n", " go\n"),
        ("go go go </go>", "go go go\n", "go go go\n"),
        ("go go go </go>", "go go\ngo go\ngo go go\nX\n", "go go go\nX\n"),
        ("Fix the </x>", "Fix Fix the Fix the x Fix\n", "Fix Fix the  Fix\n"),
        ("</x>", "a x> b <x></x>\n", "a  b <\n"),
    ],
)
def test_an_echo_that_begins_in_a_false_start_is_found(prompt: str, output: str, kept: str) -> None:
    assert said(output, prompt) == kept


def test_what_is_held_back_is_bounded() -> None:
    parser = PlainTextParser(f"first line\n{TAG}")
    assert parser.parse([b"first line"]) == []

    given_out = sum(len(text.text) for _ in range(100_000) for text in pieces(parser.parse([b""])))
    assert given_out > 99_900 - 1_000

    assert parser.parse([b"first line"]) == []
    assert [text.text for text in pieces(parser.parse([b" " * 100_000]))] == [
        f"first line\n{' ' * 100_000}\n"
    ]


@pytest.mark.parametrize(
    "line",
    [
        b"x" * 10_000_000,
        b" " * 10_000_000,
        b"Fix " * 2_000,
        b"Fix the tests run make " * 5_000,
        b"1 " * 1_000_000 + b"Fix " * 2_000,
        b"Fix" + rb"\n" * 1_000_000,
        rb"Fix\n" * 100_000,
        (b"Fix" + b" " * 2_000) * 1_000,
    ],
    ids=[
        "without a word of it",
        "blank",
        "false starts",
        "longer false starts",
        "false starts after blanks",
        "written-out line breaks",
        "false starts before written-out line breaks",
        "false starts before blanks",
    ],
)
def test_a_very_long_line_comes_out_as_it_is_in_little_memory(line: bytes) -> None:
    parser = PlainTextParser(PROMPT)
    parser.parse([b"Fix the tests"])  # so that something is held when it comes
    tracemalloc.start()
    try:
        texts = pieces(parser.parse([line]))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert (
        "".join(text.text for text in [*texts, *pieces(parser.finish())])
        == f"Fix the tests\n{line.decode()}\n"
    )
    assert peak < 5 * len(line) + 1_000_000


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


words = st.text(
    st.characters(categories=["L", "N", "P", "S"], exclude_characters="\\\\"), min_size=1, max_size=6
)
prompts = st.lists(words, max_size=12).map(lambda those: " ".join(["Do", *those, TAG, "now"]))
blanks = st.sampled_from(
    [" ", "\n", "  ", "\n\n", "\t", "\r\n", "\n> ", "\n>> ", "\n│ ", " │\n│ ", "\n 12: ", "\n- "]
)
other_text = st.text(st.sampled_from("qQ zZ<>/\"'.\n\t|"), max_size=30)
few_letters = st.text(st.sampled_from("ab \n>"), max_size=24)


@quickly
@given(st.data(), prompts, other_text, other_text)
def test_however_an_echo_is_wrapped_only_the_text_around_it_is_left(
    data: st.DataObject, prompt: str, before: str, after: str
) -> None:
    first, *rest = prompt.split()
    echo = first + "".join(data.draw(blanks) + word for word in rest)
    kept = said(f"{before}{echo}{after}", prompt)

    assert letters(kept) == letters(before + after)
    assert TAG not in kept


@quickly
@given(st.data(), few_letters, st.lists(few_letters, max_size=4))
def test_every_echo_is_removed_from_the_left_and_nothing_else(
    data: st.DataObject, pattern: str, around: list[str]
) -> None:
    assume(letters(pattern))
    prompt = f"{pattern}</b>"
    output = "".join(data.draw(st.permutations([*around, prompt, pattern, prompt])))
    # The first word must be whole; one of a single letter always is.
    prompt = f"{pattern[0]} {pattern[1:]}</b>" if pattern[0].isalpha() else f"a {prompt}"

    kept = said(output, prompt)

    assert letters(kept) == letters(output).replace(letters(prompt), "")


@quickly
@given(few_letters, few_letters.map(lambda text: f"a {text}</b>"))
def test_without_an_echo_everything_is_kept_to_the_byte(output: str, prompt: str) -> None:
    assume(letters(prompt) not in letters(output))

    assert said(f"{output}\n", prompt) == f"{output}\n"


@quickly
@given(st.binary(max_size=200), prompts)
def test_no_bytes_make_it_raise(output: bytes, prompt: str) -> None:
    said(output, prompt, "\\n </x>")
