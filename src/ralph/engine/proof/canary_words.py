"""What the screen is told about canaries before the first session."""

from __future__ import annotations

from collections.abc import Sequence

from ralph.domain.loop.events import CheckEnded, CheckStarted
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.proof.layer_names import LayerName
from ralph.domain.proof.required_command import RequiredCommand
from ralph.engine.ports import Publish


def tell_none(publish: Publish, required: Sequence[RequiredCommand]) -> None:
    """Before the first session, where nothing can be planted: the user is not to believe that it was."""
    named = ", ".join(dict.fromkeys(each.label for each in required))
    reason = f"no tests of a kind that ralph knows; nobody has seen that {named} can fail"
    publish(CheckStarted(LayerName.CANARY_AT_START))
    publish(CheckEnded(at_start(Verdict.SKIPPED, 0.0, reason)))


def at_start(verdict: Verdict, seconds: float, reason: str) -> CheckResult:
    return CheckResult(LayerName.CANARY_AT_START, verdict, required=False, seconds=seconds, reason=reason)
