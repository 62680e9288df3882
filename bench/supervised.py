"""A supervised task with many children over many restarts: memory, descriptors and zombies must stay flat.

The children are processes that are registered like child runs; 200 real ones would measure the machine's memory.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from bench.child import CannotMeasure
from bench.project import Project, new_project, ralph_program
from bench.row import Bar, Row, as_difference

CHILDREN = 200
RESTARTS = 1_000
EARLY = 100
"""Launches after which everything is loaded."""
LONGEST = 300.0


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample of the supervising process."""

    memory: float  # MB
    descriptors: int
    zombies: int
    at: float


def measure(folder: Path) -> list[Row]:
    if sys.platform != "linux":
        message = "descriptors and zombies are counted in /proc"
        raise CannotMeasure(message)
    with new_project(folder, "supervised-alone") as project:
        alone = _supervise(project, children=0)
    with new_project(folder, "supervised") as project:
        many = _supervise(project, children=CHILDREN)
    what = f"{CHILDREN} children, {RESTARTS:,} restarts"
    early, late = many
    return [
        as_difference(f"{what}: memory; baseline: after {EARLY}", late.memory, "MB", early.memory, Bar(5)),
        as_difference(f"{what}: descriptors", late.descriptors, "", early.descriptors, Bar(0)),
        as_difference(f"{what}: zombies", late.zombies, "", early.zombies, Bar(0)),
        as_difference(f"{what}: one restart; baseline: without children", _each(many), "ms", _each(alone)),
    ]


def _each(samples: tuple[Sample, Sample]) -> float:
    early, late = samples
    return 1000 * (late.at - early.at) / (RESTARTS - EARLY)


def _supervise(project: Project, *, children: int) -> tuple[Sample, Sample]:
    """Sampled after the early launches and at the last one, which waits for that."""
    python, parts = sys.executable, Path(__file__).with_name("supervised_parts.py")
    agent = project.program(
        "agent",
        f"""case "$RALPH_ATTEMPT" in
0) exec {python} {parts} {children} ;;
{EARLY} | {RESTARTS - 1}) : > "reached-$RALPH_ATTEMPT"; while [ ! -e "seen-$RALPH_ATTEMPT" ]; do sleep 0.02; done ;;
esac
[ "$RALPH_ATTEMPT" = {RESTARTS - 1} ] || exit 0
# A child that has already been ended cannot be ended now: then the run is not done.
while read -r pid; do kill "$pid" || exit 9; done < pids
: > "$TASK_FOLDER/DONE\"""",
    )
    options = ["--task", "t", "--restart-delay", "0", "--max-restarts", str(RESTARTS), "--wait-timeout", "30"]
    process = subprocess.Popen(
        [ralph_program(), "supervise", *options, "--", str(agent)],
        cwd=project.root,
        env=project.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    give_up = time.monotonic() + LONGEST
    try:
        samples = [_sample(project, process, attempt, give_up) for attempt in (EARLY, RESTARTS - 1)]
        code = process.wait(timeout=max(1.0, give_up - time.monotonic()))
    except subprocess.TimeoutExpired:
        message = "the supervised run did not end"
        raise CannotMeasure(message) from None
    finally:
        process.kill()
        process.wait()
        _end_children(project.root / "pids")
    if code:
        message = f"the supervised run exited with {code}"
        raise CannotMeasure(message)
    return samples[0], samples[1]


def _sample(project: Project, process: subprocess.Popen[bytes], attempt: int, give_up: float) -> Sample:
    reached = project.root / f"reached-{attempt}"
    while not reached.exists():
        if process.poll() is not None or time.monotonic() > give_up:
            message = f"the supervised run did not reach launch {attempt}"
            raise CannotMeasure(message)
        time.sleep(0.01)
    at = time.perf_counter()
    proc = Path(f"/proc/{process.pid}")
    memory = next(line for line in (proc / "status").read_text().splitlines() if line.startswith("VmRSS"))
    sample = Sample(
        memory=int(memory.split()[1]) / 1024,
        descriptors=len(list((proc / "fd").iterdir())),
        zombies=_zombies(process.pid),
        at=at,
    )
    (project.root / f"seen-{attempt}").touch()
    return sample


def _zombies(parent: int) -> int:
    number = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            number += fields[0] == "Z" and int(fields[1]) == parent
    return number


def _end_children(pids: Path) -> None:
    if pids.exists():
        for pid in pids.read_text().split():
            try:
                if b"sleep" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(int(pid), 9)
            except OSError:
                continue
