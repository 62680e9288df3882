"""1,000 runs and 5,000 tasks in one project: what looking at them and starting work costs beyond the same with 10 of each.

CPU, not time: a busy machine would hide what is measured here, which is how much there is to read.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median
from urllib.request import ProxyHandler, Request, build_opener

from bench.child import LONGEST, CannotMeasure, interleaved
from bench.project import Project, new_project, ralph_program
from bench.row import Bar, Row, as_difference

RUNS, TASKS, FEW = 1_000, 5_000, 10
EVENTS_PER_RUN = 100
ROUNDS = 7
MOST = Bar(100)

# Of an agent the parent is its keeper, whose parent is the watcher, whose parent is ralph: what that has used so far.
AGENT = """cat > /dev/null
pid=$$
for _ in keeper watcher ralph; do pid=$(sed -n 's/^PPid:[^0-9]*//p' /proc/$pid/status); done
cut -d ' ' -f 1 /proc/$pid/schedstat > {used}
echo made > "$RALPH_TASK_ID.txt"
echo '<promise>IMPLEMENTATION_COMPLETE</promise>'"""


def measure(folder: Path) -> list[Row]:
    with new_project(folder, "many-few") as few, new_project(folder, "many") as many:
        _fill(few, FEW, FEW)
        _fill(many, RUNS, TASKS)
        projects = {"few": few, "many": many}
        measures: dict[str, Callable[[], float]] = {}
        for size, project in projects.items():
            for command in ("status", "runs", "task list", "status --all", "task list --json"):
                measures[f"{command} {size}"] = partial(_command, project, command)
            measures[f"page {size}"] = partial(_first_answer, project)
            measures[f"work {size}"] = partial(_work, project)
        found = {name: 1000 * median(times) for name, times in interleaved(measures, rounds=ROUNDS).items()}

    def row(title: str, name: str, bar: Bar | None = MOST) -> Row:
        return as_difference(title, found[f"{name} many"], "ms", found[f"{name} few"], bar)

    return [
        row("ralph status", "status"),
        row("ralph runs", "runs"),
        row("ralph task list", "task list"),
        row("the page: first answer of a new server with all that it shows", "page"),
        row("ralph work: until the agent of its first task is started", "work"),
        row("ralph status --all, which prints every run", "status --all", None),
        row("ralph task list --json, which prints every task", "task list --json", None),
    ]


def _fill(project: Project, runs: int, tasks: int) -> None:
    used = project.programs / "used"
    agent = project.program("worker", AGENT.format(used=used))
    project.settings(
        agent={"command": str(agent)},
        profiles={"verified": {"stages": ["coder"], "roles": {"coder": {"verification": "string_match"}}}},
    )
    project.begin_repository()
    spec = {"outcome": "it is there", "acceptance_criteria": ["it is there"]}
    listed = [{"id": f"T-{number}", "title": "Do it", "completion": spec} for number in range(tasks)]
    file = project.programs / "tasks.json"
    file.write_text(json.dumps(listed))
    project.ralph("task", "add", "-f", str(file))
    parts = [sys.executable, "-m", "bench.record_parts", str(project.root / ".ralph"), "fill"]
    ran = subprocess.run(
        [*parts, str(runs), str(runs * EVENTS_PER_RUN)],
        cwd=Path(__file__).parent.parent,
        env=project.environment(),
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    if ran.returncode:
        message = f"the record: {ran.stderr.strip()[-2000:]}"
        raise CannotMeasure(message)


def _command(project: Project, words: str) -> float:
    return project.ralph(*words.split()).cpu


def _work(project: Project) -> float:
    """Seconds of ralph's main thread."""
    used = project.programs / "used"
    used.unlink(missing_ok=True)
    project.ralph("work", _open_task(project))
    return int(used.read_text()) / 1e9


def _open_task(project: Project) -> str:
    done = {path.stem for path in project.root.glob("T-*.txt")}
    return next(name for name in (f"T-{number}" for number in count()) if name not in done)


def _first_answer(project: Project) -> float:
    """Seconds of the server, from the page's first question to its answer."""
    opener = build_opener(ProxyHandler({}))
    with _server(project) as (pid, address):
        base, _, token = address.partition("/?token=")
        before = _used(pid)
        for path in ("/", "/api/state"):
            asked = Request(f"{base}{path}", headers={"authorization": f"Bearer {token}"})
            with opener.open(asked, timeout=LONGEST) as answer:
                answer.read()
        return _used(pid) - before


@contextmanager
def _server(project: Project) -> Iterator[tuple[int, str]]:
    process = subprocess.Popen(
        [ralph_program(), "web", "--port", "0", "--project-dir", str(project.root)],
        env=project.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process.pid, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def _used(pid: int) -> float:
    """Seconds of CPU of all its threads, finer than the clock ticks of ``stat``."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9
