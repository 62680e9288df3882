"""Versions compared as people mean them, and what stands in the way of a run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.agent.facts import KnownGood
from ralph.domain.text.versions import version_in, version_key
from ralph.domain.views.health import (
    Area,
    Finding,
    Health,
    find_blockers,
    judge_version,
    worst,
)

KNOWN = KnownGood("2.1", "2.1.325")


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("2.1.325 (Claude Code)\n", "2.1.325"),
        ("codex-cli 0.166.0", "0.166.0"),
        ("GitHub Copilot CLI 1.0.102.\nRun 'copilot update' to check for updates.", "1.0.102"),
        ("WARNING: something\ngit version 2.39.5", "2.39.5"),
        ("v22.1.0", "22.1.0"),
        ("0.0.1790142911-gabc", "0.0.1790142911"),
        ("no version at all", ""),
        ("", ""),
        ("version 7", ""),
    ],
)
def test_a_version_is_found_in_what_a_program_says(text: str, version: str) -> None:
    assert version_in(text) == version


@pytest.mark.parametrize(
    ("version", "health", "words"),
    [
        ("2.1.325", Health.GOOD, "2.1.325"),
        ("2.1", Health.GOOD, "2.1"),
        ("2.1.0", Health.GOOD, "2.1.0"),
        ("2.2.0", Health.GOOD, "2.2.0 (newer than the tested 2.1.325)"),
        ("2.1.1000", Health.GOOD, "2.1.1000 (newer than the tested 2.1.325)"),
        ("2.0.99", Health.DOUBTFUL, "2.0.99, too old: known to work from 2.1 on"),
        ("1.10.0", Health.DOUBTFUL, "1.10.0, too old: known to work from 2.1 on"),
        ("", Health.DOUBTFUL, "it does not report its version"),
    ],
)
def test_a_version_is_judged_by_the_range_that_is_known_to_work(
    version: str, health: Health, words: str
) -> None:
    assert judge_version(version, KNOWN) == (health, words)


@given(st.lists(st.integers(0, 10**9 - 1), min_size=2, max_size=4))
def test_a_version_that_is_printed_is_found_again_and_equals_itself_with_a_zero(numbers: list[int]) -> None:
    version = ".".join(map(str, numbers))

    assert version_key(version_in(f"program {version} (x)")) == version_key(version)
    assert version_key(f"{version}.0") == version_key(version)


@given(st.text(max_size=200))
def test_any_words_of_a_program_can_be_looked_at(text: str) -> None:
    judge_version(version_in(text), KNOWN)


def finding(health: Health, *, needed: bool) -> Finding:
    return Finding(Area.AGENTS, "claude", health, "", needed=needed)


def test_only_what_is_needed_and_cannot_work_stands_in_the_way() -> None:
    bad = finding(Health.BAD, needed=True)
    others = [finding(health, needed=needed) for health in Health for needed in (True, False)]

    assert find_blockers(others) == (bad,)


def test_the_worst_of_several_counts() -> None:
    assert worst(Health.GOOD) is Health.GOOD
    assert worst(Health.GOOD, Health.BAD, Health.DOUBTFUL) is Health.BAD
    assert worst(Health.DOUBTFUL, Health.GOOD) is Health.DOUBTFUL
