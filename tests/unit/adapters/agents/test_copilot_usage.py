"""What copilot's own record says about a session's tokens, and who may not say it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ralph.adapters.agents.registry import adapter_for
from ralph.domain.agent.events import AgentEvent, Usage, UsageReported
from ralph.engine.ports import AgentRequest

SESSION = "2156cf24-cf3d-4b10-85dd-e2f58d8c0522"
COUNTS = {"inputTokens": 4000, "outputTokens": 200, "cacheReadTokens": 3200, "cacheWriteTokens": 0}
USED = Usage(800, 200, 3200)


@pytest.fixture
def request_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AgentRequest:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("COPILOT_HOME", raising=False)
    log = tmp_path / "project" / ".ralph" / "runs" / "r" / "agent_001.ndjson"
    return AgentRequest("do it", tmp_path / "prompt", log, tmp_path / "project")


def line(**models: object) -> str:
    metrics = {name: {"usage": counts} for name, counts in models.items()}
    return json.dumps({"type": "session.shutdown", "data": {"accountingSnapshot": {"modelMetrics": metrics}}})


def write(folder: Path, *lines: str, session: str = SESSION) -> None:
    record = folder / session / "events.jsonl"
    record.parent.mkdir(parents=True)
    record.write_text("\n".join(lines) + "\n")


def reported(request: AgentRequest, session: str = SESSION) -> list[Usage]:
    parser = adapter_for("copilot", command="copilot", flags=(), as_root=False).parser(request)
    result = {"type": "result", "sessionId": session, "exitCode": 0}
    events: list[AgentEvent] = [*parser.parse([json.dumps(result).encode()]), *parser.finish()]
    return [event.usage for event in events if isinstance(event, UsageReported)]


def test_the_last_figures_in_the_users_record_count(request_: AgentRequest, tmp_path: Path) -> None:
    half = {name: count // 2 for name, count in COUNTS.items()}
    write(
        tmp_path / "home/.copilot/session-state",
        line(m=half),
        '{"type":"session.resume"}',
        line(m=half, n=half),
    )

    assert reported(request_) == [USED]
    assert reported(replace(request_, used_before=Usage(400, 100, 1600))) == [Usage(400, 100, 1600)]


def test_in_a_sandbox_the_record_is_the_projects(request_: AgentRequest, tmp_path: Path) -> None:
    write(tmp_path / "project/.ralph/sessions/.copilot+session-state", line(m=COUNTS))

    assert reported(request_) == [USED]


@pytest.mark.parametrize("above", ["project", ".", "project/.ralph/runs", "project/.ralph/runs/r"])
def test_only_the_state_folder_is_looked_at(request_: AgentRequest, tmp_path: Path, above: str) -> None:
    write(tmp_path / above / "sessions/.copilot+session-state", line(m=COUNTS))

    assert reported(request_) == []


def test_a_home_of_its_own_is_looked_at(request_: AgentRequest, tmp_path: Path) -> None:
    write(tmp_path / "own/session-state", line(m=COUNTS))

    assert reported(replace(request_, environment={"COPILOT_HOME": str(tmp_path / "own")})) == [USED]


def test_an_older_version_has_the_figures_elsewhere(request_: AgentRequest, tmp_path: Path) -> None:
    end = {"type": "session.shutdown", "data": {"modelMetrics": {"m": {"usage": COUNTS}}}}
    write(tmp_path / "home/.copilot/session-state", json.dumps(end))

    assert reported(request_) == [USED]


@pytest.mark.parametrize(
    "record", ["", "{", '{"type":"session.shutdown","data":{"modelMetrics":7}}', "\0\xff"]
)
def test_a_record_that_says_nothing_leaves_it_unknown(
    request_: AgentRequest, tmp_path: Path, record: str
) -> None:
    write(tmp_path / "home/.copilot/session-state", record)

    assert reported(request_) == []


def test_neither_a_link_nor_a_path_for_a_name_is_followed(request_: AgentRequest, tmp_path: Path) -> None:
    write(tmp_path / "elsewhere", line(m=COUNTS))
    sessions = tmp_path / "home/.copilot/session-state"
    sessions.mkdir(parents=True)
    (sessions / SESSION).symlink_to(tmp_path / "elsewhere" / SESSION)

    assert reported(request_) == []
    assert reported(request_, f"../../../elsewhere/{SESSION}") == []
    assert reported(request_, "") == []
