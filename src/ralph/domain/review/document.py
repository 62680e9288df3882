"""A review as JSON: what is kept with the run, and what programs read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ralph.domain.review.finding import Finding, Place, Review, Severity

VERSION = 1
REVIEW_FILE = "review.json"
"""In the folder of its run."""


def document_of(review: Review) -> dict[str, Any]:
    return {
        "version": VERSION,
        "what": review.what,
        "commit": review.commit,
        "base": review.base,
        "baseName": review.base_name,
        "pullRequest": review.pull_request or None,
        "agent": review.agent,
        "isEmpty": review.is_empty,
        "findings": [_finding(one) for one in review.findings],
    }


def review_of(document: Mapping[str, Any]) -> Review:
    """What ``document_of`` made. Raises KeyError, TypeError or ValueError for anything else."""
    return Review(
        what=document["what"],
        commit=document["commit"],
        base=document["base"],
        base_name=document["baseName"],
        agent=document["agent"],
        pull_request=document["pullRequest"] or 0,
        is_empty=document["isEmpty"],
        findings=tuple(
            Finding(
                severity=Severity(one["severity"]),
                title=one["title"],
                explanation=one["explanation"],
                suggestion=one["suggestion"],
                file=one["file"] or "",
                line=one["line"] or 0,
                end_line=one["endLine"] or 0,
                place=Place(one["place"]),
                fingerprint=one["fingerprint"],
            )
            for one in document["findings"]
        ),
    )


def _finding(one: Finding) -> dict[str, Any]:
    return {
        "severity": str(one.severity),
        "file": one.file or None,
        "line": one.line or None,
        "endLine": one.end_line or None,
        "place": str(one.place),
        "title": one.title,
        "explanation": one.explanation,
        "suggestion": one.suggestion,
        "fingerprint": one.fingerprint,
    }
