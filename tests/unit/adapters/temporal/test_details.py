"""Signs of life and faults, as they come back from the server without their type."""

from __future__ import annotations

from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.adapters.temporal.details import read_beat, read_fault
from ralph.domain.fleet.shift import Beat
from ralph.domain.fleet.steps import Fault

BEAT = Beat(worker="w", turn=3, iteration=2, cost=0.5, tokens=7)
FAULT = Fault(kind="UsageError", message="m", hint="h", exit_code=2, after=5.0, cost=0.5, tokens=7)


def test_what_comes_back_is_read() -> None:
    assert read_beat([asdict(BEAT)]) == BEAT
    assert read_beat([{**asdict(BEAT), "lines": ["a"], "of_a_newer_ralph": 1}]) == BEAT
    assert read_fault([asdict(FAULT)], kind="k", message="m") == FAULT


@pytest.mark.parametrize("details", [[], ["?"], [None], [{"cost": "much", "kind": 3}]])
def test_what_cannot_be_read_is_nothing(details: list[object]) -> None:
    assert read_beat(details) == Beat()
    assert read_fault(details, kind="k", message="m") == Fault(kind="k", message="m")


@given(
    st.dictionaries(
        st.sampled_from(["cost", "tokens", "after", "exit_code", "turn"]), st.floats() | st.integers()
    )
)
def test_no_number_is_too_large(said: dict[str, object]) -> None:
    beat = read_beat([said])
    fault = read_fault([{"kind": "k", "message": "m", **said}], kind="k", message="m")
    for number in (beat.cost, beat.tokens, beat.turn, fault.cost, fault.tokens, fault.after, fault.exit_code):
        assert 0 <= number < 1e13
