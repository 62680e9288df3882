"""What the layers of proof add to a run that is accepted at once, besides the time of its guardrails."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median

from bench.child import interleaved
from bench.project import PROMPT, Project, new_project
from bench.row import Row, as_difference

ROUNDS = 5
SIZES = (10, 1_000)
LINE = "a line of some file\n"


def measure(folder: Path) -> list[Row]:
    measures: dict[str, Callable[[], float]] = {}
    with ExitStack() as cleaning:
        for files in SIZES:
            project = cleaning.enter_context(new_project(folder, f"proof-{files}"))
            _fill(project, files)
            for proof in ("trusting", "guarded"):
                measures[f"{proof} {files}"] = partial(_run, project, proof)
        walls = interleaved(measures, rounds=ROUNDS)

    def row(title: str, name: str, baseline: str) -> Row:
        return as_difference(title, 1000 * median(walls[name]), "ms", 1000 * median(walls[baseline]))

    return [row(f"a run in {files:,} files", f"guarded {files}", f"trusting {files}") for files in SIZES]


def _fill(project: Project, files: int) -> None:
    agent = project.program(
        "claimer", "cat > /dev/null; echo more >> work.txt; echo '<response>DONE</response>'"
    )
    project.settings(agent={"command": str(agent)}, guardrails=[{"command": "true"}])
    for number in range(files):
        place = project.root / f"folder{number % 20}"
        place.mkdir(exist_ok=True)
        (place / f"{number}.txt").write_text(LINE * (number % 100))
    for arguments in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "start")):
        identity = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
        project.run(["git", *identity, *arguments])


def _run(project: Project, proof: str) -> float:
    cost = project.ralph("run", "-p", PROMPT, "-m", "1", "--proof", proof)
    project.forget_runs()
    return cost.wall
