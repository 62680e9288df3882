"""What ralph has loaded when it answers, or when the agent starts: whatever else it may need is loaded later."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable

import pytest

from tests.acceptance.conftest import Project

EXEC = "the agent has started"

LATE = (
    *("bz2", "email", "http.client", "lzma", "multiprocessing", "random", "secrets", "shutil", "tempfile"),
    *("tomllib", "urllib.request", "yaml", "zipfile"),
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
    *("ralph.adapters.agents.faults", "ralph.adapters.checks.commands", "ralph.config.workflow_file"),
    *("ralph.domain.loop.handover", "ralph.engine.proof.comparison"),
    *("ralph.domain.proof.canary", "ralph.domain.proof.comparison", "ralph.domain.text.secret_sieve"),
    *(
        "ralph.domain.views.closing",
        "ralph.engine.proof.layers",
        "ralph.guard.judgement",
        "ralph.wiring.delivery",
    ),
)


@pytest.mark.parametrize("is_repository", [False, True])
def test_a_run_starts_its_agent_before_it_loads_what_judges_it(
    project: Project, *, is_repository: bool
) -> None:
    log = project.programs / "loaded"
    project.program("worker", f"echo {EXEC} >> {log}\necho working\n")
    project.settings(agent={"command": "worker"}, guardrails=[{"command": "true"}])
    if is_repository:
        project.git("init", "-q")
    with log.open("ab") as stderr:
        subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "ralph", "run", "-p", "Do it.", "-m", "1"],
            cwd=project.root,
            env=project.env(),
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            timeout=110,
            check=False,
        )
    before, found, after = log.read_text().partition(EXEC)
    assert found, "the agent was never started"
    loaded = named_in(before)
    assert {"ralph.engine.loop", "ralph.wiring.proof", "sqlite3"} <= loaded
    assert "ralph.domain.views.closing" in named_in(after)
    assert loaded.intersection((*LATE, *LATE_PARTS)) == set()
    assert {name for name in loaded if name.startswith(LATE_ROOMS)} == set()


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
