"""Finding a commit message in what an agent answered."""

from __future__ import annotations

from ralph.domain.loop.claims import find_tags, matches

COMMIT_PROMPT = (
    "Provide a short imperative commit message for the changes. Output only the message, no explanation."
)


def commit_message(answer: str, *, completion: str = "") -> str | None:
    """The content of a ``<response>`` tag, else the first line that says something; None if there is none.

    A tag that only says ``completion`` again is a habit, not a message.
    """
    for tag in find_tags(answer, "response"):
        if tag.content and not matches(tag.content, completion):
            return tag.content
    for line in map(str.strip, answer.splitlines()):
        if line and not line.startswith(("```", "<response>")):
            return line
    return None
