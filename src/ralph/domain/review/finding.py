"""What a reviewer found, where, and how bad it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from hashlib import sha256

from ralph.domain.text.figures import plural
from ralph.values import dataclass, replace


class Severity(StrEnum):
    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"

    @property
    def rank(self) -> int:
        """0 is the worst."""
        return WORST_FIRST.index(self)


WORST_FIRST = tuple(Severity)


class Place(StrEnum):
    """What ralph could verify of where a finding says that it is."""

    LINE = "line"  #: the file has these lines
    FILE = "file"  #: there is such a file; no line was named, or it does not have it
    NONE = "none"  #: it is about the change as a whole
    NOT_FOUND = "notFound"  #: the reviewed commit has no such file


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """``line`` 0: none was named. ``place`` is ralph's word, everything else the reviewer's.

    ``fingerprint``: the same for the same place in a later review, wherever its line has moved to.
    """

    severity: Severity
    title: str
    explanation: str
    suggestion: str = ""
    file: str = ""
    line: int = 0
    end_line: int = 0
    place: Place = Place.NONE
    fingerprint: str = ""

    @property
    def doubt(self) -> str:
        """What ralph could not find of its place, for people; empty: nothing is missing."""
        if self.place is Place.NOT_FOUND:
            return "place not found: the commit has no such file"
        return "place not found: the file has no such line" if self.place is Place.FILE and self.line else ""

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """For people: what is wrong, and what to do about it."""
        suggestion = f"Suggestion: {self.suggestion}" if self.suggestion else ""
        return tuple(filter(None, (self.explanation, suggestion)))

    @property
    def where(self) -> str:
        """For people: ``src/a.py:3-5``; empty if it has no place."""
        if not self.line:
            return self.file
        return f"{self.file}:{self.line}" + (f"-{self.end_line}" if self.end_line > self.line else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """``what``: as the user named it; ``base``: the commit that ``commit`` is compared with, ``base_name`` its branch.

    ``is_empty``: there was nothing to review, so nobody was asked.
    """

    what: str
    commit: str
    base: str
    base_name: str
    agent: str = ""
    pull_request: int = 0
    is_empty: bool = False
    findings: tuple[Finding, ...] = ()

    def at_least(self, severity: Severity) -> list[Finding]:
        """Those that are as bad as that, or worse."""
        return [one for one in self.findings if one.severity.rank <= severity.rank]


def locate(finding: Finding, lines: Sequence[str] | None) -> Finding:
    """With what is true of its place; ``lines``: of its file at the reviewed commit, None if it has none."""
    if not finding.file:
        return replace(finding, place=Place.NONE, line=0, end_line=0)
    if lines is None:
        return replace(finding, place=Place.NOT_FOUND)
    is_there = 1 <= finding.line <= finding.end_line <= len(lines)
    return replace(finding, place=Place.LINE if is_there else Place.FILE)


def identify(pairs: Iterable[tuple[Finding, Sequence[str] | None]]) -> tuple[Finding, ...]:
    """Worst first, each with a fingerprint of its own; every finding comes with the lines of its file."""
    seen: Counter[str] = Counter()
    named: list[Finding] = []
    for finding, lines in sorted(pairs, key=_order):
        text = finding.title.casefold()
        if finding.place is Place.LINE and lines is not None:
            text = lines[finding.line - 1].strip()
        digest = sha256(f"{finding.file}\0{finding.place}\0{text}".encode(errors="replace")).hexdigest()[:16]
        seen[digest] += 1
        named.append(replace(finding, fingerprint=f"{digest}:{seen[digest]}"))
    return tuple(named)


def count_words(findings: Sequence[Finding]) -> str:
    """``3 findings: 1 high, 2 low``."""
    if not findings:
        return "no findings"
    counts = Counter(one.severity for one in findings)
    each = ", ".join(f"{counts[severity]} {severity}" for severity in WORST_FIRST if counts[severity])
    return f"{plural(len(findings), 'finding')}: {each}"


def _order(pair: tuple[Finding, Sequence[str] | None]) -> tuple[int, str, int, str]:
    one = pair[0]
    return one.severity.rank, one.file, one.line, one.title
