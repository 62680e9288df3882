"""What Prometheus reads, and who may read it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ralph.domain.loop.events import PauseBegan
from ralph.domain.loop.evidence import Verdict

from .conftest import LiveRun, Site, served, serving

OLD = Path(__file__).parents[1] / "data" / "record_0_1"
COMMON = 'project="project",profile="basic",agent="claude"'


def metrics(site: Site) -> dict[str, float]:
    with site.client() as client:
        answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = (line for line in answer.text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_the_figures_are_those_of_the_record(site: Site, live: LiveRun) -> None:
    live.iterate(1, Verdict.FAILED)
    live.write(PauseBegan("a limit", 0.0, "rate_limited"))
    live.iterate(2)
    found = metrics(site)
    assert found[f'ralph_iterations_total{{{COMMON},decision="continue"}}'] == 1
    assert found[f'ralph_iterations_total{{{COMMON},decision="accept"}}'] == 1
    assert found[f"ralph_denied_claims_total{{{COMMON}}}"] == 1
    assert found[f"ralph_cost_usd_total{{{COMMON}}}"] == 0.5
    assert found[f'ralph_tokens_total{{{COMMON},type="input"}}'] == 200
    assert found[f'ralph_checks_total{{{COMMON},verdict="failed"}}'] == 1
    assert found[f'ralph_waits_total{{{COMMON},cause="rate_limited"}}'] == 1
    assert found[f'ralph_runs{{{COMMON},state="running"}}'] == 1
    assert found['ralph_record_readable{project="project"}'] == 1
    live.iterate(3)
    live.end()
    again = metrics(site)
    assert again[f'ralph_iterations_total{{{COMMON},decision="accept"}}'] == 2
    assert again[f'ralph_runs_ended_total{{{COMMON},outcome="completed"}}'] == 1
    assert again[f'ralph_runs{{{COMMON},state="completed"}}'] == 1
    assert f'ralph_runs{{{COMMON},state="running"}}' not in again


def test_counters_are_the_same_after_a_restart_and_do_not_fall_when_runs_are_removed(
    site: Site, root: Path, live: LiveRun
) -> None:
    live.iterate(1)
    live.end()
    before = metrics(site)
    with served(root) as another:
        assert metrics(another) == before
        live.database.execute("PRAGMA foreign_keys = ON")
        live.database.execute("DELETE FROM runs")
        after = metrics(another)
    counted = {name for name in before if "_total" in name}
    assert {name: after[name] for name in counted} == {name: before[name] for name in counted}
    assert not [name for name in after if name.startswith("ralph_runs{")]


def said(site: Site) -> str:
    """The two lines on stderr that come before the address."""
    assert site.process.stderr is not None
    return "".join(site.process.stderr.readline() for _ in range(2))


def test_who_may_read_the_metrics(root: Path, live: LiveRun, tmp_path: Path) -> None:
    token = tmp_path / "token"
    with served(root, "--metrics-token", str(token)) as site:
        assert token.stat().st_mode & 0o077 == 0
        assert f"/metrics, with the token in {token}, which was created." in said(site)
        own = {"authorization": f"Bearer {token.read_text().strip()}"}
        with site.stranger() as stranger:
            for wrong in ({}, {"authorization": "Bearer wrong"}):
                refused = stranger.get("/metrics", headers=wrong)
                assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
                assert refused.text.startswith(
                    "Send the header Authorization: Bearer TOKEN; see --metrics-token"
                )
            assert stranger.get("/metrics", headers=own).status_code == 200
            assert stranger.head("/metrics", headers=own).status_code == 200
            for path in ("/api/state", "/api/runs/r1", "/metrics/"):
                assert stranger.get(path, headers=own).status_code == 401
            assert stranger.post("/metrics", headers=own, json={}).status_code == 405
            asked = stranger.post("/api/runs/r1/stop", headers=own, json={})
            assert asked.status_code == 401
    kept = token.read_text()
    with served(root, "--metrics-token", str(token)) as site, site.stranger(**own) as prometheus:
        assert f"/metrics, with the token in {token}.\n" in said(site)
        assert prometheus.get("/metrics").status_code == 200, "the token is the same after a restart"
    assert token.read_text() == kept


@pytest.mark.parametrize("content", ["short\n", "two words of which each is long enough\n", None])
def test_a_file_without_a_token_is_refused(root: Path, tmp_path: Path, content: str | None) -> None:
    token = tmp_path / "token"
    if content is None:
        token.mkdir()
    else:
        token.write_text(content)
    with (
        pytest.raises(pytest.fail.Exception, match="--metrics-token"),
        served(root, "--metrics-token", str(token)),
    ):
        pass
    assert content is None or token.read_text() == content


def test_several_projects_are_told_apart_and_one_that_is_damaged_harms_no_other(tmp_path: Path) -> None:
    good, bad, old = (tmp_path / name for name in ("good", "bad", "old"))
    (bad / ".ralph").mkdir(parents=True)
    (bad / ".ralph" / "ralph.db").write_bytes(b"no database" * 1000)
    (old / ".ralph").mkdir(parents=True)
    with closing(sqlite3.connect(old / ".ralph" / "ralph.db")) as record:
        record.executescript((OLD / "ralph.sql").read_text())
    with closing(LiveRun(good / ".ralph")) as run:
        run.iterate(1)
        roots = [word for root in (good, bad, old) for word in ("--root", str(root))]
        with serving(*roots, home=tmp_path) as site:
            found = metrics(site)
    readable = {name: value for name, value in found.items() if name.startswith("ralph_record_readable")}
    assert readable == {
        'ralph_record_readable{project="bad"}': 0,
        'ralph_record_readable{project="good"}': 1,
        'ralph_record_readable{project="old"}': 1,
    }
    assert [name for name in found if 'ralph_iterations_total{project="good"' in name]
    assert [name for name in found if 'ralph_iterations_total{project="old"' in name]
