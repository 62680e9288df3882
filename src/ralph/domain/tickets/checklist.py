"""A Markdown file of checkboxes as tasks: spec-kit's and OpenSpec's ``tasks.md``, or any list that people tick off."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from textwrap import dedent

from ralph.domain.tasks.task import DEFAULT_PRIORITY
from ralph.domain.text.reader import Problem
from ralph.domain.text.safe_text import clean_line
from ralph.domain.tickets.checklist_key import full_slug, is_dotted, is_spec_kit, slug_of, split_id
from ralph.domain.tickets.checklist_order import Place, order_items
from ralph.domain.tickets.invisible import drop_invisible, visible_line
from ralph.domain.tickets.markdown_lines import Kind, Line, read_lines, width_of
from ralph.domain.tickets.priority import priority_of
from ralph.domain.tickets.ticket_text import read_text, spell_unseen
from ralph.patterns import pattern
from ralph.values import dataclass, field

LARGEST_BYTES = 2_000_000
MOST_ITEMS = 2_000
LONGEST_TITLE = 500
LONGEST_WORDS = 2_000
"""In which an item may name those that it waits for."""
MOST_PROBLEMS = 20
PHASE = 2
"""The level of the headings that spec-kit and OpenSpec give to phases."""
_BOM = "\ufeff"
_LINE_END = pattern(r"\r\n|\n|\r")
"""As in Markdown: old files end their lines with carriage returns alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """``text``: what stands below it. ``has_own_check`` is False if its only criterion is its title.

    ``full_key``: another name, which stays the same whatever other items there are; empty: ``key`` does, because it is an
    id. ``group``: the heading that it stands under, and ``notes``: what stands there for all of its items, such as spec-kit's
    "Independent Test". ``blockers``: keys of open items of this file.
    """

    line: int
    key: str
    title: str
    is_ticked: bool
    full_key: str = ""
    text: str = ""
    criteria: tuple[str, ...] = ()
    has_own_check: bool = False
    group: str = ""
    notes: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    priority: int = DEFAULT_PRIORITY
    estimate: float | None = None
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Checklist:
    """No items if there are problems. ``is_done``: all of its boxes are ticked. ``has_boxes``: or what is meant as such."""

    items: tuple[Item, ...] = ()
    problems: tuple[Problem, ...] = ()
    is_done: bool = False
    has_boxes: bool = True
    _by_name: Mapping[str, Item] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        named: dict[str, Item] = {}
        for one in self.items:
            for name in (one.key.lower(), one.full_key):
                named.setdefault(name, one)
        object.__setattr__(self, "_by_name", named)

    def find(self, key: str) -> Item | None:
        """By either of its names."""
        return self._by_name.get(key.lower()) if key else None


class NotThere(LookupError):
    """The item that was to be ticked has been removed or renamed, or appears twice by now."""


def read_checklist(data: bytes) -> Checklist:
    """All that a file says, or what is wrong with it and in which line."""
    if len(data) > LARGEST_BYTES:
        message = f"it is too large: {len(data):,} bytes, and ralph reads at most {LARGEST_BYTES:,}"
        return Checklist(problems=(Problem((), message, "split it"),))
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = len(_LINE_END.findall(data[: error.start].decode())) + 1
        problem = Problem((), "it is not UTF-8", "save it as UTF-8", f"line {line}")
        return Checklist(problems=(problem,))
    return read_items(text)


def read_items(text: str) -> Checklist:
    """The same, of a text."""
    lines = read_lines(_split(text)[0])
    problems = [*_malformed(lines)]
    drafts = _Drafts()
    for line in lines:
        drafts.take(line)
    found = drafts.found
    if not found and not problems:
        missing = Problem((), "there is no checkbox in it", "write each task as `- [ ] what is to be done`")
        return Checklist(problems=(missing,), has_boxes=False)
    is_done = not problems and all(one.is_ticked for one in found)
    if len(found) > MOST_ITEMS:
        message = f"it has {len(found):,} tasks, and ralph takes at most {MOST_ITEMS:,} of a file"
        return Checklist(problems=(Problem((), message, "split it", f"line {found[MOST_ITEMS].line}"),))
    in_phases = sum(is_spec_kit(one.key) or is_dotted(one.key) for one in found) * 2 > len(found)
    _give_keys(found, problems)
    items = () if problems else _finish(found, problems, in_phases=in_phases)
    if len(problems) > MOST_PROBLEMS:
        more = Problem((), f"and {len(problems) - MOST_PROBLEMS} more of such problems")
        problems[MOST_PROBLEMS:] = [more]
    return Checklist(items=() if problems else items, problems=tuple(problems), is_done=is_done)


def tick(text: str, line: int, key: str) -> str:
    """With the box of that item ticked, and those of its criteria, and every other character as it was. Raises NotThere.

    ``line``: where it was last, 0: unknown; if it has moved, it is found by its key.
    """
    places, missing = find_boxes(text, {key: line})
    if missing:
        message = f"{key} is not there any more: its task was removed, renamed or written twice"
        raise NotThere(message)
    ends = (*places, len(text))
    return text[: ends[0]] + "".join(f"x{text[at + 1 : end]}" for at, end in pairwise(ends))


def find_boxes(text: str, lines: Mapping[str, int]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Where in a text the open boxes of these items are, and those of their criteria; and the keys that are not there.

    ``lines``: by key, as in ``tick``.
    """
    split, starts = _split(text)
    drafts = _Drafts()
    for one in read_lines(split):
        drafts.take(one)
    _give_keys(drafts.found, [])
    by_name: dict[str, list[_Draft]] = {}
    for draft in drafts.found:
        for name in {draft.key.lower(), draft.full} - {""}:
            by_name.setdefault(name, []).append(draft)
    places: set[int] = set()
    missing: list[str] = []
    for key, line in lines.items():
        found = by_name.get(key.lower(), [])
        there = [draft for draft in found if draft.line == line] or found
        if len(there) != 1:
            missing.append(key)
            continue
        own = [] if there[0].is_ticked else [(there[0].line, there[0].box_at)]
        places |= {starts[number - 1] + at for number, at in (*own, *there[0].open_boxes)}
    return tuple(sorted(places)), tuple(missing)


def _split(text: str) -> tuple[list[str], list[int]]:
    """Its lines, and where each of them begins."""
    lines: list[str] = []
    starts = [int(text.startswith(_BOM))]
    for end in _LINE_END.finditer(text):
        lines.append(text[starts[-1] : end.start()])
        starts.append(end.end())
    return [*lines, text[starts[-1] :]], starts


# --- what is no box, and looks like one ---

_LIKE_A_BOX = pattern(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]*\[[ \t]{0,9}[xX~/-]?[ \t]{0,9}\](?![(\[:])")

_BEHIND = pattern(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[[ xX]\](?=[ \t]|$)")
"""Whatever else begins so is a box."""


def _malformed(lines: Sequence[Line]) -> Iterator[Problem]:
    for line in lines:
        if line.kind not in (Kind.ITEM, Kind.TEXT) or line.box:
            continue
        if line.kind is Kind.ITEM and _BEHIND.match(line.visible):
            message = "the checkbox stands behind something that people do not see"
            yield Problem((), message, "begin the line with `- [ ] `", f"line {line.number}")
        elif found := _LIKE_A_BOX.match(line.visible):
            yield Problem(
                (),
                f"{found[0].strip()} is not a checkbox",
                "write `- [ ] ` for an open task and `- [x] ` for a finished one, with these spaces",
                f"line {line.number}",
            )


# --- which lines belong together ---

_NUMBERED = pattern(r"[ \t]*(\d{1,9})[.)]")
_NOTE = pattern(
    r"\*\*(?P<label>Goal|Purpose|Independent Test|Checkpoint|Acceptance(?: Criteria)?)(?::\*\*|\*\*[ \t]*:)(?P<words>.*)",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Group:
    """A heading, and what stands below it for all items. ``phase``: which one it is, from 0."""

    title: str = ""
    phase: int = 0
    notes: list[list[str]] = field(default_factory=list)


@dataclass(slots=True)
class _Draft:
    """An item as it is read. ``words``: its lines, without the box; ``below``: what lies further in."""

    line: int
    level: int
    indent: int
    is_ticked: bool
    box_at: int
    words: list[str]
    near: _Group
    phase: _Group
    key: str = ""
    full: str = ""
    title: str = ""
    tags: tuple[str, ...] = ()
    ordinal: str = ""
    said: list[str] = field(default_factory=list)  # of what is below, without code and quotes
    below: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    invisible: int = 0
    open_boxes: list[tuple[int, int]] = field(
        default_factory=list
    )  # line and place of each that lies further in

    def contains(self, line: Line) -> bool:
        match line.kind:
            case Kind.BLANK:
                return True
            case Kind.ITEM | Kind.TEXT:
                return line.level > self.level
            case Kind.CODE | Kind.QUOTE:
                return _indent(line.visible) > self.indent
            case Kind.HEADING:
                return False

    def take(self, line: Line) -> None:
        self.unseen += line.unseen
        if line.kind is Kind.TEXT and line.joins and not self.below:
            self.words.append(line.says)
            return
        if line.kind in (Kind.ITEM, Kind.TEXT):
            self.said.append(line.says)
        if line.box:  # whether the user has ticked it meanwhile is no other text
            at = line.box_at
            self.below.append(f"{line.visible[:at]} {line.visible[at + 1 :]}")
            self.open_boxes += [(line.number, at)] if line.box == " " else []
        elif not line.is_emptied:
            self.below.append(line.visible)


@dataclass(slots=True)
class _Drafts:
    """``near``: the current heading of any level; ``phase``: the current one of the level of phases."""

    found: list[_Draft] = field(default_factory=list)
    near: _Group = field(default_factory=_Group)
    phase: _Group = field(default_factory=_Group)
    phases: int = 0
    current: _Draft | None = None
    note: list[str] | None = None

    def take(self, line: Line) -> None:
        if self.current and self.current.contains(line):
            self.current.take(line)
            return
        self.current = None
        if line.kind is Kind.HEADING:
            self._take_heading(line)
        elif line.kind is Kind.ITEM and line.box:
            self._take_item(line)
        elif line.kind is Kind.TEXT and line.joins and self.note is not None:
            self.note.append(line.says)
            return
        elif line.kind is Kind.TEXT and (found := _NOTE.match(line.says)):
            self.note = [f"{found['label']}: {found['words'].strip()}"]
            self.near.notes.append(self.note)
            if self.phase is not self.near:
                self.phase.notes.append(self.note)
            return
        self.note = None

    def _take_heading(self, line: Line) -> None:
        self.near = _Group(_shorten(visible_line(line.says)), self.phases)
        if line.level <= PHASE:
            self.phases += 1
            self.near.phase = self.phases
            self.phase = self.near

    def _take_item(self, line: Line) -> None:
        named = split_id(line.says)
        self.current = _Draft(
            line=line.number,
            level=line.level,
            indent=_indent(line.visible),
            is_ticked=line.box != " ",
            box_at=line.box_at,
            words=[named.title],
            near=self.near,
            phase=self.phase,
            key=named.key,
            tags=named.tags,
            ordinal=named.ordinal or _number_of(line.visible),
            unseen=list(line.unseen),
        )
        self.found.append(self.current)


def _number_of(visible: str) -> str:
    """Of an item in a numbered list: its place there."""
    found = _NUMBERED.match(visible)
    return found[1].lstrip("0") if found else ""


def _indent(visible: str) -> int:
    return width_of(visible[: len(visible) - len(visible.lstrip(" \t"))])


# --- what they are called ---


def _give_keys(drafts: Sequence[_Draft], problems: list[Problem]) -> None:
    """An item is called by its id, or by its words; by its heading, too, if others would be called the same."""
    for draft in drafts:
        words, draft.invisible = drop_invisible(clean_line(" ".join(draft.words)))
        draft.title = _shorten(" ".join(words.split()))
    short = [(draft.key or slug_of(draft.title)).lower() for draft in drafts]
    count = Counter(short)
    taken: dict[str, _Draft] = {}
    for draft, name in zip(drafts, short, strict=True):
        has_id = bool(draft.key)
        if not draft.title:
            what = f"{draft.key} says nothing" if has_id else "this checkbox says nothing"
            draft.key = draft.key or f"line-{draft.line}"
            problems.append(Problem((), what, "write what is to be done, or remove it", f"line {draft.line}"))
            continue
        if not has_id:
            draft.full = full_slug(draft.title, draft.near.title)
            draft.key = name if count[name] == 1 else draft.full
        first = taken.setdefault(draft.key.lower(), draft)
        if first is not draft:
            problems.append(_twice(draft.key if has_id else f"“{draft.title[:60]}”", first, draft))


def _twice(what: str, first: _Draft, second: _Draft) -> Problem:
    message = f"{what} appears twice: in line {first.line} and in line {second.line}"
    return Problem((), message, "give each task an id or words of its own", f"line {second.line}")


# --- what they say ---

_CHECKS_ITSELF = pattern(r"\b(?:verif(?:y|ies|ied)|(?:check|ensure|confirm|prove)s?\s+that)\b", re.IGNORECASE)
_POINTER = pattern(r"[*_]*(?:requirements?|refs?|references?|see)\b[*_]*:", re.IGNORECASE)
_PRIORITY = pattern(r"\(\s*priority\s*:?\s*(\w{1,20})\s*\)", re.IGNORECASE)


def _finish(drafts: Sequence[_Draft], problems: list[Problem], *, in_phases: bool) -> tuple[Item, ...]:
    places = [
        Place(
            key=draft.key,
            line=draft.line,
            is_ticked=draft.is_ticked,
            phase=draft.phase.phase,
            is_parallel="P" in draft.tags,
            words=" ".join((draft.title, *draft.said))[:LONGEST_WORDS],
            ordinal=draft.ordinal,
        )
        for draft in drafts
    ]
    order = order_items(places, in_phases=in_phases)
    problems += order.problems
    return tuple(
        _item(draft, order.blockers.get(draft.key, ()), draft.phase if in_phases else draft.near)
        for draft in drafts
    )


def _item(draft: _Draft, blockers: tuple[str, ...], group: _Group) -> Item:
    stated = read_text(dedent("\n".join(draft.below)))
    criteria = stated.criteria or _bullets(draft.below)
    priority = _PRIORITY.search(group.title)
    return Item(
        line=draft.line,
        key=draft.key,
        title=draft.title,
        is_ticked=draft.is_ticked,
        full_key=draft.full,
        text=stated.text,
        criteria=criteria or (draft.title,),
        has_own_check=bool(criteria) or _CHECKS_ITSELF.search(draft.title) is not None,
        group=group.title,
        notes=tuple(_shorten(visible_line(" ".join(note))) for note in group.notes),
        blockers=blockers,
        priority=priority_of([priority[1]]) if priority else DEFAULT_PRIORITY,
        estimate=stated.estimate,
        left_out=(*spell_unseen(draft.unseen, draft.invisible), *stated.left_out),
    )


def _bullets(below: Sequence[str]) -> tuple[str, ...]:
    """Without boxes, the points below an item say when it is done."""
    if not any(line.kind is Kind.ITEM for line in read_lines(below)):
        return ()
    points = read_text("\n".join(("# Done when", "", dedent("\n".join(below))))).criteria
    return tuple(point for point in points if not _POINTER.match(point))


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST_TITLE else f"{text[: LONGEST_TITLE - 1].rstrip()}…"
