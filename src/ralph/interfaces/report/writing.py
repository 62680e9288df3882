"""A run's report in the asked-for format."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from ralph.interfaces.report.content import ReportContent, recorded, with_changes
from ralph.operations.watch import Feed


class Format(StrEnum):
    HTML = "html"
    MARKDOWN = "md"
    JSON = "json"


_ENDINGS = {
    ".html": Format.HTML,
    ".htm": Format.HTML,
    ".md": Format.MARKDOWN,
    ".markdown": Format.MARKDOWN,
    ".json": Format.JSON,
}


def format_for(path: Path) -> Format | None:
    """As the file's name says; None if it says nothing."""
    return _ENDINGS.get(path.suffix.lower())


async def report_text(feed: Feed, run_id: str, form: Format) -> str:
    return written(await with_changes(recorded(feed, run_id)), form)


def written(content: ReportContent, form: Format) -> str:
    match form:
        case Format.HTML:
            from ralph.interfaces.report.html_page import html_report

            return html_report(content)
        case Format.MARKDOWN:
            from ralph.interfaces.report.markdown import markdown_report

            return markdown_report(content)
        case Format.JSON:
            from ralph.interfaces.report.json_data import json_report

            return json_report(content)
