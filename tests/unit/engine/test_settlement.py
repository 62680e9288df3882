"""What a plan remembers of an iteration that it has judged."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ralph.domain.agent.events import Usage
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.session_report import Spend
from ralph.engine.plans.settlement import Settlement, settlement_from

SETTLED = Settlement(3, (CheckResult("plan", Verdict.PASSED),), Spend(0.5, Usage(10, 20))).concluded(
    CheckResult("verifyCommands", Verdict.SKIPPED, required=False, reason="none", concern="look", contains=2)
)


def test_it_survives_the_file() -> None:
    assert settlement_from(json.loads(json.dumps(SETTLED.to_data()))) == SETTLED


@pytest.mark.parametrize(
    "changed",
    [
        {"results": [{"name": "plan", "verdict": "passed", "later": 1}]},
        {"results": [{"name": "plan", "verdict": "a later word"}]},
        {"results": ["passed"]},
        {"spend": {}},
        {"spend": "much"},
        {"iteration": None},
    ],
)
def test_what_another_version_wrote_is_no_settlement_and_no_damage(changed: dict[str, Any]) -> None:
    assert settlement_from({**SETTLED.to_data(), **changed}) is None
    assert settlement_from(None) is None
