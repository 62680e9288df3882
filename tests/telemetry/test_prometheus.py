"""A real Prometheus reads /metrics of a real `ralph web`, and answers every query of the Grafana dashboard."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ralph.domain.telemetry.exposition import RUNS, UP
from ralph.domain.telemetry.measurements import METRICS
from tests.acceptance.conftest import DONE, PROMPT, Project, project
from tests.web.conftest import Site, serving

from .conftest import answer, free_port, program, wait_for

__all__ = ["project"]

DASHBOARD = Path(__file__).parents[2] / "docs" / "examples" / "grafana-ralph.json"
PAGE = Path(__file__).parents[2] / "docs" / "telemetry.md"
NAMES = {metric.exposed for metric in METRICS} | {RUNS, UP}
needs_prometheus = pytest.mark.skipif(
    not (shutil.which("prometheus") and shutil.which("promtool")), reason="needs prometheus"
)


def dashboard() -> Any:
    return json.loads(DASHBOARD.read_text())


def expressions() -> list[str]:
    return [target["expr"] for panel in dashboard()["panels"] for target in panel["targets"]]


@pytest.fixture
def site(project: Project, tmp_path: Path) -> Iterator[Site]:
    """Of a project with a denied claim and an accepted one."""
    project.settings(agent={"command": "claude"}, guardrails=["test -f made"])
    project.agent([{"say": DONE}], [{"run": "touch made"}, {"say": DONE}])
    project.ralph("run", "-p", PROMPT, check=0)
    token = tmp_path / "token"
    with serving("--project-dir", str(project.root), "--metrics-token", str(token), home=tmp_path) as page:
        yield page


@needs_prometheus
def test_prometheus_scrapes_the_page_and_answers_the_dashboard(site: Site, tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "prometheus.yml").write_text(_scrape_config(site, tmp_path / "token"))
    command = [
        "prometheus",
        f"--config.file={tmp_path / 'prometheus.yml'}",
        f"--storage.tsdb.path={tmp_path / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    base = f"http://127.0.0.1:{port}"
    with program(command, log=tmp_path / "prometheus.log", ready=f"{base}/-/ready"):

        def ask(query: str) -> Any:
            found = answer(f"{base}/api/v1/query", query=query)
            assert found is not None
            told = found.json()
            assert told["status"] == "success", f"{query}: {told}"
            return told["data"]["result"]

        wait_for(
            lambda: ask('count_over_time(ralph_iterations_total{decision="accept"}[5m]) >= 3'), "scrapes"
        )
        (denied,) = ask("ralph_denied_claims_total")
        assert denied["value"][1] == "1"
        assert denied["metric"]["project"] == "project"
        (tokens,) = ask('sum(ralph_tokens_total{type="input"})')
        assert tokens["value"][1] == "2400"
        (over,) = ask('ralph_runs{state="completed"}')
        assert over["value"][1] == "1"
        for expression in expressions():
            filled = expression.replace("$project", ".*")
            ask(re.sub(r"\$__(rate_interval|range)", "5m", filled))
        stored = answer(f"{base}/api/v1/label/__name__/values")
        assert stored is not None
        assert set(stored.json()["data"]) & NAMES == NAMES - {"ralph_waits_total", "ralph_wait_seconds_total"}


@needs_prometheus
def test_promtool_finds_nothing_to_lint(site: Site) -> None:
    with site.client() as client:
        text = client.get("/metrics").text
    ran = subprocess.run(
        ["promtool", "check", "metrics"], input=text, text=True, capture_output=True, timeout=60, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_the_dashboard_asks_only_for_what_there_is() -> None:
    asked = {name for text in expressions() for name in re.findall(r"\bralph_\w+", text)}
    assert asked == NAMES, "and for all of it"


def test_the_dashboard_can_be_imported_anywhere() -> None:
    found = dashboard()
    identities = [panel["id"] for panel in found["panels"]]
    assert len(set(identities)) == len(identities)
    variables = {variable["name"] for variable in found["templating"]["list"]}
    assert variables == {"datasource", "project"}
    for panel in found["panels"]:
        assert panel["datasource"]["uid"] == "${datasource}"
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24


def _scrape_config(site: Site, token: Path) -> str:
    """The one that the documentation shows, for this page."""
    (shown,) = re.findall(r"```yaml\n(scrape_configs:.*?)```", PAGE.read_text(), re.DOTALL)
    assert "127.0.0.1:8484" in shown
    config: str = shown.replace("127.0.0.1:8484", site.base.removeprefix("http://"))
    config = re.sub(r"credentials_file: .*", f"credentials_file: {token}", config)
    return config.replace("scrape_interval: 30s", "scrape_interval: 1s")
