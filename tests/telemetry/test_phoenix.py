"""What Phoenix makes of the spans of a real run: it knows the conventions, and shows what it understood."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance.conftest import DONE, PROMPT, Project, project

from .conftest import answer, wait_for

__all__ = ["project"]


@pytest.mark.timeout(900)
def test_phoenix_shows_a_run_as_agents_tools_and_checks(phoenix: str, project: Project) -> None:
    project.settings(agent={"command": "claude"}, guardrails=["test -f made"], telemetry={"otlp": phoenix})
    project.agent([{"say": DONE}], [{"run": "touch made"}, {"say": DONE}])
    ran = project.ralph("run", "-p", PROMPT, check=0)
    assert "could not be sent" not in ran.stderr, "it takes no metrics, which is no reason to complain"

    spans = wait_for(lambda: _all_spans(phoenix), "the run to be stored")
    by_id = {span["context"]["span_id"]: span for span in spans}
    (run,) = [span for span in spans if span["parent_id"] is None]
    assert run["name"] == "invoke_workflow ralph"
    assert {span["context"]["trace_id"] for span in spans} == {run["context"]["trace_id"]}

    def path(span: dict[str, Any]) -> str:
        above = by_id.get(span["parent_id"])
        return f"{path(above)} > {span['name']}" if above else str(span["name"])

    paths = [path(span) for span in spans]
    assert paths.count("invoke_workflow ralph > iteration > invoke_agent claude") == 2
    assert paths.count("invoke_workflow ralph > iteration > check test -f made") == 2
    assert "invoke_workflow ralph > iteration > invoke_agent claude > execute_tool Bash" in paths
    kinds = {span["name"].split()[0]: span["span_kind"] for span in spans}
    assert kinds["invoke_agent"] == "AGENT"
    assert kinds["execute_tool"] == "TOOL"
    session = next(span for span in spans if span["name"] == "invoke_agent claude")["attributes"]
    assert session["llm.token_count.prompt"] == 9200
    assert session["llm.token_count.completion"] == 340
    assert session["llm.model_name"] == "scripted"
    states = sorted(span["status_code"] for span in spans if span["name"] == "check test -f made")
    assert states == ["ERROR", "UNSET"]


def _all_spans(phoenix: str) -> list[dict[str, Any]]:
    """Empty until the run itself, which is sent last, is there."""
    found = answer(f"{phoenix}/v1/projects/default/spans", limit="100")
    spans: list[dict[str, Any]] = found.json()["data"] if found is not None and found.is_success else []
    return spans if any(span["parent_id"] is None for span in spans) else []
