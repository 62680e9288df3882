"""``--guardrail`` adds to the guardrails of the settings."""

from __future__ import annotations

import json
from pathlib import Path

from ralph.config.loading import Sources
from ralph.interfaces.cli.options import agent_flags_of


def test_a_guardrail_that_is_there_already_is_not_run_twice(tmp_path: Path) -> None:
    (tmp_path / ".ralph").mkdir()
    settings = {"guardrails": ["make lint", {"command": "pytest -q", "timeout": 9}]}
    (tmp_path / ".ralph/settings.json").write_text(json.dumps(settings))
    given = ("pytest -q", "make lint", "make new", "make new")

    flags = agent_flags_of(Sources.read(tmp_path, {}), None, guardrails=given)

    assert flags == [(("guardrails",), [*settings["guardrails"], {"command": "make new"}], "--guardrail")]
