"""What people said about a pull request on GitHub."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ralph.adapters.online.shape import Shape
from ralph.domain.delivery.facts import Remark, RemarkKind, Review, Verdict
from ralph.domain.text.safe_text import clean, clean_line
from ralph.values import dataclass

_VERDICTS = {"APPROVED": Verdict.APPROVED, "CHANGES_REQUESTED": Verdict.OBJECTS}
_NOT_SAID = frozenset({"PENDING", "DISMISSED"})
"""A draft that nobody has sent, and a review that was taken back."""


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that someone wrote, as GitHub has it."""

    kind: RemarkKind
    shape: Shape


def written(reviews: Iterable[Shape], threads: Iterable[Shape], comments: Iterable[Shape]) -> list[Said]:
    """Everything with text. The text of an approval asks for nothing more than a comment does."""
    said = [Said(_kind_of(review), review) for review in reviews if review["state"].text not in _NOT_SAID]
    said += [Said(RemarkKind.THREAD, thread) for thread in threads]
    said += [Said(RemarkKind.COMMENT, comment) for comment in comments]
    return [one for one in said if one.shape["body"].text.strip() and one.shape["id"].number]


def _kind_of(review: Shape) -> RemarkKind:
    return RemarkKind.COMMENT if review["state"].text == "APPROVED" else RemarkKind.REVIEW


def remark_of(said: Said, *, is_trusted: bool) -> Remark:
    found = said.shape
    root = found["in_reply_to_id"].number
    is_review = "submitted_at" in found.value if isinstance(found.value, dict) else False
    return Remark(
        id=remark_id("review" if is_review else said.kind.value, found["id"].number),
        kind=said.kind,
        author=found["user"]["login"].text or "ghost",
        text=clean(found["body"].text),
        is_trusted=is_trusted,
        at=found["submitted_at"].moment or found["created_at"].moment,
        path=clean_line(found["path"].text),
        line=found["line"].number or found["original_line"].number or None,
        thread=remark_id(RemarkKind.THREAD.value, root) if root else "",
        url=found["html_url"].text,
    )


def remark_id(what: str, number: int) -> str:
    """GitHub counts reviews, lines of threads and comments each for itself."""
    return f"{what}-{number}"


def number_in(remark_id: str) -> int:
    """0: it is none of ours."""
    digits = remark_id.rpartition("-")[2]
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 19 else 0


def verdicts(reviews: Sequence[Shape]) -> list[Review]:
    """The newest of each reviewer: a comment leaves it as it is, a dismissal takes it away."""
    standing: dict[str, Review] = {}
    for review in sorted(reviews, key=lambda each: (each["submitted_at"].moment, each["id"].number)):
        author, state = review["user"]["login"].text, review["state"].text
        if state in _VERDICTS:
            standing[author] = Review(author, _VERDICTS[state], review["commit_id"].text)
        elif state == "DISMISSED":
            standing.pop(author, None)
    return list(standing.values())
