"""Plans for tests: a minimal tasks.json."""

from __future__ import annotations

from typing import Any

from ralph.domain.plan.document import TasksDocument, read_document


def story_json(key: str = "US-001", **changes: Any) -> dict[str, Any]:
    """A story in its initial state, with fields changed."""
    return {
        "id": key,
        "title": f"title of {key}",
        "description": "",
        "acceptanceCriteria": [f"{key} works"],
        "priority": 1,
        "passes": False,
        "reviewStatus": None,
        "reviewCount": 0,
        "reviewFeedback": "",
        "notes": "",
        "dependsOn": [],
        **changes,
    }


def tasks_json(*stories: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "project": "search",
        "branchName": "ralph/search",
        "description": "",
        "verifyCommands": [],
        "userStories": list(stories) or [story_json()],
        **changes,
    }


def tasks_document(*stories: dict[str, Any], **changes: Any) -> TasksDocument:
    return TasksDocument(tasks_json(*stories, **changes))


def document_in(text: str) -> TasksDocument:
    """Of text that must have no problems."""
    read = read_document(text)
    assert isinstance(read, TasksDocument), "\n".join(map(str, read))
    return read
