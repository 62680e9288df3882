"""A plan's tasks.json: reading it, finding everything that is wrong with it, and writing it back.

Fields that ralph does not know, and the order of all fields, survive reading and writing: the agent edits this file too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from ralph.domain.plan.document_problems import Raw, structure_problems
from ralph.domain.plan.story import Review, Story
from ralph.domain.text.reader import Problem
from ralph.domain.text.strict_json import BadJson, parse_json
from ralph.values import dataclass

LARGEST_CHARS = 20_000_000

Problems = tuple[Problem, ...]


@dataclass(frozen=True)
class TasksDocument:
    """A document that can be worked with. Immutable; ``data`` is the JSON as it was read."""

    data: Raw

    @cached_property
    def stories(self) -> tuple[Story, ...]:
        return tuple(story_of(raw) for raw in self.data["userStories"])

    @cached_property
    def by_id(self) -> Mapping[str, Story]:
        return {story.id: story for story in self.stories}

    @property
    def project(self) -> str:
        return str(self.data["project"])

    @property
    def branch_name(self) -> str:
        return str(self.data["branchName"])

    @property
    def description(self) -> str:
        return str(self.data["description"])

    @property
    def verify_commands(self) -> tuple[str, ...]:
        return tuple(self.data.get("verifyCommands") or ())

    def story(self, key: str) -> Story:
        return self.by_id[key]

    def raw(self, key: str) -> Raw:
        return next(raw for raw in self.data["userStories"] if raw["id"] == key)

    def with_field(self, name: str, value: object) -> TasksDocument:
        return TasksDocument({**self.data, name: value})

    def with_stories(self, raws: Sequence[Raw]) -> TasksDocument:
        return self.with_field("userStories", list(raws))

    def map_stories(self, rule: Callable[[Story], Story]) -> TasksDocument:
        """Each story as ``rule`` makes it, in its place."""
        pairs = [
            (raw, story, rule(story))
            for raw, story in zip(self.data["userStories"], self.stories, strict=True)
        ]
        return self.with_stories([raw if new == old else merge_story(raw, new) for raw, old, new in pairs])

    def with_story(self, story: Story) -> TasksDocument:
        return self.map_stories(lambda known: story if known.id == story.id else known)

    def text(self) -> str:
        text = json.dumps(self.data, indent=2, ensure_ascii=False)
        try:
            text.encode()
        except UnicodeEncodeError:  # half a character, which a file cannot hold
            text = json.dumps(self.data, indent=2)
        return text + "\n"


def story_of(raw: Raw) -> Story:
    """The story in an entry that has no problems."""
    review = raw["reviewStatus"]
    return Story(
        id=raw["id"],
        title=raw["title"],
        passes=raw["passes"],
        review=None if review is None else Review(review),
        review_count=raw["reviewCount"],
        review_feedback=raw["reviewFeedback"],
        description=raw.get("description") or "",
        acceptance_criteria=tuple(raw["acceptanceCriteria"]),
        priority=raw["priority"],
        notes=raw.get("notes") or "",
        depends_on=tuple(raw.get("dependsOn") or ()),
    )


def merge_story(raw: Raw, story: Story) -> Raw:
    """The entry with the story's values; what did not change is not touched, not even its spelling."""
    before, after = _values(story_of(raw)), _values(story)
    return {**raw, **{name: value for name, value in after.items() if value != before[name]}}


def _values(story: Story) -> dict[str, object]:
    """By their names in the file."""
    return {
        "title": story.title,
        "description": story.description,
        "acceptanceCriteria": list(story.acceptance_criteria),
        "priority": story.priority,
        "passes": story.passes,
        "reviewStatus": None if story.review is None else story.review.value,
        "reviewCount": story.review_count,
        "reviewFeedback": story.review_feedback,
        "notes": story.notes,
        "dependsOn": list(story.depends_on),
    }


def read_document(text: str) -> TasksDocument | Problems:
    """The document, or everything that keeps it from being worked with."""
    data = parse_tasks(text)
    if isinstance(data, Problem):
        return (data,)
    found = structure_problems(data)
    if found:
        return tuple(found)
    assert isinstance(data, dict)
    return TasksDocument(data)


def problems(document: TasksDocument) -> Problems:
    """Everything that check 1 finds: the structure, and stories that pass without a note."""
    return (*structure_problems(document.data), *note_problems(document))


def problems_of_text(text: str) -> Problems:
    """The same of a file's text, readable or not."""
    read = read_document(text)
    return problems(read) if isinstance(read, TasksDocument) else read


def note_problems(document: TasksDocument) -> Problems:
    return tuple(
        Problem((story.id,), "passes is true but notes is empty", "write down what was done")
        for story in document.stories
        if story.passes and not story.notes.strip()
    )


def parse_tasks(text: str) -> object:
    """The JSON value, or the problem with it."""
    if len(text) > LARGEST_CHARS:
        return Problem((), f"the file is larger than {LARGEST_CHARS // 1_000_000} million characters")
    try:
        read = parse_json(text)
    except BadJson as error:
        return Problem((), f"not valid JSON: {error}")
    if read.repeated:
        twice = read.repeated[0]
        message = f"not valid JSON: line {twice.line}: {twice.path[-1]!r} appears twice in one object"
        return Problem((), message)
    return read.value
