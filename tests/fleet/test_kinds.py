"""Every kind of loop runs on the fleet, and decides there what it decides on one machine."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ralph.domain.fleet.job import JobSpec
from ralph.domain.fleet.views import JobView
from ralph.operations.fleet.record import fetched_record
from tests.acceptance.conftest import DONE, Project, Session
from tests.acceptance.conftest import project as project
from tests.acceptance.task_project import TaskProject
from tests.acceptance.test_limits import limited
from tests.acceptance.test_plan_run import APPROVED, COMMIT, NEEDED, RUN, PlanRun
from tests.fleet.world.machines import Machines
from tests.fleet.world.server import Server
from tests.shifts.shifting import checks, decisions, kinds, prompts, totals, twin

CLONE = re.compile(r"/\S+?/clones/jobs/[^/]+/project")
COMMIT_ID = re.compile(r"\b[0-9a-f]{40}\b")
MERGED = re.compile(r"(?<=merged as )[0-9a-f]{12}")


@pytest.fixture
def machines(tmp_path: Path, server: Server) -> Iterator[Machines]:
    found = Machines(tmp_path, server)
    try:
        yield found
    finally:
        found.close()


def run_on_fleet(
    machines: Machines, project: Project, *words: str, task: str = ""
) -> tuple[JobView, Project]:
    """The job, and a project with its record."""
    remote = machines.folder / "kinds.git"
    script = f"""
        test -d .git || git init -q -b main
        git config user.name t; git config user.email t@localhost
        git add -A -- . ':(exclude).ralph'; git add -f .ralph/settings.json
        git commit -qm 'as it is' && git clone -q --bare . {remote}
    """
    subprocess.run(["sh", "-c", script], cwd=project.root, check=True, timeout=60)
    path = project.env()["PATH"]
    machines.start("w1", PATH=path)
    machines.start("w2", PATH=path)
    job = JobSpec(
        id="kind", repository=str(remote), base="main", command=words, task=task, heartbeat=3.0, agent="any"
    )
    machines.submit(job)
    ended = machines.await_end("kind")
    assert ended.progress.last.outcome, ended
    folder = machines.folder / "record"
    with fetched_record(job) as state:
        assert state is not None
        shutil.copytree(state, folder / ".ralph")
    for file in folder.glob(".ralph/runs/*/prompt_*.txt"):
        file.write_text(CLONE.sub(str(folder), file.read_text()))
    return ended, Project(folder, project.programs)


def require_same(local: Project, fleet: Project) -> None:
    assert decisions(fleet) == decisions(local)
    assert checks(fleet) == checks(local)
    assert _named(prompts(fleet)) == _named(prompts(local))
    assert [_unnamed(row[:5]) for row in totals(fleet)] == [_unnamed(row[:5]) for row in totals(local)]
    assert kinds(fleet) == kinds(local)


def _unnamed(row: tuple[Any, ...]) -> list[Any]:
    return [MERGED.sub("COMMIT", value) if isinstance(value, str) else value for value in row]


def _named(texts: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The settings are in a commit of their own here, so that commits have other names."""
    return [(name, COMMIT_ID.sub("COMMIT", text)) for name, text in texts]


def write(content: str) -> dict[str, object]:
    return {"write": {"path": "work.txt", "content": content}}


@pytest.mark.parametrize("profile", ["basic", "promise"])
def test_a_prompt_with_denied_claims_and_a_usage_limit(
    project: Project, machines: Machines, profile: str
) -> None:
    project.git("init", "-q", "-b", "main")
    project.settings(agent={"command": "claude"}, guardrails=["grep -q right work.txt"])
    done = "<promise>DONE</promise>" if profile == "promise" else DONE
    other = twin(project)
    for each in (project, other):
        sessions: list[Session] = [
            [write("wrong"), {"say": done}],
            [{"say": "hm"}],
            [write("right"), {"say": "almost"}],
        ]
        each.agent(*sessions[:2], limited(time.time() + 4), sessions[2], [{"say": done}])
    words = ("run", "-p", f"Do it, then output {done}.", "--profile", profile)

    project.ralph(*words, check=0)
    other.agent(*sessions[:2], limited(time.time() + 15), sessions[2], [{"say": done}])
    ended, fleet = run_on_fleet(machines, other, *words)

    assert (ended.progress.last.outcome, ended.progress.last.exit_code) == ("completed", 0)
    require_same(project, fleet)


def test_a_supervised_run(project: Project, machines: Machines) -> None:
    body = '[ "$RALPH_ATTEMPT" = 2 ] && : > "$TASK_FOLDER/DONE"; echo "$RALPH_ATTEMPT" >> seen; exit "$RALPH_ATTEMPT"\n'
    project.program("agent.sh", body)
    project.settings()
    other = twin(project)

    def words(of: Project) -> list[str]:
        return ["supervise", "--task", "t", "--restart-delay", "0", "--", str(of.programs / "agent.sh")]

    project.ralph(*words(project), check=0)
    ended, fleet = run_on_fleet(machines, other, *words(other))

    assert (ended.progress.last.outcome, ended.progress.last.iteration) == ("completed", 3)
    require_same(project, fleet)


def test_a_plan(project: Project, machines: Machines) -> None:
    PlanRun(project).write()
    other = twin(project)
    for each in (project, other):
        of = PlanRun(each)
        changes = {"reviewStatus": "changes_requested", "reviewFeedback": "name it better"}
        of.plays(
            "true",
            f"{of.marks(NEEDED)}; {COMMIT}",
            f"{of.marks(changes)}; {COMMIT}",
            f"{of.marks(NEEDED)}; {COMMIT}",
            f"{of.marks(APPROVED)}; {COMMIT}",
        )

    ran = project.ralph(*RUN)
    ended, fleet = run_on_fleet(machines, other, *RUN)

    assert ended.progress.last.exit_code == ran.returncode
    require_same(project, fleet)


def test_a_task_with_a_reviewer(project: Project, machines: Machines) -> None:
    made = TaskProject(project)
    made.settings(stages=["coder", "reviewer"], others={"guardrails": ["grep -q right T-1.txt"]})
    coder = 'if [ "$number" -ge 2 ]; then echo right > T-1.txt; else echo wrong > T-1.txt; fi'
    made.role("coder", f"{coder}; git add -A; git commit -qm work")
    other = twin(project)
    made.task()
    done = {"outcome": "it is there", "acceptance_criteria": ["it is there"]}
    task = json.dumps({"id": "T-1", "title": "Do T-1", "completion": done})

    project.ralph("work", "T-1", "--max-parallel", "1", check=0)
    ended, fleet = run_on_fleet(machines, other, task=task)

    assert (ended.progress.last.outcome, ended.progress.last.iteration) == ("completed", 3)
    require_same(project, fleet)
