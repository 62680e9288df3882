"""``ralph plan status``: the stories, what each needs next, and about how much is left."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ralph.domain.plan.document import TasksDocument
from ralph.domain.plan.story import estimate_text, estimated_iterations, mode_for, next_step
from ralph.domain.text.safe_text import clean_line
from ralph.interfaces.cli.options import json_option, print_json
from ralph.interfaces.cli.plans.options import plan_options, review_options, the_plan
from ralph.interfaces.cli.table import Column, table_lines
from ralph.operations.plans import review_rules

_COLUMNS = (
    Column("story"),
    Column("next"),
    Column("reviews", 1),
    Column("title", longest=40),
    Column("feedback", rare=True),
)


HELP = """Show each story with its next mode, reviews and feedback, and the estimated iterations left.

\b
Examples:
  ralph plan status
  ralph plan status --json
"""


@click.command("status", help=HELP)
@json_option("Print the stories as JSON.")
@review_options
@plan_options
def command(
    as_json: bool, skip_review: bool, review_cap: int | None, project_dir: Path | None, ralph_dir: Path | None
) -> None:
    plan = the_plan(project_dir, ralph_dir)
    document, note = plan.document(), plan.unjudged_note
    rules = review_rules(plan.root, cap=review_cap, skip=skip_review)
    if as_json:
        shown = {**_as_json(document, skip_review=rules.skip), "note": note}
        print_json(shown, ascii_only=False)
        return
    for line in table(document, cap=rules.cap, skip_review=rules.skip):
        click.echo(line)
    done = sum(story.is_done(skip_review=rules.skip) for story in document.stories)
    click.echo(f"\n{done} of {len(document.stories)} stories done")
    if document.stories:
        click.echo(estimate_text(document, skip_review=rules.skip))
    upcoming = mode_for(document, skip_review=rules.skip)
    if upcoming is not None:
        click.echo(f"next: {upcoming.mode} {clean_line(upcoming.story.id)}")
    if note:
        click.echo(f"note: {note}")


def table(document: TasksDocument, *, cap: int, skip_review: bool) -> list[str]:
    rows = [
        (
            story.id,
            next_step(document, story, skip_review=skip_review),
            f"{story.review_count}/{cap}",
            story.title,
            story.review_feedback,
        )
        for story in document.stories
    ]
    return table_lines(_COLUMNS, rows, sys.stdout)


def _as_json(document: TasksDocument, *, skip_review: bool) -> dict[str, object]:
    upcoming = mode_for(document, skip_review=skip_review)
    return {
        "project": document.project,
        "branchName": document.branch_name,
        "done": sum(story.is_done(skip_review=skip_review) for story in document.stories),
        "total": len(document.stories),
        "estimatedIterations": estimated_iterations(document, skip_review=skip_review),
        "next": None if upcoming is None else {"story": upcoming.story.id, "mode": upcoming.mode.value},
        "stories": [
            {
                "id": story.id,
                "title": story.title,
                "next": next_step(document, story, skip_review=skip_review),
                "passes": story.passes,
                "reviewStatus": None if story.review is None else story.review.value,
                "reviewCount": story.review_count,
                "reviewFeedback": story.review_feedback,
                "priority": story.priority,
                "dependsOn": list(story.depends_on),
            }
            for story in document.stories
        ],
    }
