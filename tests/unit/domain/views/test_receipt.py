"""The receipt: what it says about the proof, and that records of earlier versions are read as they are."""

from __future__ import annotations

from typing import Any

import pytest

from ralph.domain.views.receipt import receipt

GUARDED = {"strength": "guarded", "tests": "reviewed", "may_change": ["Makefile"]}
TRUSTING = {"strength": "trusting", "tests": "reviewed", "may_change": []}
ENDED = {"kind": "iteration_ended", "iteration": 1}


def check(name: str, verdict: str = "passed") -> dict[str, Any]:
    return {"kind": "check_ended", "result": {"name": name, "verdict": verdict, "required": True}}


def made(*events: dict[str, Any], outcome: str = "completed") -> dict[str, Any]:
    return receipt({"run": "r1"}, [*events, {"kind": "run_ended", "outcome": outcome}])


@pytest.mark.parametrize(
    ("proof", "checks", "outcome", "caveat"),
    [
        (GUARDED, ["make test"], "completed", ""),
        (TRUSTING, ["make test"], "completed", "proven by your commands alone, in the working folder"),
        (TRUSTING, ["make test"], "exhausted", ""),
        (None, ["semantic"], "completed", ""),
        (None, [], "completed", "nothing was checked: this run rests on the agent's word alone"),
        (None, [], "failed", ""),
    ],
)
def test_it_says_how_claims_were_proven(
    proof: dict[str, Any] | None, checks: list[str], outcome: str, caveat: str
) -> None:
    events: list[dict[str, Any]] = [{"kind": "run_started", "proof": proof}, {"kind": "iteration_started"}]
    told = made(*events, *map(check, checks), ENDED, outcome=outcome)
    assert (told["proof"], told["caveat"]) == (proof, caveat)


def test_it_says_what_was_found_before_the_first_session() -> None:
    first, second = {"kind": "iteration_started"}, {"kind": "iteration_started"}
    told = made(
        {"kind": "run_started", "proof": GUARDED},
        check("canary at the start"),
        first,
        check("a"),
        ENDED,
        second,
    )
    assert [one["name"] for one in told["checks_at_start"]] == ["canary at the start"]
    assert [one["name"] for one in told["iterations"][0]["checks"]] == ["a"]


def test_a_run_of_an_earlier_version_says_nothing_about_its_proof() -> None:
    told = made({"kind": "run_started"}, {"kind": "iteration_started"}, ENDED)
    assert not told.keys() & {"proof", "caveat", "checks_at_start"}
