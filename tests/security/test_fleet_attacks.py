"""Repositories and agents that reach for a worker's machine: real server, workers, git and sandbox."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fleet.conftest import no_settings_of_temporal as no_settings_of_temporal
from tests.fleet.conftest import server as server
from tests.fleet.conftest import shared_server as shared_server
from tests.fleet.world.machines import Machines, wait_until
from tests.fleet.world.server import Server

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")

WITHIN = 60.0
USUAL = {"agent": {"command": "./agent.sh"}, "guardrails": ["true"]}
# A commit that is none: the seat cannot be saved, and the next shift makes the clone again.
BREAK = "echo deadbeefdeadbeefdeadbeefdeadbeefdeadbeef > .git/$(git symbolic-ref HEAD)"


@pytest.fixture
def machines(tmp_path: Path, server: Server) -> Iterator[Machines]:
    found = Machines(tmp_path, server)
    try:
        yield found
    finally:
        found.close()


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    return folder


def seed(machines: Machines, agent: str = "", settings: Mapping[str, object] = USUAL, more: str = "") -> None:
    """The repository that jobs are about: its agent is a script in it."""
    here = machines.folder / "seed"
    script = f"#!/bin/bash\ncat > /dev/null\n{agent}\n"
    (here / "agent.sh").write_text(script)
    (here / "agent.sh").chmod(0o755)
    (here / ".ralph" / "settings.json").write_text(json.dumps(settings))
    commit = "git add -A && git -c user.name=t -c user.email=t@localhost commit -qm attack"
    subprocess.run(
        ["sh", "-ec", f"{more}\n{commit}\ngit push -q {machines.remote} main"],
        cwd=here,
        check=True,
        timeout=WITHIN,
    )


def do_job(machines: Machines, *words: str) -> tuple[str, str]:
    """How it ended, and why."""
    machines.start("w1", "--sandbox", "strongest")
    machines.submit(machines.job("attack", command=("run", "-p", "go", *words), agent=""))
    last = machines.await_end("attack").progress.last
    return last.outcome, last.reason


def test_a_link_on_the_way_to_a_worktree(machines: Machines, outside: Path) -> None:
    agent = f"""
        if [ ! -d .git/worktrees/wt ]; then
          mkdir -p foo; echo foo > .gitignore; git add .gitignore; git commit -qm ignored
          git worktree add -q foo/wt -b evil
          (cd foo/wt; echo payload > payload; git add payload; git commit -qm payload)
        else rm -rf foo; ln -s {outside} foo; {BREAK}
        fi
    """
    seed(machines, agent)
    worker = machines.start("w1", "--sandbox", "strongest")
    machines.submit(machines.job("attack", command=("run", "-p", "go", "-m", "3"), agent=""))

    wait_until(
        lambda: len(worker.news("shift_lost")) == 2, "it could not be saved, and not when it was done again"
    )

    assert not [*outside.iterdir()]


def test_an_agent_that_commits_softer_guardrails(machines: Machines, outside: Path) -> None:
    soft = json.dumps({**USUAL, "proof": "trusting", "tests": "free"})
    agent = f"""
        if [ ! -e evil.txt ]; then
          echo e > evil.txt; echo mark > .gitignore; git add evil.txt .gitignore
          blob=$(echo '{soft}' | git hash-object -w --stdin)
          git update-index --cacheinfo 100644,$blob,.ralph/settings.json; git commit -qm soft
        else
          echo '<response>DONE</response>'
        fi
    """
    seed(machines, agent, {**USUAL, "guardrails": ["false"]})
    machines.variables["RALPH_LIMITS__MAX_ATTEMPTS"] = "1"
    first = machines.start("w1", "--sandbox", "strongest")
    machines.submit(machines.job("attack", command=("run", "-p", "go", "-m", "3"), agent=""))
    wait_until(lambda: first.news("shift_ended"), "the first session has ended")
    first.kill()
    machines.start("w2", "--sandbox", "strongest")

    last = machines.await_end("attack").progress.last

    assert last.outcome == "exhausted", last
    assert "true" in machines.file(
        "ralph/attack", ".ralph/settings.json"
    )  # it is in the clone as it was committed


def test_a_repository_whose_state_is_elsewhere(machines: Machines, outside: Path) -> None:
    seed(machines, "echo '<response>DONE</response>'")
    (outside / "settings.json").write_text(json.dumps(USUAL))
    seed(machines, "echo '<response>DONE</response>'", more=f"rm -rf .ralph; ln -s {outside} .ralph")

    outcome, reason = do_job(machines, "-m", "2")

    assert (outcome, "is a link" in reason) == ("failed", True), reason
    assert [path.name for path in outside.iterdir()] == ["settings.json"]


def test_a_repository_that_wants_to_be_delivered_elsewhere(machines: Machines) -> None:
    delivery = {"delivery": "pr", "pullRequest": {"repository": "github.com/evil/sink"}}
    seed(machines, "echo x >> work.txt; echo '<response>DONE</response>'", {**USUAL, **delivery})

    outcome, reason = do_job(machines, "-m", "2")

    assert outcome == "completed", reason


@pytest.mark.parametrize("address", ["ext::sh -c 'touch {outside}/ran'", "{home}/clones/repositories/x.git"])
def test_an_address_that_no_submitter_could_give(machines: Machines, outside: Path, address: str) -> None:
    machines.start("w1", "--sandbox", "strongest")
    job = machines.job("attack")
    place = address.format(outside=outside, home=machines.folder / "w1")
    machines.submit(replace(job, repository=place))

    last = machines.await_end("attack").progress.last

    assert last.outcome == "failed"
    assert not [*outside.iterdir()]
