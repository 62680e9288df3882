"""The receipt of a run: what was checked, on which commit, with what result, and what followed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ralph.domain.proof.policy import UNCHECKED, ProofPolicy

KINDS = ("run_started", "iteration_started", "check_ended", "action_ended", "iteration_ended", "run_ended")
"""The events a receipt is made of."""


def receipt(run: Mapping[str, Any], events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """From stored events, to cover earlier processes of the run too. Never raises on old ones."""
    iterations: list[dict[str, Any]] = []
    checks: list[dict[str, Any]] = []
    before: list[dict[str, Any]] | None = None  # before the first session
    begin: Mapping[str, Any] = {}
    end: Mapping[str, Any] = {}
    for event in events:
        match event.get("kind"):
            case "run_started":
                begin = event
            case "iteration_started":
                before = checks if before is None else before
                checks = []  # checks of an interrupted attempt prove nothing about this one
            case "check_ended":
                checks.append(_check(event.get("result") or {}))
            case "action_ended":
                action = {"action": event.get("name"), "ok": event.get("ok")}
                checks.append({**action, "message": event.get("message")})
            case "iteration_ended":
                iterations.append(_iteration(event, checks))
                checks = []
            case "run_ended":
                end = event
            case _:
                pass
    how = {"outcome": end.get("outcome"), "reason": end.get("reason"), "concerns": end.get("concerns", [])}
    known = {**run, **how, "spend": end.get("spend"), "iterations": iterations}
    if "proof" not in begin:  # an earlier version did not record it
        return known
    is_accepted = end.get("outcome") == "completed"
    return {
        **known,
        "proof": begin["proof"],
        "caveat": _caveat(begin["proof"], iterations) if is_accepted else "",
        "checks_at_start": checks if before is None else before,
    }


def _caveat(proof: Mapping[str, Any] | None, iterations: Sequence[Mapping[str, Any]]) -> str:
    """What must be said of work that was accepted."""
    if proof is not None:
        return ProofPolicy(proof.get("strength", ""), proof.get("tests", "")).caveat
    every = [check for each in iterations for check in each["checks"]]
    was_checked = any(check.get("verdict") == "passed" and check.get("required") for check in every)
    return "" if was_checked or not iterations else UNCHECKED  # without a session there is no word


def _check(result: Mapping[str, Any]) -> dict[str, Any]:
    keys = "name command verdict required exit_code seconds log_file output_sha256 reason"
    return {key: result.get(key) for key in keys.split()}


def _iteration(event: Mapping[str, Any], checks: list[dict[str, Any]]) -> dict[str, Any]:
    keys = "iteration attempt commit claimed proven decision reason spend seconds"
    return {**{key: event.get(key) for key in keys.split()}, "checks": checks}
