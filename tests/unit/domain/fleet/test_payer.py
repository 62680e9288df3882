"""Whose account a job's sessions use."""

from __future__ import annotations

import pytest

from ralph.domain.fleet.payer import agent_of


@pytest.mark.parametrize(
    ("said", "agent"),
    [
        (("codex", "claude"), "codex"),
        (("", "claude"), "claude"),
        (("", "/opt/bin/claude"), "claude"),
        (("", ""), ""),
    ],
)
def test_whoever_knows_best_says_which_agent(said: tuple[str, ...], agent: str) -> None:
    assert agent_of(*said) == agent
