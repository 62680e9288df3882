"""What ralph has loaded when it answers, or when the agent starts: all that decides, and little else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from .conftest import Project
from .task_project import TaskProject
from .test_plan_run import APPROVED, COMMIT, NEEDED, RUN, PlanRun

EXEC = "the agent has started"

LATE = (
    *(
        "_ssl",
        "bz2",
        "email",
        "http.client",
        "lzma",
        "multiprocessing",
        "random",
        "secrets",
        "shutil",
        "tempfile",
    ),
    *("tomllib", "urllib.request", "yaml", "zipfile"),
    *(("ipaddress", "urllib.parse") if sys.version_info >= (3, 13) else ()),  # before, by pathlib
)
LATE_ROOMS = (
    *("ralph.adapters.forges", "ralph.adapters.isolation", "ralph.adapters.notify", "ralph.adapters.online"),
    *(
        "ralph.adapters.seats",
        "ralph.adapters.sources",
        "ralph.adapters.telemetry",
        "ralph.adapters.temporal",
    ),
    *("ralph.domain.lessons", "ralph.domain.plan", "ralph.domain.promise", "ralph.domain.review"),
    *("ralph.domain.supervision", "ralph.domain.tasks", "ralph.engine.delivery", "ralph.engine.fleet"),
    *(
        "ralph.engine.plans",
        "ralph.engine.review",
        "ralph.engine.tasks",
        "ralph.engine.tickets",
        "ralph.guard.shell",
    ),
)
LATE_PARTS = (
    *(
        "ralph.config.workflow_file",
        "ralph.domain.loop.handover",
        "ralph.guard.judgement",
        "ralph.wiring.delivery",
    ),
)
FACES = {
    *("ralph.domain.tasks", "ralph.domain.tasks.completion"),
    *("ralph.domain.views.closing", "ralph.operations.trust"),
}
"""What tells how a run has ended, with all that it imports, besides the command line itself. Nothing in it decides."""

MakeRun = Callable[[Project, str], Sequence[str]]


def basic(project: Project, mark: str) -> Sequence[str]:
    return prompted(project, mark)


def promise(project: Project, mark: str) -> Sequence[str]:
    return prompted(project, mark, "--profile", "promise")


def prompted(project: Project, mark: str, *flags: str) -> Sequence[str]:
    """A guardrail that fails once: also what tells the agent why is needed in time."""
    project.program("worker", f"{mark}\necho '<response>DONE</response> <promise>DONE</promise>'\n")
    project.settings(agent={"command": "worker"}, guardrails=[{"command": "test -f made || ! touch made"}])
    return ["run", "-p", "Do it.", "-m", "3", *flags]


def supervised(project: Project, mark: str) -> Sequence[str]:
    project.settings(guardrails=[{"command": "true"}])
    agent = project.program("root", f'{mark}\n: > "$TASK_FOLDER/DONE"\n')
    return ["supervise", "--task", "t", "--restart-delay", "0", "--", str(agent)]


def verified(project: Project, mark: str) -> Sequence[str]:
    tasks = TaskProject(project)
    tasks.settings(stages=["coder", "reviewer"], others={"guardrails": [{"command": "true"}]})
    tasks.role("coder", f'{mark}\necho made > "$RALPH_TASK_ID.txt"')
    tasks.verified("test -f T-1.txt")
    return ["work"]


def reviewed(project: Project, mark: str) -> Sequence[str]:
    plan = PlanRun(project)
    plan.write()
    project.settings(agent={"command": "claude"}, guardrails=[{"command": "true"}])
    plan.plays(f"{mark}; {plan.marks(NEEDED)}; {COMMIT}", f"{plan.marks(APPROVED)}; {COMMIT}")
    return RUN


def run_logged(project: Project, log: Path, arguments: Sequence[str]) -> int:
    """With what it loads in ``log``, where the agent can leave its mark."""
    with log.open("ab") as stderr:
        return subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "ralph", *arguments],
            cwd=project.root,
            env=project.env(),
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            timeout=110,
            check=False,
        ).returncode


@pytest.mark.parametrize("is_tested", [False, True])
@pytest.mark.parametrize(
    ("makes", "is_repository"),
    [
        *(
            (makes, is_repository)
            for makes in (basic, promise, supervised)
            for is_repository in (False, True)
        ),
        *((makes, True) for makes in (verified, reviewed)),
    ],
)
def test_nothing_that_decides_is_loaded_after_an_agent_has_started(
    project: Project, makes: MakeRun, *, is_repository: bool, is_tested: bool
) -> None:
    log = project.programs / "loaded"
    if is_tested:
        (project.root / "test_it.py").write_text("def test_it():\n    assert True\n")
    arguments = makes(project, f"echo {EXEC} >> '{log}'")
    if is_repository and not (project.root / ".git").exists():
        project.git("init", "-q")
    code = run_logged(project, log, arguments)
    said = log.read_text()
    _, found, after = said.partition(EXEC)
    assert (code, found) == (0, EXEC), said[-2000:]
    late = {name for name in named_in(after) if name.startswith("ralph.")}
    assert {name for name in late if not name.startswith("ralph.interfaces.")} <= FACES


@pytest.mark.parametrize("is_repository", [False, True])
def test_a_run_starts_its_agent_without_what_other_kinds_of_runs_need(
    project: Project, *, is_repository: bool
) -> None:
    log = project.programs / "loaded"
    project.program("worker", f"echo {EXEC} >> {log}\necho working\n")
    project.settings(agent={"command": "worker"}, guardrails=[{"command": "true"}])
    if is_repository:
        project.git("init", "-q")
    run_logged(project, log, ["run", "-p", "Do it.", "-m", "1"])
    before, found, after = log.read_text().partition(EXEC)
    assert found, "the agent was never started"
    loaded = named_in(before)
    assert {"ralph.engine.loop", "ralph.wiring.proof", "sqlite3"} <= loaded
    assert "ralph.domain.views.closing" in named_in(after)
    assert loaded.intersection((*LATE, *LATE_PARTS)) == set()
    assert {name for name in loaded if name.startswith(LATE_ROOMS)} == set()


def test_a_run_that_has_nothing_to_prove_does_without_openssl(project: Project) -> None:
    """It is several megabytes, for hashes that Python has of its own and for connections that nobody makes."""
    log = project.programs / "loaded"
    project.program("worker", "echo changed > a_file\necho working\n")
    project.settings(agent={"command": "worker"})
    project.git("init", "-q")
    run_logged(project, log, ["run", "-p", "Do it.", "-m", "1"])
    loaded = named_in(log.read_text())
    assert "ralph.adapters.workspace.object_ids" in loaded
    assert loaded.isdisjoint(("_ssl", "_hashlib"))


def test_the_front_page_comes_without_what_reads_command_lines(project: Project) -> None:
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "ralph", "--help"],
        cwd=project.root,
        env=project.env(),
        capture_output=True,
        text=True,
        timeout=110,
        check=True,
    )
    loaded = named_in(ran.stderr)
    assert "ralph.interfaces.cli.front_page" in loaded
    assert loaded.isdisjoint(("click", "pathlib", "typing", "shutil", "textwrap", "asyncio"))


def named_in(log: str) -> set[str]:
    """The modules of ``-X importtime``, without those that Python loads by itself."""
    lines: Iterable[str] = (line for line in log.splitlines() if line.startswith("import time:"))
    return {line.rpartition("|")[2].strip() for line in lines}
