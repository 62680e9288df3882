from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.adapters.processes.output import LineFramer

CONTENT = st.lists(st.sampled_from([b"a", b"bc", b"\r", b"\n", b"\r\n", b"\xff\0"]), max_size=40).map(
    b"".join
)


def lines_of(chunks: list[bytes], longest: int = 1_000_000) -> tuple[list[bytes], bytes]:
    framer = LineFramer(longest=longest)
    lines = [line for chunk in chunks for line in framer.feed(chunk)]
    return lines, framer.finish()


def cut(content: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(content), *(place % (len(content) + 1) for place in cuts)})
    return [content[start:end] for start, end in pairwise(places)]


@given(CONTENT, st.lists(st.integers(0, 1000), max_size=12), st.sampled_from([1, 2, 3, 1000]))
def test_any_chunking_gives_the_same_lines(content: bytes, cuts: list[int], longest: int) -> None:
    assert lines_of(cut(content, cuts), longest) == lines_of([content], longest)


@given(CONTENT)
def test_lines_are_what_a_split_gives(content: bytes) -> None:
    *whole, rest = content.split(b"\n")
    assert lines_of([content]) == ([line.removesuffix(b"\r") for line in whole], rest)


def test_no_byte_is_lost_without_newlines() -> None:
    framer = LineFramer()
    assert framer.feed(b"ab") == []
    assert framer.feed(b"") == []
    assert framer.feed(b"c\r") == []
    assert framer.feed(b"\nd") == [b"abc"]
    assert framer.finish() == b"d"
    assert framer.finish() == b""


def test_a_line_over_the_limit_comes_in_parts() -> None:
    assert lines_of([b"abcdefg\nhi\n"], longest=3) == ([b"abc", b"def", b"g", b"hi"], b"")


def test_a_line_that_never_ends_is_not_kept_whole() -> None:
    framer = LineFramer(longest=10)
    assert sum(len(line) for _ in range(100) for line in framer.feed(b"1234567")) >= 690
    assert len(framer.finish()) <= 10


@pytest.mark.parametrize("size", [65_536, 1_048_576])
def test_a_line_of_50_megabytes_costs_time_in_proportion(size: int) -> None:
    framer, chunk = LineFramer(), b"z" * size
    count = 50 * 1_048_576 // size
    began = time.process_time()
    for _ in range(count):
        assert framer.feed(chunk) == []
    [line] = framer.feed(b"\n")
    # Rescanning or rejoining per chunk would copy 20 GB or more.
    assert time.process_time() - began < 2
    assert len(line) == count * size
