"""What the words of a ticket say to a machine: what can be checked, what it waits for, how much work it is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from enum import Enum, auto

from ralph.domain.text.figures import plural
from ralph.domain.text.safe_text import clean
from ralph.domain.tickets.invisible import drop_invisible
from ralph.domain.tickets.markdown_lines import Kind, Line, read_lines
from ralph.patterns import pattern
from ralph.values import dataclass, field

LONGEST_TEXT = 20_000
LONGEST_CRITERION = 500
MOST_CRITERIA = 50
MOST_BLOCKERS = 50
"""More is read by nobody, and fills the prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """``blockers``: references as they were written, ``#12``, ``ENG-4``, ``owner/repo#5``. ``left_out``: what is missing."""

    text: str
    criteria: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    estimate: float | None = None
    left_out: tuple[str, ...] = ()


def read_text(text: str) -> Stated:
    """All that the body of a ticket says. Code, quotes and comments state nothing."""
    lines, invisible = _read(text)
    statements = _Statements()
    for line in lines:
        statements.take(line)
    statements.end()
    shown, is_cut = _shown(lines, LONGEST_TEXT)
    found = tuple(dict.fromkeys(filter(None, map(_one_line, statements.criteria))))
    criteria = tuple(_shorten(one) for one in found[:MOST_CRITERIA])
    blockers = tuple(dict.fromkeys(statements.blockers))
    left_out = [*spell_unseen(_unseen(lines), invisible), *_cut(is_cut, LONGEST_TEXT)]
    if criteria != found[:MOST_CRITERIA]:
        left_out.append(f"the end of each criterion of more than {LONGEST_CRITERION} characters")
    if len(found) > MOST_CRITERIA:
        left_out.append(f"all criteria after the first {MOST_CRITERIA}")
    if len(blockers) > MOST_BLOCKERS:
        left_out.append(f"all blockers after the first {MOST_BLOCKERS}")
    return Stated(
        text=shown,
        criteria=criteria,
        blockers=blockers[:MOST_BLOCKERS],
        estimate=statements.estimate,
        left_out=tuple(left_out),
    )


def visible_text(text: str, longest: int = LONGEST_TEXT) -> tuple[str, tuple[str, ...]]:
    """What people see of a text, cleaned and cut, and what was left out of it."""
    lines, invisible = _read(text)
    shown, is_cut = _shown(lines, longest)
    return shown, (*spell_unseen(_unseen(lines), invisible), *_cut(is_cut, longest))


# --- what people see ---


def _read(text: str) -> tuple[list[Line], int]:
    seen, invisible = drop_invisible(clean(text.removeprefix("\ufeff")))
    return read_lines(seen.split("\n")), invisible


def _shown(lines: Iterable[Line], longest: int) -> tuple[str, bool]:
    shown = "\n".join(line.visible.rstrip() for line in lines if not line.is_emptied).strip("\n")
    return shown[:longest].rstrip(), len(shown) > longest


def _unseen(lines: Iterable[Line]) -> list[str]:
    return [what for line in lines for what in line.unseen]


def spell_unseen(unseen: Iterable[str], invisible: int = 0) -> list[str]:
    """What people do not see, each kind once. ``invisible``: how many characters of that kind."""
    said = [f"{plural(count, what)}, which people do not see" for what, count in Counter(unseen).items()]
    return [*said, plural(invisible, "invisible character")] if invisible else said


def _cut(is_cut: bool, longest: int) -> list[str]:
    return [f"all text after the first {longest:,} characters"] if is_cut else []


def _one_line(parts: list[str]) -> str:
    return " ".join(" ".join(parts).split())


def _shorten(criterion: str) -> str:
    cut = criterion[: LONGEST_CRITERION - 1].rstrip()
    return criterion if len(criterion) <= LONGEST_CRITERION else f"{cut}…"


# --- what it states ---

_LONGEST_PHRASE = 200
_LONGEST_CLAUSE = 2_000
_PSEUDO = 7  # below every real heading

_CRITERIA = pattern(
    r"[\W_]*(?:\d{1,3}[.)]\s*)?"
    r"(?:acceptance(?:\s+(?:criteri(?:a|on)|conditions?|tests?|checklist|scenarios?))?|done\s+when|definition\s+of\s+done)"
    r"(?![A-Za-z0-9'])(?P<rest>.*)",
    re.IGNORECASE,
)
_BLOCKERS = pattern(
    r"[\W_]*(?:blocked\s+(?:by|on)|depends\s+(?:up)?on|blockers?|dependenc(?:y|ies))[\W_]*$", re.IGNORECASE
)
_HEADING_REST = pattern(r"[\s*_]*(?:$|[:(\[,–—-]|(?:for|of\s+this|to)\b)", re.IGNORECASE)  # noqa: RUF001
_INLINE = pattern(r"[\s*_]*:[\s*_]*(?P<words>\w.*)")
_STATES_BLOCKER = pattern(
    r"[*_\s]*(?:(?:this|it)\s+(?:(?:issue|ticket|task)\s+)?)?(?:is\s+)?(?:currently\s+)?"
    r"(?:blocked\s+(?:by|on)\b|depends\s+(?:up)?on\b|(?:blockers?|dependenc(?:y|ies))[*_\s]*:)",
    re.IGNORECASE,
)
_SENTENCE_END = pattern(r"[.!?](?=\s|$)")
_REFERENCE = pattern(
    r"(?<![\w./#-])(?:[\w.-]{1,39}/[\w.-]{1,100})?#\d{1,9}(?![\w-])|(?<![\w./#-])[A-Z][A-Z0-9]{0,9}-\d{1,9}(?![\w-])"
)
_ESTIMATE = pattern(
    r"[*_\s]*(?:time\s+)?estimated?(?:\s+(?:time|effort|points?))?[*_\s]*[:=][*_\s]*"
    r"(?P<number>\d{1,6}(?:[.,]\d{1,3})?)[*_\s]*(?P<unit>[a-z]*)",
    re.IGNORECASE,
)
_HOURS = {"m": 1 / 60, "min": 1 / 60, "mins": 1 / 60, "minute": 1 / 60, "minutes": 1 / 60,
          "d": 8, "day": 8, "days": 8, "w": 40, "week": 40, "weeks": 40}  # fmt: skip


class _About(Enum):
    CRITERIA = auto()
    BLOCKERS = auto()


@dataclass(slots=True)
class _Section:
    """``level``: of its heading; ``depth``: of the item that is its heading, or -1."""

    about: _About
    level: int
    depth: int = -1
    has_list: bool = False
    sentences: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Statements:
    """What the lines so far state. ``item``: the words of the list item that the next line may continue."""

    criteria: list[list[str]] = field(default_factory=list)
    blockers: list[str] = field(default_factory=list)
    estimate: float | None = None
    section: _Section | None = None
    item: list[str] | None = None

    def take(self, line: Line) -> None:
        if not line.joins:
            self.item = None
        match line.kind:
            case Kind.HEADING:
                self._take_heading(line)
            case Kind.ITEM:
                self._take_item(line)
            case Kind.TEXT:
                self._take_text(line)
            case Kind.BLANK:
                if self.section and self.section.level == _PSEUDO and self.section.sentences:
                    self.end()
            case Kind.CODE | Kind.QUOTE:
                pass

    def end(self) -> None:
        """Of the current section. Without a list its lines are the criteria."""
        if self.section and not self.section.has_list:
            self.criteria += [[sentence] for sentence in self.section.sentences]
        self.section = None

    def _take_heading(self, line: Line) -> None:
        if self.section and line.level <= self.section.level:
            self.end()
        if self._states(line.says):
            return
        about = _about(line.says, is_heading=True)
        if about and not (self.section and self.section.about is about):
            self.end()
            self.section = _Section(about, line.level)

    def _take_item(self, line: Line) -> None:
        self.item = []
        section = self.section
        if section and section.depth >= line.level:
            self.end()
        if self._states(line.says):
            return
        if not line.box and (about := _about(line.says)):
            self.end()
            self.section = _Section(about, _PSEUDO, line.level)
            return
        section = self.section
        if section:
            section.has_list = True
            if section.about is _About.BLOCKERS and _REFERENCE.match(line.says):
                self.blockers += _references(line.says)
                return
        if line.box or (section and section.about is _About.CRITERIA):
            self.item = [line.says]
            self.criteria.append(self.item)

    def _take_text(self, line: Line) -> None:
        if self._states(line.says):
            return
        if self.item is not None:
            self.item.append(line.says)
            return
        section = self.section
        is_pseudo = section is not None and section.level == _PSEUDO
        if is_pseudo and (_is_bold(line.says) or (section and section.has_list and not line.level)):
            self.end()
        if about := _about(line.says):
            if not (self.section and self.section.about is about):
                self.end()
                self.section = _Section(about, _PSEUDO)
        elif self.section:
            if self.section.about is _About.CRITERIA and any(one.isalnum() for one in line.says):
                self.section.sentences.append(line.says)
        elif (found := _CRITERIA.match(line.says[:_LONGEST_PHRASE])) and (
            words := _INLINE.match(line.says[found.start("rest") :])
        ):
            self.item = [words["words"]]
            self.criteria.append(self.item)

    def _states(self, says: str) -> bool:
        """Whether it is a statement about the ticket, and so no criterion."""
        if found := _ESTIMATE.match(says):
            if self.estimate is None:
                self.estimate = _number(found["number"]) * _HOURS.get(found["unit"].lower(), 1)
            return True
        start = _STATES_BLOCKER.match(says)
        if not start:
            return False
        clause = _SENTENCE_END.split(says[start.end() : start.end() + _LONGEST_CLAUSE], maxsplit=1)[0]
        found_ones = _references(clause)
        self.blockers += found_ones
        return bool(found_ones) or "://" in clause


def _about(says: str, *, is_heading: bool = False) -> _About | None:
    """What the list below a heading is about, or below what stands there like one: in bold, or with a colon."""
    if len(says) > _LONGEST_PHRASE or not (is_heading or _is_bold(says) or says.rstrip("*_ ").endswith(":")):
        return None
    if (found := _CRITERIA.match(says)) and _HEADING_REST.match(found["rest"]):
        return _About.CRITERIA
    return _About.BLOCKERS if _BLOCKERS.match(says) else None


def _is_bold(says: str) -> bool:
    bare = says.rstrip(": ")
    return len(bare) > 4 and any(bare.startswith(mark) and bare.endswith(mark) for mark in ("**", "__"))


def _references(words: str) -> list[str]:
    return [found[0] for found in _REFERENCE.finditer(words)]


def _number(digits: str) -> float:
    return float(digits.replace(",", "."))
