"""What the agent says in tags: claims that it is done, waits, or rejects, and commit messages. ``evidence`` has the proof."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import lru_cache

from ralph.values import dataclass

MAX_TAG_CHARS = 20_000
"""A tag with longer content is not a claim; bounds the scanner's memory."""

MAX_TAGS = 1_000
_MOST_PATTERNS = 32

COMMIT_PROMPT = (
    "Provide a short imperative commit message for the changes. Output only the message, no explanation."
)


class Claim(StrEnum):
    """What an agent can say about its work."""

    DONE = "done"
    WAITING = "waiting"
    REJECTED = "rejected"  #: ``<reject>reason</reject>`` of a reviewer, tester or qa


@dataclass(frozen=True, slots=True)
class Signal:
    """One claim and where it was seen: "tag response", "file DONE", "exit 42"."""

    claim: Claim
    source: str
    reason: str = ""

    @property
    def words(self) -> str:
        """How the agent claimed to be done."""
        kind, _, name = self.source.partition(" ")
        if kind == "file":
            return f"the agent wrote {name}"
        return "the agent gave its promise" if name == "promise" else "the agent said DONE"


@dataclass(frozen=True, slots=True)
class Tag:
    """``<name>content</name>`` in assistant text; the name is lower case, the content trimmed."""

    name: str
    content: str


class TagScanner:
    """Finds tags in text that arrives in pieces, in bounded memory.

    Any pieces of a text give the same tags. Case-insensitive; the content may span lines and is the shortest
    possible: a closing belongs to the last opening, so a bare ``<response>`` earlier in the prose hides nothing.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(sorted({name.lower() for name in names}))
        self._open, self._close = _patterns(self._names)
        self._longest = max((len(name) for name in self._names), default=0) + 3
        self._rest = ""
        self._searched = 0
        self.tags: list[Tag] = []

    @property
    def is_inside(self) -> bool:
        """The next text may belong to an open tag."""
        return bool(self._rest)

    def feed(self, text: str) -> None:
        if not self._names or not (self.is_inside or "<" in text):
            return
        self._rest += text
        while (opening := self._open.search(self._rest)) is not None:
            name, start = opening[1].lower(), opening.end()
            closing = self._close[name].search(self._rest, max(start, self._searched))
            end = closing.start() if closing is not None else len(self._rest) - self._longest
            if end - start > MAX_TAG_CHARS:
                self._forget(start)  # too long to be a claim: continue after its opening
            elif closing is None:
                self._forget(opening.start())
                self._searched = max(0, len(self._rest) - self._longest)
                return
            else:
                if len(self.tags) >= MAX_TAGS:
                    del self.tags[MAX_TAGS // 2]  # the first ones decide, or the last: never the middle
                self.tags.append(Tag(name, self._innermost(name, self._rest[start:end]).strip()))
                self._forget(closing.end())
        # Perhaps the beginning of an opening.
        cut = self._rest.rfind("<", max(0, len(self._rest) - self._longest))
        self._forget(cut if cut >= 0 else len(self._rest))

    def end_block(self) -> None:
        """The block of text is over: half a tag in it is none."""
        if self._rest:
            self._forget(len(self._rest))

    def _forget(self, length: int) -> None:
        self._rest = self._rest[length:]
        self._searched = 0

    def _innermost(self, name: str, content: str) -> str:
        ends = [opening.end() for opening in self._open.finditer(content) if opening[1].lower() == name]
        return content[ends[-1] :] if ends else content


@lru_cache(maxsize=_MOST_PATTERNS)
def _patterns(names: tuple[str, ...]) -> tuple[re.Pattern[str], Mapping[str, re.Pattern[str]]]:
    """Of an opening of any, and of the closing of each. Every session looks for the same."""
    alternatives = "|".join(re.escape(name) for name in names)
    # ASCII: without it IGNORECASE lets a long s (U+017F) match "s", and the name would not be ours.
    flags = re.IGNORECASE | re.ASCII
    closings = {name: re.compile(f"</{re.escape(name)}>", flags) for name in names}
    return re.compile(f"<({alternatives})>", flags), closings


def find_tags(text: str, name: str) -> list[Tag]:
    """All tags of one name in a text."""
    scanner = TagScanner([name])
    scanner.feed(text)
    return scanner.tags


def matches(content: str, expected: str) -> bool:
    """Ignores case and surrounding white space; compares the whole content."""
    return content.strip().casefold() == expected.strip().casefold()


def first_tag_claims(tags: Iterable[Tag], name: str, expected: str) -> bool:
    """For ``<response>``: the first one decides."""
    for tag in tags:
        if tag.name == name:
            return matches(tag.content, expected)
    return False


def any_tag_claims(tags: Iterable[Tag], name: str, expected: str) -> bool:
    """For ``<promise>``: any that matches the promise of this stage."""
    return any(tag.name == name and matches(tag.content, expected) for tag in tags)


def commit_message(answer: str, *, completion: str = "") -> str | None:
    """The content of a ``<response>`` tag, otherwise the first line with words, if any.

    A tag that only repeats ``completion`` is a habit, not a message.
    """
    for tag in find_tags(answer, "response"):
        if tag.content and not matches(tag.content, completion):
            return tag.content
    for line in map(str.strip, answer.splitlines()):
        if line and not line.startswith(("```", "<response>")):
            return line
    return None
