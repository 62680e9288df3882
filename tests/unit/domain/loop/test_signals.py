"""Claims are found in the assistant's words, whole tags only, however the words arrive."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.loop.claims import (
    MAX_TAG_CHARS,
    Tag,
    TagScanner,
    any_tag_claims,
    find_tags,
    first_tag_claims,
    matches,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<response>DONE</response>", True),
        ("<Response> done\n</RESPONSE>", True),
        ("done", False),
        ("<response>NOT DONE</response>", False),
        ("<response>DONE", False),
        ("DONE</response>", False),
        ("<response></response>", False),
        ("<response>no</response> <response>DONE</response>", False),
        ("<response>DONE</response> <response>no</response>", True),
        ("<respond>DONE</respond>", False),
        ("< response>DONE</response>", False),
        ("I will print a <response> tag at the end.\n<response>DONE</response>", True),
    ],
)
def test_the_first_response_tag_decides(text: str, expected: bool) -> None:
    assert first_tag_claims(find_tags(text, "response"), "response", "DONE") is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<promise>DONE</promise>", True),
        ("<promise> DONE </promise>", True),
        ("no completion here", False),
        ("<Promise>done</Promise>", True),
        ("<promise>LATER</promise> and <promise>DONE</promise>", True),
        ("I will say <promise> at the end: <promise>DONE</promise>", True),
        ("<promise>ALLDONE</promise>", False),
    ],
)
def test_any_matching_promise_claims(text: str, expected: bool) -> None:
    assert any_tag_claims(find_tags(text, "promise"), "promise", "DONE") is expected


def test_the_expected_word_is_taken_literally() -> None:
    assert matches("a.c", "a.c")
    assert not matches("abc", "a.c")


def test_half_a_tag_in_one_block_and_half_in_the_next_is_none() -> None:
    scanner = TagScanner(["response"])
    scanner.feed("<response>DO")
    scanner.end_block()
    scanner.feed("NE</response>")
    assert scanner.tags == []


def test_a_letter_that_only_folds_to_ours_is_not_ours() -> None:
    assert find_tags("<re\u017fponse>DONE</re\u017fponse>", "response") == []


def test_a_tag_with_endless_content_is_no_claim_and_hides_none_behind_it() -> None:
    text = "<response>" + "x" * (MAX_TAG_CHARS + 1) + "<response>DONE</response>"
    assert find_tags(text, "response") == [Tag("response", "DONE")]


fragments = st.sampled_from(
    ["<response>", "</response>", "<promise>", "</promise>", "DONE", "<", ">", "</", "resp", "onse>", " ", "x\n", "<RESPONSE>"]
)  # fmt: skip
texts = st.lists(fragments, max_size=30).map("".join)


@given(texts, st.data())
def test_a_text_in_any_pieces_holds_the_same_tags(text: str, data: st.DataObject) -> None:
    whole = TagScanner(["response", "promise"])
    whole.feed(text)
    pieces = TagScanner(["response", "promise"])
    position = 0
    while position < len(text):
        size = data.draw(st.integers(1, 12))
        pieces.feed(text[position : position + size])
        position += size
    assert pieces.tags == whole.tags


@given(texts)
def test_tags_are_those_of_the_pattern_without_another_opening_inside(text: str) -> None:
    pattern = re.compile(r"<response>((?:(?!<response>).)*?)</response>", re.IGNORECASE | re.DOTALL)
    assert [tag.content for tag in find_tags(text, "response")] == [
        found.strip() for found in pattern.findall(text)
    ]
