"""What Markdown and HTML hide from people: comments, elements that are not shown, titles of links, descriptions of images.

Whoever reads a ticket in a browser and lets it be worked on has not seen these. In doubt something is left out, which is
told. Linear on any input, and no recursion.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ralph.patterns import pattern
from ralph.values import dataclass, field

COMMENT = "HTML comment"
DECLARATION = "HTML declaration"
ELEMENT = "hidden HTML element"
ATTRIBUTE = "HTML attribute"
DEFINITION = "unused link definition"
FOOTNOTE = "unused footnote"
TITLE = "link title"
TARGET = "wordy link target"
IMAGE = "image description"
LABEL = "code block label"

# --- what begins with a bracket ---

_REGIONS = (("<!--", "-->", COMMENT), ("<![CDATA[", "]]>", DECLARATION), ("<?", "?>", DECLARATION))
_DECLARATION = pattern(r"<![A-Za-z]")
_QUOTED = r"\"[^\"]*\"|'[^']*'"
_ATTRIBUTE = rf"\s+[A-Za-z_:][A-Za-z0-9_.:-]*(?:\s*=\s*(?:[^\s\"'=<>`]+|{_QUOTED}))?"
_TAG = pattern(rf"<(?P<name>[A-Za-z][A-Za-z0-9-]*)(?P<attributes>(?:{_ATTRIBUTE})*)\s*/?(?P<end>>)")
# As browsers read it: they take anything for a tag that begins like one. It matches wherever it begins.
_LOOSE_TAG = pattern(
    rf"<(?P<name>/?[A-Za-z][^\s/>]*)(?P<attributes>(?:[^>\"']+|{_QUOTED}|[\"'])*)(?P<end>>|\Z)"
)
# A plain tag; or something without a name, in which a tag would be none.
_IN_ELEMENT = pattern(
    rf"(?<!\\)<(?:(?P<closing>/)(?=[A-Za-z][A-Za-z0-9-]*\s*>))?(?P<name>[A-Za-z][A-Za-z0-9-]*)(?:{_ATTRIBUTE})*\s*/?>"
    rf"|`|~~~|\\<|<[A-Za-z/!?]"
)
_AUTOLINK = pattern(r"<[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*>")
_ONE_ATTRIBUTE = pattern(
    rf"(?P<name>[^\s\"'=<>/]+)(?:\s*=\s*(?P<value>{_QUOTED}|[^\s\"'=<>`]+))?|(?P<odd>[\"'=<])"
)
_USEFUL = frozenset({"href", "src", "width", "height", "align"})
_STYLE = pattern(
    r"display\s*:\s*none|visibility\s*:\s*hidden|(?:opacity|font-size)\s*:\s*0(?![.\d]*[1-9])", re.IGNORECASE
)
_VOID = frozenset(("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"))  # fmt: skip
_BLOCK_TAG = pattern(
    r"</?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt"
    r"|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu"
    r"|menuitem|nav|noframes|ol|optgroup|option|p|param|pre|script|search|section|style|summary|table|tbody|td|textarea|tfoot"
    r"|th|thead|title|tr|track|ul)(?=[\s/>]|\Z)|<[!?]|</[A-Za-z][A-Za-z0-9-]*\s*>",
    re.IGNORECASE,
)

# --- links ---

_INNER = r"(?:[^\[\]\\]|\\.)"
_TITLED = r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|\((?:[^()\\]|\\.)*\)"
_REFERENCE = pattern(rf"\[(?P<label>{_INNER}{{1,999}})\]", re.DOTALL)
_DEFINITION = pattern(
    rf"\[(?P<label>(?!\^){_INNER}{{1,999}})\]:(?:[ \t]*\n)?[ \t>]*(?P<target><[^<>\n]*>|[^\s<]\S*)"
    rf"(?P<title>\s[\s>]*(?:{_TITLED}))?[ \t]*(?=\n|\Z)",
    re.DOTALL,
)
_FOOTNOTE = pattern(r"\[(?P<label>\^[^\s\[\]]{1,200})\]:")
_TITLE = pattern(rf"\s[\s>]*(?:{_TITLED})[\s>]*(?=\))", re.DOTALL)
_ANGLE = pattern(r"[\s>]*<(?P<target>[^<>\n]*)>")
_CLOSED = pattern(rf"(?:\s[\s>]*(?:{_TITLED}))?[\s>]*\)", re.DOTALL)
_ANGLED = pattern(rf"[\s>]*<[^<>\n]*>(?:\s[\s>]*(?:{_TITLED}))?[\s>]*\)", re.DOTALL)
_ALT = pattern(rf"!\[(?P<alt>(?:{_INNER}|\[{_INNER}*\])*)\]", re.DOTALL)
_ESCAPED = pattern(r"\\.")
_LONGEST_TARGET = 2_000

# --- where it may begin ---

_BLOCK = pattern(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?")
_BEFORE = pattern(r"(?:[ \t>]|(?:[-*+]|\d{1,9}[.)])[ \t]+)*")
_MARK = pattern(r"\\.|`+|<|!\[|\]\(|\]\[")
_MARK_IN_HTML = pattern(r"<|!\[|\]\(|\]\[")
_MARK_IN_CODE = pattern(r"<!--")
_ANY_MARK = pattern(r"[<`\[\]]")
_TICKS = pattern(r"`+")
_SPACE = pattern(r"\s")
_BLANK = pattern(r"\s*\Z")
# Whatever begins another block for certain, whatever this one is in.
_INTERRUPTS = pattern(
    r"\s*\Z|[ ]{0,3}(?:\#{1,6}(?:[ \t]|\Z)|[-*+][ \t]+\S|1[.)][ \t]+\S|`{3,}[^`]*\Z|~{3,}|(?:-[ \t]*){3,}\Z|(?:\*[ \t]*){3,}\Z)"
)
_INDENTED = pattern(r"[ ]{4}|[ ]{0,3}\t|\s*\Z")


def begins_html(words: str) -> bool:
    """Whether a block of HTML may begin with a line that begins so."""
    return _BLOCK_TAG.match(words) is not None or _TAG.match(words) is not None


@dataclass(frozen=True, slots=True)
class _Cut:
    """What stands up to ``until`` is shown as ``shown``; ``unseen``: what is not."""

    until: int
    shown: str = ""
    unseen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """Where a line is in the text. ``block``: where a block may begin in it; ``limit``: the end of its paragraph."""

    number: int
    start: int
    end: int
    block: int
    limit: int
    is_html: bool
    is_sure: bool
    is_fenced: bool


class Page:
    """A text of which it is told line by line, in order, what people see. ``lines``: without newlines.

    ``whole_until``: before this place in the last line that was told, nothing is hidden or shown otherwise.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._text = "\n".join(lines)
        self._starts = _starts_of(lines)
        self._blanks = _ends_of(lines, _BLANK)
        self._ends = _ends_of(lines, _INTERRUPTS)
        self.whole_until = 0
        self._hidden_until = 0
        self._doubtful_until = 0  # a line: before it, code may begin where it seems to end
        self._known: dict[str, tuple[int, int]] = {}  # from where something was searched for, and where it is
        self._lone_ticks: dict[
            int, int
        ] = {}  # of each length: the end of the last line without another such run
        self._labels: _Labels | None = None

    def hides(self, number: int) -> bool:
        """Whether something that began in an earlier line hides the beginning of this one."""
        return self._hidden_until > self._starts[number]

    def see(
        self, number: int, *, is_html: bool = False, is_sure: bool = True, is_fenced: bool = False
    ) -> tuple[str, tuple[str, ...]]:
        """What people see of a line, and what they do not.

        ``is_html``: it continues a block of HTML. ``is_sure``: browsers see in it what we see.
        ``is_fenced``: it is code, but that is not sure: only comments are left out.
        """
        start, words = self._starts[number], self._lines[number]
        self.whole_until = 0 if self.hides(number) else len(words)
        if not self.hides(number) and not _ANY_MARK.search(words):
            return words, ()
        before = self._before(number)
        is_html = is_html or self.hides(number) or begins_html(words[before - start :])
        line = _Line(
            number=number,
            start=start,
            end=start + len(words),
            block=_end_of(_BLOCK, self._text, start, start + len(words)),
            limit=self._starts[(self._blanks if is_html else self._ends)[number]] - 1,
            is_html=is_html,
            is_sure=is_sure and not is_html and ">" not in words[: before - start],
            is_fenced=is_fenced,
        )
        if not (is_fenced or self.hides(number)) and (cut := self._cut_definition(before, line)):
            self._hidden_until = cut.until
            self.whole_until = before - start
            return f"{words[: before - start]}{cut.shown}".rstrip(), cut.unseen
        return self._scan(line)

    def is_footnote(self, number: int) -> bool:
        """What follows, indented, belongs to it and is no code."""
        words = self._lines[number]
        return (
            "[^" in words and _FOOTNOTE.match(words, self._before(number) - self._starts[number]) is not None
        )

    def _scan(self, line: _Line) -> tuple[str, tuple[str, ...]]:
        kept: list[str] = []
        unseen: list[str] = []
        marks = _MARK_IN_CODE if line.is_fenced else _MARK_IN_HTML if line.is_html else _MARK
        place = max(line.start, self._hidden_until)
        while place < line.end and (found := marks.search(self._text, place, line.end)):
            kept.append(self._text[place : found.start()])
            cut = self._cut_at(found[0], found.start(), line) or _Cut(found.end(), found[0])
            cut = self._extend(found.start(), cut, line)
            if cut.shown != self._text[found.start() : cut.until]:
                self.whole_until = min(self.whole_until, found.start() - line.start)
            kept.append(cut.shown)
            unseen += cut.unseen
            place = cut.until
        kept.append(self._text[place : line.end])
        self._hidden_until = max(self._hidden_until, place)
        return "".join(kept), tuple(unseen)

    def _cut_at(self, mark: str, at: int, line: _Line) -> _Cut | None:
        """None: what stands there is shown as it is."""
        match mark[0]:
            case "`":
                return self._pass_code(mark, at, line)
            case "<":
                return self._cut_region(at, line) or self._cut_tag(at, line)
            case "!":
                return self._cut_image(at, line)
            case "]":
                return self._cut_title(at, line) if mark == "](" else self._cut_label(at, line)
            case _:
                return None  # behind a backslash

    def _extend(self, at: int, cut: _Cut, line: _Line) -> _Cut:
        """If it is not what we take it for, something in it may hide what follows."""
        is_comment = COMMENT in cut.unseen and (line.block == at or cut.until <= line.end)
        if not cut.unseen or is_comment or ELEMENT in cut.unseen:
            return cut
        for tag in _LOOSE_TAG.finditer(self._text, at + 1, min(cut.until, len(self._text))):
            if any(map(_is_hiding, _ONE_ATTRIBUTE.finditer(tag["attributes"]))):
                return _Cut(max(cut.until, self._end_of_element(tag)), cut.shown, (*cut.unseen, ELEMENT))
        return cut

    # --- code ---

    def _pass_code(self, ticks: str, at: int, line: _Line) -> _Cut | None:
        """What is code for certain is shown as it is. Code that goes on in the next line makes the paragraph doubtful."""
        if line.is_sure and line.number >= self._doubtful_until:
            close = self._next_ticks(len(ticks), at + len(ticks), line.end)
            if close >= 0:
                return _Cut(close + len(ticks), self._text[at : close + len(ticks)])
        self._doubtful_until = max(self._doubtful_until, self._blanks[line.number])
        return None

    def _next_ticks(self, length: int, start: int, end: int) -> int:
        """Where the next run of exactly so many begins; -1: not in this line."""
        if self._lone_ticks.get(length, -1) >= end:
            return -1
        for found in _TICKS.finditer(self._text, start, end):
            if len(found[0]) == length:
                return found.start()
        self._lone_ticks[length] = end
        return -1

    # --- HTML ---

    def _cut_region(self, at: int, line: _Line) -> _Cut | None:
        """Comments and the like. One that begins a block may contain blank lines, and need not end."""
        for begin, close, what in _REGIONS:
            if self._text.startswith(begin, at):
                # <!--> is a whole one
                return self._cut_until(close, at, at + (2 if what is COMMENT else len(begin)), what, line)
        if _DECLARATION.match(self._text, at):
            return self._cut_until(">", at, at + 2, DECLARATION, line)
        return None

    def _cut_until(self, close: str, at: int, inside: int, what: str, line: _Line) -> _Cut | None:
        end = self._next(close, inside)
        is_block = line.is_html or line.block == at
        limit = self._starts[self._blanks[line.number]] - 1 if what is COMMENT else line.limit
        if (end < 0 and (line.is_fenced or not is_block)) or (end >= limit and not is_block):
            return None
        return _Cut(len(self._text) + 1 if end < 0 else end + len(close), "", (what,))

    def _cut_tag(self, at: int, line: _Line) -> _Cut | None:
        if link := _AUTOLINK.match(self._text, at, line.end):
            return _Cut(link.end(), link[0])
        found = (_LOOSE_TAG if line.is_html else _TAG).match(self._text, at, line.limit)
        if found is None:
            return None
        attributes = list(_ONE_ATTRIBUTE.finditer(found["attributes"]))
        if not found["name"].startswith("/") and any(_is_hiding(one) for one in attributes):
            return _Cut(self._end_of_element(found), "", (ELEMENT,))
        useful = [one for one in attributes if _is_useful(one)]
        left_out = len(attributes) - len(useful) + (not found["end"])
        shown = " ".join((f"<{found['name']}", *(" ".join(one[0].split()) for one in useful)))
        if not left_out:
            return _Cut(found.end(), " ".join(found[0].split()))
        end = found.end() if found["end"] else self._next(">", found.end()) + 1 or len(self._text) + 1
        return _Cut(end, f"{shown}>", (ATTRIBUTE,) * left_out)

    def _end_of_element(self, tag: re.Match[str]) -> int:
        """Of one that is never closed, everything is hidden; so it is if the end may be a part of code."""
        name = tag["name"].lower()
        if name in _VOID:
            return tag.end()
        depth, place = 1, tag.end()
        while (found := _IN_ELEMENT.search(self._text, place)) and found["name"]:
            if found["name"].lower() == name:
                depth += -1 if found["closing"] else 1
            if not depth:
                return found.end()
            place = found.end()
        return len(self._text) + 1

    # --- links ---

    def _cut_image(self, at: int, line: _Line) -> _Cut | None:
        found = _ALT.match(self._text, at, line.limit)
        if found is None or not found["alt"].strip():
            return None
        defined = self._known_labels().defined
        label = _REFERENCE.match(self._text, found.end(), line.limit)
        is_image = (
            self._is_target(found.end(), line)
            or _plain(found["alt"]) in defined
            or (label is not None and _plain(label["label"]) in defined)
        )
        return _Cut(found.end() - 1, "![", (IMAGE,)) if is_image else None

    def _is_target(self, at: int, line: _Line) -> bool:
        """Whether ``(target "title")`` stands there."""
        if not self._text.startswith("(", at):
            return False
        if _ANGLED.match(self._text, at + 1, line.limit) or _CLOSED.match(self._text, at + 1, line.limit):
            return True
        end = self._next_space(at + 1, line.limit)
        if end - at > _LONGEST_TARGET or self._text.find(")", at + 1, end) >= 0:
            return True
        return _CLOSED.match(self._text, end, line.limit) is not None

    def _cut_title(self, at: int, line: _Line) -> _Cut | None:
        """Of ``](target "title")``; and a target in brackets, which may have words."""
        begin = at + 2
        if angle := _ANGLE.match(self._text, begin, line.limit):
            end = angle.end()
        else:
            end = self._next_space(begin, line.limit)
            if end - begin <= _LONGEST_TARGET and not _is_balanced(self._text[begin:end]):
                return None  # it ends before the space
        title = _TITLE.match(self._text, end, line.limit)
        is_link = angle is not None and _CLOSED.match(self._text, end, line.limit) is not None
        is_wordy = is_link and angle is not None and _SPACE.search(angle["target"]) is not None
        if title is None and not is_wordy:
            return None
        unseen = (*((TARGET,) if is_wordy else ()), *((TITLE,) if title else ()))
        target = "<>" if is_wordy else " ".join(self._text[begin:end].split())
        return _Cut(title.end() if title else end, f"]({target}", unseen)

    def _cut_label(self, at: int, line: _Line) -> _Cut | None:
        """Of ``[text][label]``, if it is words that stand nowhere else."""
        found = _REFERENCE.match(self._text, at + 1, line.limit)
        if found is None:
            return None
        labels, label = self._known_labels(), _plain(found["label"])
        is_hidden = label in labels.defined and not labels.shows(label)
        return _Cut(found.end(), "]", (DEFINITION,)) if is_hidden else None

    def _cut_definition(self, at: int, line: _Line) -> _Cut | None:
        """Where something refers to it, its target stays."""
        if found := _FOOTNOTE.match(self._text, at, line.end):
            is_shown = _plain(found["label"]) in self._known_labels().visible
            return None if is_shown else _Cut(self._end_of_footnote(line.number), "", (FOOTNOTE,))
        found = _DEFINITION.match(self._text, at, line.limit)
        if found is None or not found["label"].strip():
            return None
        target = found["target"]
        if not self._known_labels().shows(_plain(found["label"])) or _SPACE.search(target):
            return _Cut(found.end(), "", (DEFINITION,))
        if not found["title"]:
            return None
        return _Cut(found.end(), f"[{' '.join(found['label'].split())}]: {target}", (TITLE,))

    def _end_of_footnote(self, number: int) -> int:
        """Whatever is indented below belongs to it."""
        last = self._blanks[number]
        while last < len(self._lines) and _INDENTED.match(self._lines[last]):
            last += 1
        return self._starts[last] - 1

    def _known_labels(self) -> _Labels:
        if self._labels is None:
            self._labels = _Labels()
            for line in self._lines:
                self._labels.take(line)
        return self._labels

    # --- places ---

    def _before(self, number: int) -> int:
        """Where the words of a line begin, behind marks of quotes and items."""
        start = self._starts[number]
        return _end_of(_BEFORE, self._text, start, start + len(self._lines[number]))

    def _next(self, token: str, at: int) -> int:
        """-1: there is none. Asked in order, all of the text is searched once."""
        asked, known = self._known.get(token, (0, 0))
        if not (asked <= at and (known < 0 or (known >= at and known > 0))):
            known = self._text.find(token, at)
            self._known[token] = (at, known)
        return known

    def _next_space(self, at: int, limit: int) -> int:
        asked, known = self._known.get(" ", (0, -1))
        if not asked <= at <= known:
            found = _SPACE.search(self._text, at)
            known = found.start() if found else len(self._text)
            self._known[" "] = (at, known)
        return min(known, limit)


@dataclass(slots=True)
class _Labels:
    """Of links and footnotes. ``visible``: those that are read as words; ``hidden``: those that only refer."""

    visible: set[str] = field(default_factory=set)
    hidden: set[str] = field(default_factory=set)
    defined: set[str] = field(default_factory=set)

    def take(self, line: str) -> None:
        if "[" not in line:
            return
        begin = _end_of(_BEFORE, line, 0, len(line))
        for found in _REFERENCE.finditer(line):
            label = _plain(found["label"])
            if found.start() == begin and line.startswith(":", found.end()):
                self.defined.add(label)
            elif found.start() and line[found.start() - 1] in "]!":
                self.hidden.add(label)
            else:
                self.visible.add(label)

    def shows(self, label: str) -> bool:
        """A single word that only refers, such as a number, tells nothing."""
        return label in self.visible or (label in self.hidden and len(label.split()) == 1)


def _is_hiding(attribute: re.Match[str]) -> bool:
    name = (attribute["name"] or "").lower()
    return name == "hidden" or (name == "style" and _STYLE.search(attribute["value"] or "") is not None)


def _is_useful(attribute: re.Match[str]) -> bool:
    value = attribute["value"] or ""
    return (attribute["name"] or "").lower() in _USEFUL and bool(value) and _SPACE.search(value) is None


def _is_balanced(target: str) -> bool:
    bare = _ESCAPED.sub("", target)
    return bare.count("(") == bare.count(")")


def _plain(label: str) -> str:
    return " ".join(label.split()).casefold()


def _end_of(pattern: re.Pattern[str], text: str, start: int, end: int) -> int:
    """Of a pattern that matches anywhere."""
    found = pattern.match(text, start, end)
    return found.end() if found else start


def _starts_of(lines: Sequence[str]) -> list[int]:
    """Of each line, and of one behind the last."""
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    return starts


def _ends_of(lines: Sequence[str], ends_before: re.Pattern[str]) -> list[int]:
    """For each line: which is the first behind its paragraph."""
    ends = [len(lines)] * (len(lines) + 1)
    for number in range(len(lines) - 2, -1, -1):
        ends[number] = number + 1 if ends_before.match(lines[number + 1]) else ends[number + 1]
    return ends
