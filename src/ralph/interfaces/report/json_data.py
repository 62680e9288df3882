"""The report for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import msgspec

from ralph.domain.views.iterations import IterationView
from ralph.interfaces.report.content import ReportContent

VERSION = 1


def json_report(content: ReportContent) -> str:
    record: dict[str, Any] = {
        "version": VERSION,
        "verdict": content.verdict,
        "run": asdict(content.run),
        "title": content.label.title,
        "task": content.label.task,
        "hint": content.hint,
        "seconds": content.elapsed,
        "asked": content.asked,
        "concerns": content.concerns,
        "notes": [note._asdict() for note in content.notes],
        "figures": asdict(content.figures)
        | {"check_rates": [rate._asdict() for rate in content.figures.check_rates]},
        "changes": {
            "files": [file._asdict() for file in content.changes.files],
            "commits": [commit._asdict() for commit in content.changes.commits],
            "uncommitted": content.changes.uncommitted,
            "note": content.changes.note,
        },
        "parts": [
            {"run": asdict(part.run), "title": part.label.title, "task": part.label.task}
            for part in content.parts
        ],
        "iterations": [_iteration(each) for each in content.iterations],
        "left_out": content.left_out,
    }
    return msgspec.json.format(msgspec.json.encode(_whole(record)), indent=2).decode() + "\n"


def _iteration(each: IterationView) -> dict[str, Any]:
    """Without what only ``ralph show`` reads: a report does not follow what agents say."""
    data: dict[str, Any] = msgspec.to_builtins(each)
    return {key: value for key, value in data.items() if key not in ("command", "activity")}


def _whole(value: Any) -> Any:
    """Half characters cannot be written as UTF-8."""
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case dict():
            return {key: _whole(item) for key, item in value.items()}
        case list() | tuple():
            return [_whole(item) for item in value]
        case _:
            return value
