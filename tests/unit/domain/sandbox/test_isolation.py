from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.sandbox.kind import sandbox_name
from ralph.domain.sandbox.policy import NO_GUARANTEES, Limits, parse_size, size_text


@pytest.mark.parametrize(
    ("text", "size"),
    [("1", 1), ("512m", 512 * 2**20), ("4g", 4 * 2**30), ("4 GiB", 4 * 2**30), ("2KB", 2048), ("1T", 2**40)],
)
def test_sizes_are_read(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5g", "4x", "lots", "0m"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected a size above 0"):
        parse_size(text)


@given(st.integers(min_value=1, max_value=2**50))
def test_every_size_can_be_said(size: int) -> None:
    assert size_text(size).split()[1] in ("KiB", "MiB", "GiB", "TiB")


def test_without_a_sandbox_nothing_is_promised() -> None:
    assert {line.partition(": ")[2] for line in NO_GUARANTEES.lines()} == {"not confined"}
    assert not Limits()
    assert Limits(pids=1)


@pytest.mark.parametrize(
    ("project", "name"),
    [
        ("/home/me/my project", "ralph-_home_me_my_project"),
        ("/a/b-c.d_e", "ralph-_a_b-c.d_e"),
        ("/ü", "ralph-__"),
    ],
)
def test_the_name_of_a_sandbox_follows_the_path(project: str, name: str) -> None:
    assert sandbox_name(project) == name
