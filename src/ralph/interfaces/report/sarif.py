"""A review as SARIF 2.1.0, for code scanning."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from ralph.domain.review.finding import Finding, Place, Review, Severity

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
TOP = "SRCROOT"
_LEVELS = {
    Severity.CRITICAL: "error",
    Severity.HIGH: "error",
    Severity.MEDIUM: "warning",
    Severity.LOW: "note",
}
_ABOUT = {
    Severity.CRITICAL: "Data loss, a security hole, or something that cannot work",
    Severity.HIGH: "Wrong in cases that happen",
    Severity.MEDIUM: "Wrong in rare cases, or a test is missing where it matters",
    Severity.LOW: "Worth fixing, does no harm now",
}


def sarif_of(review: Review, *, version: str) -> dict[str, Any]:
    """``version``: of ralph. A result needs a place: findings that have none in the commit are told as notifications."""
    placed = [one for one in review.findings if one.place in (Place.LINE, Place.FILE)]
    others = [one for one in review.findings if one not in placed]
    invocation: dict[str, Any] = {"executionSuccessful": True}
    if others:
        invocation["toolExecutionNotifications"] = [_notification(one) for one in others]
    run = {
        "tool": {
            "driver": {
                "name": "ralph review",
                "version": version,
                "rules": [_rule(severity) for severity in Severity],
            }
        },
        "automationDetails": {"id": "ralph-review/"},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation],
        "results": [_result(one) for one in placed],
        "properties": {"commit": review.commit, "base": review.base},
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(severity: Severity) -> dict[str, Any]:
    return {
        "id": _rule_id(severity),
        "name": f"Review{severity.capitalize()}",
        "shortDescription": {"text": f"Finding of a review: {severity}"},
        "fullDescription": {"text": f"{_ABOUT[severity]}, says a reviewer with fresh eyes."},
        "defaultConfiguration": {"level": _LEVELS[severity]},
        "properties": {"tags": ["review"]},
    }


def _result(one: Finding) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": {"uri": quote(one.file), "uriBaseId": TOP}}
    if one.place is Place.LINE:
        location["region"] = {"startLine": one.line, "endLine": one.end_line}
    return {
        "ruleId": _rule_id(one.severity),
        "ruleIndex": one.severity.rank,
        "level": _LEVELS[one.severity],
        "message": {"text": _message(one)},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"primaryLocationLineHash": one.fingerprint},
    }


def _notification(one: Finding) -> dict[str, Any]:
    return {
        "level": _LEVELS[one.severity],
        "message": {"text": _message(one)},
        "associatedRule": {"id": _rule_id(one.severity), "index": one.severity.rank},
    }


def _message(one: Finding) -> str:
    doubt = f"{one.where}: {one.doubt}" if one.doubt else ""
    return "\n\n".join(filter(None, (one.title, *one.paragraphs, doubt)))


def _rule_id(severity: Severity) -> str:
    return f"review/{severity}"
