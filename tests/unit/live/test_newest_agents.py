"""What `make test-agents-newest` says of two versions of an agent."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.live.install import AGENTS, pinned
from tests.live.newest import Seen, differences, seen_in

BEFORE = Seen(
    features={"starts": "good", "usage is reported": "bad", "text is read": "good"},
    unknown=frozenset({"old.event"}),
    events=frozenset({"text", "turn_ended", "unknown"}),
    flags=frozenset({"--json", "--model", "--verbose"}),
)


def test_nothing_changed() -> None:
    assert differences(BEFORE, BEFORE, ["--json"]) == ([], [])


@pytest.mark.parametrize(
    ("after", "lost", "changed"),
    [
        ({"features": {"text is read": "bad"}}, ["does not hold any more: text is read"], []),
        ({"features": {"usage is reported": "good"}}, [], ["holds now: usage is reported"]),
        ({"features": {"usage is reported": "bad"}}, [], []),
        ({"flags": {"--model", "--verbose"}}, ["lost the flag --json, which ralph uses"], []),
        ({"flags": {"--json", "--model"}}, [], ["flags that are gone: --verbose"]),
        ({"flags": {*BEFORE.flags, "--trust"}}, [], ["new flags: --trust"]),
        ({"unknown": {"old.event", "turn.x"}}, [], ["events that ralph does not know: turn.x"]),
        ({"events": {"turn_ended"}}, [], ["events that do not come any more: text"]),
    ],
)
def test_each_change_is_a_line(after: dict[str, object], lost: list[str], changed: list[str]) -> None:
    sets = {name: frozenset(value) if isinstance(value, set) else value for name, value in after.items()}

    assert differences(BEFORE, replace(BEFORE, **sets), ["--json"]) == (lost, changed)  # type: ignore[arg-type]


def test_a_long_list_is_cut() -> None:
    after = replace(BEFORE, flags=BEFORE.flags | {f"--new-{letter}" for letter in "abcdefghijklmnop"})

    (line,) = differences(BEFORE, after, [])[1]
    assert line.endswith("--new-l and 4 more")


def test_an_answer_of_the_probe_and_a_help_text_are_read() -> None:
    features = [
        {"name": "starts", "health": "good"},
        {"name": "unknown events", "health": "doubtful", "details": {"types": ["turn.x"]}},
    ]
    answer = {"agents": [{"features": features, "events": ["text"]}]}

    seen = seen_in(answer, "  --json   print events\\n  -m, --model <MODEL>, not--this")

    assert seen.features == {"starts": "good", "unknown events": "doubtful"}
    assert seen.unknown == {"turn.x"}
    assert seen.flags == {"--json", "--model"}


def test_the_pinned_versions_are_those_that_the_doctor_names() -> None:
    assert set(AGENTS) == {"claude", "codex", "copilot", "gemini", "opencode", "qwen"}
    assert all(pinned(name).name and pinned(name).version for name in AGENTS)
