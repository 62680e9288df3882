"""The formats of a report: which a file name means, how each is written, and the JSON itself."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

from ralph.domain.review.document import document_of
from ralph.domain.views.iterations import IterationView
from ralph.domain.views.pull_request import PullRequestView
from ralph.interfaces.report.content import ReportContent, read_content, with_changes
from ralph.operations.watch import Feed

JSON_VERSION = 1


class Format(StrEnum):
    HTML = "html"
    MARKDOWN = "md"
    JSON = "json"


_ENDINGS = {".htm": Format.HTML, ".markdown": Format.MARKDOWN} | {f".{form}": form for form in Format}


def format_for(path: Path) -> Format | None:
    """By the file's name; None if that says nothing."""
    return _ENDINGS.get(path.suffix.lower())


async def report_text(feed: Feed, run_id: str, form: Format) -> str:
    return write_report(await with_changes(read_content(feed, run_id)), form)


def write_report(content: ReportContent, form: Format) -> str:
    match form:
        case Format.HTML:
            from ralph.interfaces.report.html_page import html_report

            return html_report(content)
        case Format.MARKDOWN:
            from ralph.interfaces.report.markdown import markdown_report

            return markdown_report(content)
        case Format.JSON:
            return json_report(content)


def json_report(content: ReportContent) -> str:
    changes, figures = content.changes, content.figures
    record: dict[str, Any] = {
        "version": JSON_VERSION,
        "verdict": content.verdict,
        "run": asdict(content.run),
        "title": content.label.title,
        "task": content.label.task,
        "hint": content.hint,
        "seconds": content.elapsed,
        "asked": content.asked,
        "concerns": content.concerns,
        "notes": [note._asdict() for note in content.notes],
        "figures": asdict(figures) | {"check_rates": [rate._asdict() for rate in figures.check_rates]},
        "changes": {
            "files": [file._asdict() for file in changes.files],
            "commits": [commit._asdict() for commit in changes.commits],
            "uncommitted": changes.uncommitted,
            "note": changes.note,
        },
        "parts": [
            {
                "run": asdict(part.run),
                "title": part.label.title,
                "task": part.label.task,
                "pull_request": _pull_request(part.pull_request),
            }
            for part in content.parts
        ],
        "pull_requests": [_pull_request(pull) for pull in content.own_pulls],
        "review": None if content.review is None else document_of(content.review),
        "checks_at_start": [msgspec.to_builtins(check) for check in content.at_start],
        "iterations": [_iteration(each) for each in content.iterations],
        "left_out": content.left_out,
    }
    return msgspec.json.format(msgspec.json.encode(_encodable(record)), indent=2).decode() + "\n"


def _pull_request(pull: PullRequestView | None) -> dict[str, Any] | None:
    return None if pull is None else asdict(pull) | {"flaky": pull.flaky}


def _iteration(each: IterationView) -> dict[str, Any]:
    """Without what only ``ralph show`` reads: a report does not repeat what agents say."""
    data: dict[str, Any] = msgspec.to_builtins(each)
    return {key: value for key, value in data.items() if key not in ("command", "activity")}


def _encodable(value: Any) -> Any:
    """UTF-8 has no lone surrogates."""
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case dict():
            return {key: _encodable(item) for key, item in value.items()}
        case list() | tuple():
            return [_encodable(item) for item in value]
        case _:
            return value
