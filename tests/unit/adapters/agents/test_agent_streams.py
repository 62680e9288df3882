"""Recorded sessions and the normalized events they must give, whole lists compared.

``tests/data/streams/<agent>/<case>.ndjson`` is what the program printed (``made_…`` was written
by hand), ``<case>.expected.json`` beside it the contract. To take in a new capture, put the two files there, the
second one with ``exit`` and ``stderr`` only, run this file as a program, and *read* what it wrote.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ralph.adapters.agents.registry import adapter_for
from ralph.agent_names import ACP, named_agents
from ralph.domain.agent.events import (
    AgentEvent,
    ErrorReported,
    LimitReported,
    Text,
    ToolStarted,
    TurnEnded,
    Usage,
    UsageReported,
)
from ralph.domain.agent.transcript import Transcript
from ralph.domain.loop.session_report import Ending, Exhausted, Fault
from ralph.engine.ports import AgentRequest, Exit

STREAMS = Path(__file__).parents[3] / "data" / "streams"
CASES = sorted(path.relative_to(STREAMS).with_suffix("") for path in STREAMS.glob("*/*.ndjson"))

REQUEST = AgentRequest(
    prompt="make x",
    prompt_file=Path("/project/.ralph/prompt_001.txt"),
    log_file=Path("/project/.ralph/agent_001.ndjson"),
    cwd=Path("/project"),
)


def plain_data(value: object) -> Any:
    """An event as JSON data, without the fields that have their default."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        shown = {}
        for field in dataclasses.fields(value):
            item = getattr(value, field.name)
            if field.name == "kind" or item != field.default:
                shown[field.name] = plain_data(item)
        return {"kind": shown.pop("kind"), **shown} if "kind" in shown else shown
    if isinstance(value, tuple | list):
        return [plain_data(item) for item in value]
    return value


def fault_data(fault: Fault | Exhausted | None) -> dict[str, Any] | None:
    return None if fault is None else {"fault": type(fault).__name__, **plain_data(fault)}


def spent(turns: Sequence[TurnEnded]) -> tuple[Usage, float | None]:
    usage, costs = Usage(), []
    for turn in turns:
        usage = turn.usage if turn.cumulative else usage + turn.usage
        if turn.cost_usd is not None:
            costs.append(turn.cost_usd)
    return usage, round(sum(costs), 9) if costs else None


def observed(case: Path) -> dict[str, Any]:
    """What our adapter makes of a recorded session, with the givens of the expectation kept in front."""
    given = json.loads((STREAMS / f"{case}.expected.json").read_text(encoding="utf-8"))
    adapter = adapter_for(case.parts[0], command=case.parts[0], flags=(), as_root=False)
    parser = adapter.parser(REQUEST)
    events: list[AgentEvent] = []
    for line in (STREAMS / f"{case}.ndjson").read_bytes().splitlines():
        events += parser.parse([line])
    events += parser.finish()

    text = "\n".join(event.text for event in events if isinstance(event, Text) and not event.parent)
    tools = sum(isinstance(event, ToolStarted) for event in events)
    ending = Ending(given.get("ending", "exited"))
    fault = adapter.classify(
        Exit(ending, given["exit"], 1.0),
        [event for event in events if isinstance(event, TurnEnded | LimitReported | ErrorReported)],
        stderr=given.get("stderr", ""),
        is_empty=not text.strip() and not tools,
    )
    usage, cost = spent([event for event in events if isinstance(event, TurnEnded)])
    return {
        **{key: given[key] for key in ("exit", "ending", "stderr") if key in given},
        "fault": fault_data(fault),
        "text": text,
        "usage": plain_data(usage),
        "cost": cost,
        "events": plain_data(events),
    }


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_recorded_session_gives_exactly_the_expected_events(case: Path) -> None:
    expected = json.loads((STREAMS / f"{case}.expected.json").read_text(encoding="utf-8"))

    assert observed(case) == expected


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_was_reported_during_a_turn_is_not_counted_twice(case: Path) -> None:
    parser = adapter_for(case.parts[0], command=case.parts[0], flags=(), as_root=False).parser(REQUEST)
    events = parser.parse((STREAMS / f"{case}.ndjson").read_bytes().splitlines())
    transcript = Transcript([])
    transcript.take(events)
    turns = [event for event in events if isinstance(event, TurnEnded)]
    last = max((place for place, event in enumerate(events) if event in turns), default=-1)
    since = [event.usage for event in events[last + 1 :] if isinstance(event, UsageReported)]

    assert transcript.usage == sum(since, spent(turns)[0])


def test_every_expectation_has_its_recording() -> None:
    expectations = {
        str(path.relative_to(STREAMS)).removesuffix(".expected.json")
        for path in STREAMS.glob("*/*.expected.json")
    }

    assert expectations == {str(case) for case in CASES}
    assert {case.parts[0] for case in CASES} == {*named_agents(), ACP}


def regenerate() -> None:
    for case in CASES:
        document = json.dumps(observed(case), ensure_ascii=False, indent=1)
        (STREAMS / f"{case}.expected.json").write_text(document + "\n", encoding="utf-8")


if __name__ == "__main__":
    regenerate()
