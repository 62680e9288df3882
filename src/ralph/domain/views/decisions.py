"""How a decision is told to people, in the same words on every screen and in every report."""

from __future__ import annotations

from ralph.domain.views.iterations import IterationSummary

_WORDS = {
    "accept": "accepted",
    "continue": "not done yet",
    "retry": "tried again",
    "giveup": "given up",
    "stop": "stopped",
}


def decision_words(each: IterationSummary, *, live: bool = False) -> str:
    """``live``: the run is under way, so an iteration without a decision may be too."""
    if each.sent_back:
        return "sent back"
    if each.decision:
        return _WORDS.get(each.decision, each.decision)
    return "under way" if live and each.last_seq is None else "interrupted"
