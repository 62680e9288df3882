"""docs/console.md names every event and every field that `--json` prints."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

from ralph.domain.agent.events import AgentEvent
from ralph.domain.loop.events import LoopEvent

PAGE = (Path(__file__).parents[4] / "docs" / "console.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| `")]
NAMES = {("unknown", "type"): "unknown_type"}
"""A field that is called otherwise on the wire, where ``type`` says what the event is."""


@pytest.mark.parametrize(
    "event", [*get_args(LoopEvent), *get_args(AgentEvent)], ids=lambda event: event.__name__
)
def test_an_event_and_its_fields_are_in_the_reference(event: type) -> None:
    kind = next(str(field.default) for field in fields(event) if field.name == "kind")
    rows = [row for row in ROWS if f"`{kind}`" in row.split("|")[1]]
    assert rows, f"docs/console.md has no row for {kind}"
    for field in fields(event):
        if field.name != "kind":
            name = NAMES.get((kind, field.name), field.name)
            assert any(f"`{name}`" in row for row in rows), f"docs/console.md: {kind} has a field {name}"
