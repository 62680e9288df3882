"""A review for people: what was found, worst first."""

from __future__ import annotations

from collections.abc import Iterator

from ralph.domain.review.finding import WORST_FIRST, Finding, Review, Severity, count_words
from ralph.domain.text.safe_text import clean, clean_line
from ralph.interfaces.cli.folding import fold
from ralph.interfaces.cli.terminal import Colors, Look, colors_of

INDENT = "    "


def review_text(review: Review, look: Look) -> str:
    """The worst findings first; nothing but the verdict if there are none."""
    colors = colors_of(look)
    text = "\n".join(_lines(review, colors))
    return fold(text, look.width) if look.folds else text


def _lines(review: Review, colors: Colors) -> Iterator[str]:
    compared = (
        f"{clean_line(review.what)} ({review.commit[:12]}) compared with {clean_line(review.base_name)}"
    )
    for one in review.findings:
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
    where = clean_line(one.where) or "The change as a whole"
    yield f"{colors.bold}{where}:{colors.off} {color}{one.severity}:{colors.off} {clean_line(one.title)}"
    if one.doubt:
        yield f"{INDENT}{colors.yellow}{one.doubt}{colors.off}"
    for text in one.paragraphs:
        yield from (f"{INDENT}{line}".rstrip() for line in clean(text).split("\n"))


def _colors(colors: Colors) -> dict[Severity, str]:
    return dict(
        zip(WORST_FIRST, (f"{colors.bold}{colors.red}", colors.red, colors.yellow, colors.cyan), strict=True)
    )
