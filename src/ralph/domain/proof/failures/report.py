"""How the report of a test runner is read: one failure after the other, each from its title to the next."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ralph.patterns import pattern
from ralph.values import dataclass

_RULER = pattern(r"[\s=\-_⎯]*$")
TELLING = 4
"""Lines shown of why something failed."""


@dataclass(frozen=True, slots=True)
class Failure:
    """``start`` and ``end`` are its lines in the output; ``why``: what the runner says is wrong, the essence first."""

    start: int
    end: int
    title: str
    why: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        return f"{self.title}: {'; '.join(self.why[:2])}" if self.why else self.title

    @property
    def is_summary(self) -> bool:
        return self.end == self.start + 1 and not self.why


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The shape of a runner's report. All patterns look at single lines, apart from ``tells`` and ``counts``.

    ``sign``: without such a line the output is not this runner's; ``after_sign``: failures come behind it. ``title``:
    the first line of a failure; its last group is the name. ``ends``: a line that is neither its own nor the title of the next.
    ``tells``: why it failed, anywhere in it. ``counts``: only what contains this is a failure. ``summary``: a line
    that says all of this in short, elsewhere in the output.
    """

    sign: re.Pattern[str]
    title: re.Pattern[str]
    ends: re.Pattern[str]
    tells: re.Pattern[str]
    after_sign: bool = False
    counts: re.Pattern[str] | None = None
    summary: re.Pattern[str] | None = None

    def failures(self, lines: list[str]) -> list[Failure]:
        signed = next((place for place, line in enumerate(lines) if self.sign.match(line)), None)
        if signed is None:
            return []
        first = signed if self.after_sign else 0
        found = [*self._summaries(lines), *self._blocks(lines, first)]
        # Some runners print their failures twice.
        return list({tuple(lines[one.start : one.end]): one for one in reversed(found)}.values())[::-1]

    def _summaries(self, lines: list[str]) -> Iterator[Failure]:
        if self.summary is not None:
            for place, line in enumerate(lines):
                if self.summary.match(line):
                    yield Failure(place, place + 1, line.strip())

    def _blocks(self, lines: list[str], first: int) -> Iterator[Failure]:
        began: int | None = None
        for place in range(first, len(lines) + 1):
            line = lines[place] if place < len(lines) else None
            is_title = line is not None and self.title.match(line) is not None
            is_over = line is None or self.ends.match(line) is not None
            if began is not None and (is_over or is_title):
                yield from self._block(lines, began, place)
                began = None
            if is_title:
                began = place

    def _block(self, lines: list[str], start: int, end: int) -> Iterator[Failure]:
        while end > start + 1 and _RULER.match(lines[end - 1]):
            end -= 1
        text = "\n".join(lines[start:end])
        if self.counts is not None and not self.counts.search(text):
            return
        title = self.title.match(lines[start])
        name = title[title.lastindex or 0] if title else ""
        told = ((match[match.lastindex or 0]).strip() for match in self.tells.finditer(text))
        yield Failure(start, end, name.strip(), tuple(line for line in told if line)[:TELLING])
