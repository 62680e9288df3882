"""What is left to say about a plan when it is put away."""

from __future__ import annotations

import re

from ralph.domain.plan.correction import AT_CAP
from ralph.domain.plan.document import TasksDocument
from ralph.domain.plan.story import Story
from ralph.patterns import pattern

_STARTED = pattern(r"^Started:[ \t]*(\S.*?)[ \t]*$", re.MULTILINE)


def plan_summary(document: TasksDocument | None, *, progress: str, ended: str) -> str:
    """Markdown: stories done of all, when, and how many reviews each took. None: its tasks.json is unreadable."""
    started = _STARTED.search(progress)
    dates = f"{started[1]} to {ended}" if started is not None else f"until {ended}"
    if document is None:
        return f"# Summary\n\nDates: {dates}\n\ntasks.json could not be read; it is kept here as it was.\n"
    done = sum(story.passes for story in document.stories)
    lines = [
        f"# {_cell(document.project) or 'Summary'}",
        "",
        f"- Branch: {_cell(document.branch_name)}",
        f"- Stories completed: {done} of {len(document.stories)}",
        f"- Dates: {dates}",
        f"- Reviews: {sum(story.review_count for story in document.stories)}",
        "",
        "| Story | Title | Passes | Reviews | Remarks |",
        "|---|---|---|---|---|",
        *(_row(story) for story in document.stories),
    ]
    return "\n".join(lines) + "\n"


def _row(story: Story) -> str:
    remark = "approved at the review cap" if story.review_feedback.startswith(AT_CAP) else ""
    cells = (story.id, story.title, "yes" if story.passes else "no", str(story.review_count), remark)
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
