"""How much of what people add to a ticket reaches an agent: the newest remarks, each up to a length, and what was left out."""

from __future__ import annotations

from collections.abc import Sequence

from ralph.domain.text.figures import plural
from ralph.domain.text.safe_text import clean_line
from ralph.domain.tickets.ticket import Remark
from ralph.domain.tickets.ticket_text import visible_text

MOST_REMARKS = 20
LONGEST_REMARK = 4_000


def bound_remarks(said: Sequence[Remark]) -> tuple[tuple[Remark, ...], tuple[str, ...]]:
    """``said``: in the order in which it was said. The newest are kept: they may take back what was said before."""
    kept: list[Remark] = []
    left_out: list[str] = []
    if (older := len(said) - MOST_REMARKS) > 0:
        left_out.append(f"{plural(older, 'older comment')}: only the newest {MOST_REMARKS} are used")
    for one in said[-MOST_REMARKS:]:
        author = clean_line(one.author)
        text, missing = visible_text(one.text, LONGEST_REMARK)
        left_out += [f"in a comment of {author}: {what}" for what in missing]
        if text:
            kept.append(Remark(author, text))
    return tuple(kept), tuple(dict.fromkeys(left_out))
