"""Which sessions show that an agent speaks a newer dialect, and which do not."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ralph.domain.agent.drift import drift_of, unknown_warning
from ralph.domain.agent.events import (
    NO_RESULT,
    AgentEvent,
    ErrorReported,
    Noise,
    Notice,
    Reasoning,
    SessionStarted,
    Text,
    ToolStarted,
    TurnEnded,
    Unknown,
)
from ralph.domain.agent.transcript import Transcript

STARTED, ENDED = SessionStarted("s-1"), TurnEnded()
WORDS, NO_WORDS = Unknown("utterance", has_words=True), Unknown("heartbeat")
NONE = "understood none"
NO_WORD = "said no word"

CASES: Sequence[tuple[str, list[AgentEvent], int | None, str]] = [
    ("nothing at all", [], 0, ""),
    ("only events that nobody knows", [NO_WORDS, WORDS], 0, NONE),
    ("the same, and it failed", [NO_WORDS], 1, NONE),
    ("only lines that are no events", [Noise("hello"), Noise("there")], 0, ""),
    ("such lines, and an event that nobody knows", [Noise("hello"), NO_WORDS], 0, NONE),
    ("a crash that prints its trace", [Noise("Traceback")], 1, ""),
    ("a word is heard", [WORDS, Text("hello")], 0, ""),
    ("no word, but a tool and the end", [STARTED, ToolStarted("1", "Bash"), WORDS, ENDED], 0, NO_WORD),
    ("no word, but thoughts", [STARTED, Reasoning("hm"), WORDS, ENDED], 0, NO_WORD),
    ("only the beginning is known", [STARTED, WORDS], 0, NO_WORD),
    ("the stream just stops", [STARTED, WORDS, ErrorReported("", None, NO_RESULT, True)], 0, NO_WORD),
    ("only the words of a sub-agent", [STARTED, Text("hi", True, "t-1"), WORDS, ENDED], 0, NO_WORD),
    ("an honest empty answer", [STARTED, ENDED], 0, ""),
    ("an empty answer, and chatter", [STARTED, NO_WORDS, ENDED], 0, ""),
    ("an error that is known", [STARTED, WORDS, ErrorReported("overloaded", 529, "", True)], 0, ""),
    ("a turn that failed", [STARTED, WORDS, TurnEnded(error="no")], 0, ""),
    ("it failed, and was understood", [STARTED, WORDS], 1, ""),
    ("it was ended by us", [STARTED, WORDS], None, ""),
    ("only a notice", [Notice("hook"), Noise("hello")], 0, ""),
]


@pytest.mark.parametrize(
    ("events", "code", "expected"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_drift(events: list[AgentEvent], code: int | None, expected: str) -> None:
    transcript = Transcript(["response"])
    for event in events:  # as they come
        transcript.take([event])

    drift = drift_of(transcript, "codex", "0.170", exit_code=code, can_probe=True)

    assert (drift.reason if drift else "").find(expected) >= 0
    assert bool(drift) is bool(expected)
    if drift:
        assert "codex 0.170 may speak a newer dialect" in drift.reason
        assert "ralph doctor --probe codex" in drift.hint


@pytest.mark.parametrize(
    ("unknown_type", "expected"),
    [("turn.x", "(turn.x)"), ("", "an event without a type"), ("x" * 500, f"({'x' * 80})")],
)
def test_the_warning_names_the_type_and_is_short(unknown_type: str, expected: str) -> None:
    warning = unknown_warning("codex", "", unknown_type, can_probe=True)

    assert warning.startswith("codex printed ")
    assert expected in warning
    assert len(warning) < 300


def test_a_probe_is_advised_only_where_there_is_one() -> None:
    assert "--probe" in unknown_warning("codex", "", "x", can_probe=True)
    assert unknown_warning("goose", "", "x", can_probe=False).endswith(
        ": update ralph, or use an earlier goose"
    )
