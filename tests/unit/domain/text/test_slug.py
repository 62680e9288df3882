from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.text.safe_text import slug, unique_slugs


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("./mvnw clean install -T 2C", "mvnw_clean_install_T_2C"),
        ("make test", "make_test"),
        ("  a -- b  ", "a_b"),
        ("!!!", "command"),
        ("x" * 60, "x" * 50),
        ("größe", "gr_e"),
    ],
)
def test_a_command_becomes_a_file_name(command: str, expected: str) -> None:
    assert slug(command) == expected


@given(st.text())
def test_a_slug_is_always_a_plain_short_name(command: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_]{1,50}", slug(command))


@given(st.lists(st.sampled_from(["a", "A", "a 1", "a_1", "b", "!", "command"]), max_size=12))
def test_no_two_guardrails_share_a_log(commands: list[str]) -> None:
    slugs = unique_slugs(commands)
    assert len({name.lower() for name in slugs}) == len(commands)


def test_duplicates_are_numbered_from_one() -> None:
    assert unique_slugs(["make test", "make test", "make test"]) == (
        "make_test",
        "make_test_1",
        "make_test_2",
    )
