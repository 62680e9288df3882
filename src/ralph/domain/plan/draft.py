"""Drafting a plan: what the agent is asked, and what a draft must be."""

from __future__ import annotations

from collections.abc import Sequence

from ralph.domain.plan.document import Problems, TasksDocument, parse_tasks, problems, read_document
from ralph.domain.plan.document_problems import place_of
from ralph.domain.plan.story import ReviewState
from ralph.domain.text.reader import Problem

PROBLEMS_TOLD = 40

_WRITE_PRD = """1. Write `{folder}/prd.md`: fill in the sections of the template that is there, delete those that are not needed
   (their comments say for which sizes they are meant), and leave no template comment behind. Say explicitly what is out
   of scope. What is unclear goes into "Open Questions", with the assumption that you made.
2. Derive `{folder}/tasks.json` from it."""

_READ_PRD = """1. Read `{folder}/prd.md`. It is the specification and read-only: do not change it.
2. Derive `{folder}/tasks.json` from it."""

_RULES = """Rules for tasks.json:
- Keep its structure: project, branchName, description, verifyCommands, userStories; each story with id, title, description,
  acceptanceCriteria, priority, passes, reviewStatus, reviewCount, reviewFeedback, notes, dependsOn.
- Each story must be completable in one session with a fresh context window. If the change cannot be described in two or
  three sentences, the story is too big: split it.
- Order by dependency: schema and database, backend logic, API routes, frontend components, integration and summary views.
  The lowest priority number comes first. Set dependsOn explicitly where order matters beyond priority.
- Every story gets acceptance criteria that can be verified ("Filter dropdown has options: All, Active, Done", never "works
  correctly").
- verifyCommands are the project's existing test, lint and type-check commands. Look for them; do not invent any.
- Every story starts with passes false, reviewStatus null, reviewCount 0, reviewFeedback "" and notes "".
- Set project and description; leave branchName as it is unless it is still "ralph/feature-name".

Write these files only. Do not implement anything and do not commit."""


def draft_prompt(*, folder: str, description: str, has_prd: bool, remarks: Sequence[str] = ()) -> str:
    """``remarks``: what the user said about earlier drafts."""
    steps = (_READ_PRD if has_prd else _WRITE_PRD).format(folder=folder)
    parts = [
        "# Draft a plan for an autonomous coding loop",
        "Look at this project first: its structure, its conventions, how it is tested.",
        steps,
        _RULES,
    ]
    if description.strip():
        parts.append(f"## What is wanted\n\n{description.strip()}")
    if remarks:
        said = "\n".join(f"- {remark}" for remark in remarks)
        parts.append(f"## What was said about the draft that is there now\n\n{said}")
    return "\n\n".join(parts) + "\n"


def draft_problems(text: str | None) -> Problems:
    """Why this is not yet a plan that a run could begin with."""
    if text is None:
        return (Problem((), "tasks.json is missing, or is not a text file"),)
    read = read_document(text)
    if not isinstance(read, TasksDocument):
        return (*read, *title_problems(text))
    found = [*problems(read), *title_problems(text)]
    if not read.stories:
        found.append(Problem((), "userStories is empty"))
    begun = "must start with passes false, reviewStatus null, reviewCount 0, no feedback"
    found += [
        Problem((story.id,), begun)
        for story in read.stories
        if story.state != ReviewState() or story.review_feedback
    ]
    if not read.project.strip():
        found.append(Problem((), "project is empty"))
    return tuple(found)


def title_problems(text: str) -> Problems:
    """Stories without a title, in a document that may have other problems too."""
    data = parse_tasks(text)
    stories = data.get("userStories") if isinstance(data, dict) else None
    return tuple(
        Problem(place_of(number, story), "title must not be empty")
        for number, story in enumerate(stories if isinstance(stories, list) else ())
        if isinstance(story, dict) and isinstance(story.get("title"), str) and not story["title"].strip()
    )


def list_problems(found: Sequence[Problem]) -> str:
    """For the next round."""
    listed = "\n".join(f"- {problem}" for problem in found[:PROBLEMS_TOLD])
    more = f"\n- … and {len(found) - PROBLEMS_TOLD} more" if len(found) > PROBLEMS_TOLD else ""
    return f"The draft is not valid yet. Fix these problems and keep the rest:\n{listed}{more}"


def is_untouched(document: TasksDocument) -> bool:
    """No work was done on it: drafting it again loses nothing."""
    return all(story.state == ReviewState() and not story.notes.strip() for story in document.stories)
