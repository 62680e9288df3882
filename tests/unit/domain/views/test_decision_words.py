"""The words of a decision, and their tone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ralph.domain.loop.decision import Accept, Continue, DecisionKind, GiveUp, Outcome, Retry, Stop
from ralph.domain.views.decisions import WORDINGS, Tone, describe_decision, describe_iteration
from ralph.domain.views.iterations import IterationView

EACH = IterationView(iteration=1, attempt=1, started_at=1.0, first_seq=1)
REJECTED = ("rejected: tag reject",)


@pytest.mark.parametrize(
    ("each", "live", "words", "tone"),
    [
        (replace(EACH, decision="accept"), False, "accepted", Tone.GOOD),
        (replace(EACH, decision="accept", claims=REJECTED), False, "accepted", Tone.GOOD),
        (replace(EACH, decision="continue"), True, "not done yet", Tone.OPEN),
        (replace(EACH, decision="retry"), True, "tried again", Tone.QUIET),
        (replace(EACH, decision="stop"), False, "stopped", Tone.WARNING),
        (replace(EACH, decision="giveup"), False, "given up", Tone.BAD),
        (replace(EACH, decision="giveup", claims=REJECTED), False, "sent back", Tone.OPEN),
        (replace(EACH, decision="of a later ralph"), False, "of a later ralph", Tone.OPEN),
        (EACH, True, "under way", Tone.OPEN),
        (EACH, False, "interrupted", Tone.BAD),
        (replace(EACH, last_seq=9), True, "interrupted", Tone.BAD),
    ],
)
def test_an_iteration_is_described_in_words(each: IterationView, live: bool, words: str, tone: Tone) -> None:
    assert describe_iteration(each, live=live)[:2] == (words, tone)


def test_every_decision_has_words() -> None:
    assert set(WORDINGS) == set(DecisionKind)


@pytest.mark.parametrize(
    ("decision", "said"),
    [
        ("accept", "Accepted"),
        ("retry", "Trying again"),
        ("stop", "Stopping"),
        ("giveup", "Given up"),
        ("", ""),
    ],
)
def test_a_decision_can_be_announced_as_it_is_made(decision: str, said: str) -> None:
    assert describe_decision(decision).announcement == said


def test_the_stored_words_are_those_of_every_earlier_version() -> None:
    made = (Accept(""), Continue(""), Retry(""), GiveUp(""), Stop(Outcome.FAILED, ""))
    assert [decision.kind.value for decision in made] == ["accept", "continue", "retry", "giveup", "stop"]
