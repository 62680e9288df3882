"""Finding a commit message in what an agent answered."""

from __future__ import annotations

from ralph.domain.signals import find_tags

COMMIT_PROMPT = (
    "Provide a short imperative commit message for the changes. Output only the message, no explanation."
)


def commit_message(answer: str) -> str | None:
    """The content of a ``<response>`` tag, else the first line that says something; None if there is none."""
    for tag in find_tags(answer, "response"):
        if tag.content:
            return tag.content
    for line in answer.splitlines():
        line = line.strip()
        if line and not line.startswith("```"):
            return line
    return None
