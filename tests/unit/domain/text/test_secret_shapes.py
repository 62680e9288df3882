"""Secrets that are known by their looks. The examples are made up, and put together here so that no scanner minds."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.adapters.processes.redaction import CompileSearch, Redactor
from ralph.domain.text.masking import mask_block, mask_text, undecided_length
from ralph.domain.text.secret_names import MASK
from ralph.domain.text.secret_shapes import ANCHORS, SHAPES, mask_shapes
from ralph.domain.text.secret_signs import Find

LONG = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0"
PRIVATE = "RSA PRIVATE KEY"
KEY = f"-----BEGIN {PRIVATE}-----\nProc-Type: 4,ENCRYPTED\n{LONG}\n-----END {PRIVATE}-----"
SECRETS = [
    "sk-ant" + "-api03-" + LONG + "-" + LONG,
    "sk-proj" + "-" + LONG,
    "sk-or-v1" + "-" + "0123456789abcdef" * 4,
    "ghp" + "_" + LONG[:36],
    "gho" + "_" + LONG[:36],
    "github_pat" + "_" + LONG + "_x",
    "glpat" + "-" + LONG[:20],
    "lin_api" + "_" + LONG,
    "lin_oauth" + "_" + LONG,
    "xoxb" + "-123456789012-" + LONG[:24],
    "AKIA" + "ABCDEFGHIJKLMNOP",
    "AIzaSy" + LONG[:33],
    "eyJ" + LONG[:20] + ".eyJ" + LONG + "." + LONG,
    KEY,
    KEY.replace("\n", "\\n"),  # as JSON has it
]
PLAIN = [
    "task-list",
    "sk-learn and sk-ant- alone",
    "ghp_ and github_pat_ without more",
    "AKIA" + "abcdefghijklmnop",
    "eyJhbGciOi is how a token begins",
    "the PRIVATE KEY of the house",
    "-----BEGIN CERTIFICATE-----\n" + LONG + "\n-----END CERTIFICATE-----",
    "toolu_01" + LONG[:22],
    "npm_config_cache=/x",
    "half_done",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_is_masked_wherever_it_stands(find: Find | None, secret: str) -> None:
    colour, json_colour = ("\x1b[1;31m", "\x1b[0m"), ("\\u001b[38;5;208m", "\\u001b[0m")
    in_lines = (("a\\n", "\\n"), ("\\r\\n", "\\r"), ("a:\\t", " "))  # as JSON has them
    around = (
        ("", ""),
        ("export X=", "\n"),
        ('{"text": "', '"}'),
        ("ü ", " ü"),
        colour,
        json_colour,
        *in_lines,
    )
    for before, after in around:
        assert mask_text(before + secret + after) == before + MASK + after
        assert mask_block((before + secret + after).encode(), find) == (before + MASK + after).encode()


@pytest.mark.parametrize("text", [*PLAIN, "XAKIA" + "ABCDEFGHIJKLMNOP"])
def test_what_only_looks_similar_stays(find: Find | None, text: str) -> None:
    assert mask_text(text) == text
    assert mask_block(text.encode(), find) == text.encode()


@pytest.mark.parametrize(
    "secret", ["npm" + "_" + LONG[:36], "hf" + "_" + LONG[:34], "sk_live" + "_" + LONG[:24]]
)
def test_shorter_beginnings_are_looked_for_in_single_texts(secret: str) -> None:
    for before in ("X=", "a\\n", "\\t", "\x1b[m", "\x1b[0m"):
        assert mask_text(f"{before}{secret}\n") == f"{before}{MASK}\n"


PIECES = st.sampled_from([*SECRETS, *PLAIN, "-", "----", "s", "sk", "-----BEGIN ", ".", "ü"])
TEXTS = st.builds(
    lambda between, pieces: between.join(pieces),
    st.sampled_from([" ", "\n", '"']),
    st.lists(PIECES, max_size=8),
)


@given(TEXTS, st.lists(st.integers(0, 5000), max_size=12))
def test_a_stream_is_masked_the_same_however_it_is_cut(
    compile_: CompileSearch, find: Find | None, text: str, cuts: list[int]
) -> None:
    block = text.encode()
    places = sorted({0, len(block), *(place % (len(block) + 1) for place in cuts)})
    stream = Redactor(compile_search=compile_).stream()
    pieces = [stream.feed(block[a:b]) for a, b in pairwise(places)]
    assert b"".join([*pieces, stream.finish()]) == mask_block(block, find)


@given(st.text(max_size=200))
def test_text_without_a_shape_is_left_alone(text: str) -> None:
    assert MASK in text or mask_text(text) == text


@pytest.mark.parametrize("block", [b"a whole line\n", b"100 %", b"{}\n", b"x" * 5000 + b"\n", b"done."])
def test_nothing_is_held_back_of_what_is_evidently_over(block: bytes) -> None:
    assert undecided_length(block) == 0


def test_what_is_held_back_is_never_long() -> None:
    for block in (b"sk-ant-" + b"x" * 100_000, b"-----BEGIN PRIVATE KEY-----" + b"y" * 100_000):
        assert undecided_length(block) <= 8192


def test_many_beginnings_of_keys_without_an_end_take_no_time(find: Find | None) -> None:
    begins = b"-----BEGIN PRIVATE" + b" KEY-----\n"
    block = begins * 20_000
    assert mask_block(block, find) == block


PIECES = st.sampled_from(
    [*SECRETS, *PLAIN, *ANCHORS, *(anchor[:-1] for anchor in ANCHORS), LONG, "-", "_", ".", " ", "\n"]
)


@given(st.lists(PIECES, max_size=8).map("".join))
def test_the_quick_test_for_anchors_misses_no_shape(find: Find | None, text: str) -> None:
    by_definition = re.compile("|".join(shape.pattern for shape in SHAPES)).sub(MASK, text)
    assert mask_shapes(text) == by_definition
    # What is masked leaves its neighbours alone: a second look may see more than the first.
    lines = mask_shapes(text) if "PRIVATE KEY" in text else text
    assert mask_block(text.encode(), find).decode() == "\n".join(map(mask_text, lines.split("\n")))
