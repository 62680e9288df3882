"""How a reviewer's answer is read: strictly. What cannot be read is no answer, and never "no findings"."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence

from ralph.domain.loop.claims import MAX_TAG_CHARS
from ralph.domain.review.finding import Finding, Severity
from ralph.domain.text.reader import Problem, Reader, closest, kind_of
from ralph.domain.text.strict_json import BadJson, parse_json
from ralph.patterns import pattern
from ralph.values import dataclass

MOST_FINDINGS = 100
LONGEST_TITLE = 200
MISSING = "the block with the findings is missing"
_FENCED = pattern(r"```(?:json)?\s*\n(.*)\n\s*```", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found, or why that cannot be told."""

    findings: tuple[Finding, ...] = ()
    problems: tuple[Problem, ...] = ()


def read_answer(contents: Sequence[str], *, checkout: str = "", without: str = MISSING) -> Answer:
    """``contents`` are those of the blocks it answered in; the last one counts. ``checkout``: where it saw the files.

    ``without``: why there is no block, if there is none.
    """
    if not contents:
        return _nothing(without)
    try:
        read = parse_json(_unfenced(contents[-1]))
    except BadJson as error:
        return _nothing(f"what is in the block is not JSON: {error}")
    if not isinstance(read.value, Mapping):
        return _nothing(f'expected an object with the key "findings", found {kind_of(read.value)}')
    problems = [Problem(one.path, "appears twice") for one in read.repeated]
    reader = Reader(read.value, (), problems)
    reader.allow("findings")
    reader.refuse_others("key")
    listed = read.value.get("findings")
    if not isinstance(listed, list):
        found = "it is missing" if listed is None else f"found {kind_of(listed)}"
        reader.wrong(
            "findings", f"expected a list, {found}", 'write "findings": [] if there is nothing to find'
        )
        return Answer(problems=tuple(problems))
    if len(listed) > MOST_FINDINGS:
        reader.wrong("findings", f"has {len(listed)} entries", f"give the {MOST_FINDINGS} that matter most")
        return Answer(problems=tuple(problems))
    findings = [_finding(entry, index, problems, checkout) for index, entry in enumerate(listed)]
    if problems:
        return Answer(problems=tuple(problems))
    return Answer(tuple(one for one in findings if one is not None))


def why_no_block(text: str, tag: str) -> str:
    """``text``: all that the reviewer said, in which no block was found."""
    said, begin, end = text.lower(), f"<{tag}>", f"</{tag}>"
    if len(said.rpartition(end)[0].rpartition(begin)[2]) > MAX_TAG_CHARS:
        return f"the block with the findings is longer than {MAX_TAG_CHARS:,} characters"
    if begin not in said:
        return MISSING
    return f"the block with the findings has no end: write {end} in the message that it begins in"


def _finding(entry: object, index: int, problems: list[Problem], checkout: str) -> Finding | None:
    if not isinstance(entry, Mapping):
        problems.append(Problem(("findings", index), f"expected an object, found {kind_of(entry)}"))
        return None
    reader = Reader(entry, ("findings", index), problems)
    severity, title = reader.text("severity"), reader.text("title", one_line=True)
    explanation, suggestion, file = reader.text("explanation"), reader.text("suggestion"), reader.text("file")
    line, end = reader.whole("line", least=1), reader.whole("endLine", least=1)
    reader.refuse_others("key")
    if severity not in set(Severity):
        reader.wrong("severity", "expected critical, high, medium or low", closest(severity, set(Severity)))
        return None
    for key, text in (("title", title), ("explanation", explanation)):
        if not text:
            reader.wrong(key, "is missing or empty")
    if len(title) > LONGEST_TITLE:
        reader.wrong("title", f"is longer than {LONGEST_TITLE} characters", "the rest belongs in explanation")
    if "\n" in file or (not file and line is not None):
        reader.wrong("file", "expected the path of one file", "relative to the top of the repository")
    if end is not None and (line is None or end < line):
        reader.wrong("endLine", "is before line, or there is no line")
    return Finding(
        severity=Severity(severity),
        title=title,
        explanation=explanation,
        suggestion=suggestion,
        file=_relative(file, checkout),
        line=line or 0,
        end_line=end or line or 0,
    )


def _relative(file: str, checkout: str) -> str:
    """As git names it. What leads out of the repository stays as it was said: no file of it has that name."""
    if checkout and file.startswith(f"{checkout}/"):
        file = file[len(checkout) + 1 :]
    return posixpath.normpath(file) if file else ""


def _unfenced(content: str) -> str:
    found = _FENCED.fullmatch(content.strip())
    return found[1] if found else content


def _nothing(message: str) -> Answer:
    return Answer(problems=(Problem((), message),))
