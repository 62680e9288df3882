"""Work that is one question to a reviewer: drained by the first answer that can be read, or when nobody may be asked again."""

from __future__ import annotations

from ralph.domain.loop.assignment import Assignment, Drained, Offer
from ralph.domain.loop.decision import Accept, Decision
from ralph.domain.loop.evidence import Evidence
from ralph.domain.loop.state import LoopState
from ralph.domain.text.figures import plural
from ralph.engine.review.answer_check import NAME

KEY = "prompt"  # as records of earlier reviews have it
NO_REVIEW = "no review: the reviewer never answered in the required form"


class ReviewWork:
    """It ends with what was found, in figures. ``rounds``: the most sessions; None: any number."""

    def __init__(self, question: str, *, rounds: int | None) -> None:
        self._question = question
        self._rounds = rounds
        self._found = ""

    async def next(self, state: LoopState) -> Offer:
        if state.accepted == KEY:
            return Drained(self._found or "answered before the run was interrupted")
        if self._rounds is not None and state.iteration >= self._rounds:
            return Drained(f"{NO_REVIEW} ({plural(self._rounds, 'session')})", unfinished=(KEY,))
        return Assignment(key=KEY, objective=self._question)

    async def settle(self, assignment: Assignment, evidence: Evidence | None, decision: Decision) -> None:
        if isinstance(decision, Accept) and evidence is not None:
            self._found = next((each.reason for each in evidence.results if each.name == NAME), "")
