"""A review for people: what was found, file by file."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from ralph.domain.review.finding import WORST_FIRST, Finding, Place, Review, Severity, count_words
from ralph.domain.text.safe_text import clean, clean_line
from ralph.interfaces.cli.folding import fold
from ralph.interfaces.cli.terminal import Colors, Look, colors_of

INDENT = "    "


def review_text(review: Review, look: Look) -> str:
    """Files with the worst findings first; nothing but the verdict if there are none."""
    colors = colors_of(look)
    text = "\n".join(_lines(review, colors))
    return fold(text, look.width) if look.folds else text


def _lines(review: Review, colors: Colors) -> Iterator[str]:
    compared = (
        f"{clean_line(review.what)} ({review.commit[:12]}) compared with {clean_line(review.base_name)}"
    )
    by_file = groupby(sorted(review.findings, key=lambda one: one.file), key=lambda one: one.file)
    files = [(file, [*findings]) for file, findings in by_file]
    for file, findings in sorted(files, key=lambda pair: min(one.severity.rank for one in pair[1])):
        yield f"{colors.bold}{clean_line(file) or 'The change as a whole'}{colors.off}"
        for one in sorted(findings, key=lambda one: (one.severity.rank, one.line)):
            yield from _finding(one, colors)
        yield ""
    if review.is_empty:
        yield f"Nothing to review: {compared} changes nothing."
    elif not review.findings:
        yield f"{colors.green}No findings{colors.off} in {compared}."
    else:
        yield f"{count_words(review.findings).capitalize()}. Reviewed: {compared}."


def _finding(one: Finding, colors: Colors) -> Iterator[str]:
    color = _colors(colors)[one.severity]
    line = f"{one.line}" + (f"-{one.end_line}" if one.end_line > one.line else "") if one.line else ""
    where = f"{colors.dim}line {line}{colors.off} " if line else ""
    yield f"  {color}{one.severity}{colors.off}  {where}{clean_line(one.title)}"
    if doubt := _doubt(one):
        yield f"{INDENT}{colors.yellow}{doubt}{colors.off}"
    for text in filter(None, (one.explanation, one.suggestion and f"Suggestion: {one.suggestion}")):
        yield from (f"{INDENT}{line}".rstrip() for line in clean(text).split("\n"))


def _doubt(one: Finding) -> str:
    """What ralph could not find of its place."""
    if one.place is Place.NOT_FOUND:
        return "place not found: the commit has no such file"
    return "place not found: the file has no such line" if one.place is Place.FILE and one.line else ""


def _colors(colors: Colors) -> dict[Severity, str]:
    return dict(
        zip(WORST_FIRST, (f"{colors.bold}{colors.red}", colors.red, colors.yellow, colors.cyan), strict=True)
    )
