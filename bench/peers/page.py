"""The comparison as a page: how it was made, one table, what the others do not do meanwhile, and ralph's goals."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from bench.peers.contenders import CONTENDERS, RALPH
from bench.peers.figures import Cell, Figure, Goal, Line
from bench.peers.habits import Habits
from bench.table import amount, as_markdown, bar_words

HEAD = """# ralph beside its peers

<!-- Made by `make bench-peers`; change bench/peers/ instead. -->

One run on {date}, with one agent for all: a small C program, installed as `claude`, that adds a line to a file of the project
and prints. Harness after harness, round after round; figures are medians. Every harness is set to do nothing but loop: no
guardrail, no commits, no pause where it has a setting for that (bench/peers/contenders.py). Each is installed as its users do,
without the tools of its developers. The first round measured memory; timed rounds after it: {rounds}. {system}.

Figures depend on the machine, and so do ratios, if less. Make your own with `make bench-peers` (it needs Linux, npm, Python
3.12, a C compiler and ten minutes, or seven more if many files were deleted just before); `make bench-peers SMALL=1` tries it out
in two. What the same harnesses make of hostile agents is in [the fault matrix](../docs/faults.md).
"""

HOW = """How to read it:

- Each cell is the ratio to the line's baseline, then the figure itself; **bold** is the best harness of the line. The bare
  loop is the floor, and no contender: it does nothing beside starting the agent.
- *One iteration*: the difference of a run of many iterations and one of a single one, so that start-up cancels out; the
  figure is what comes on top of the bare loop. CPU is that of all processes, the agent's too: a control group counts
  it. Where none can be made, as it takes root, that of processes that nobody waits for is missing, and ralph has such.
- *Streams*: from the agent's exec to the harness's end, less the same of a session of three lines. The baseline is a Python
  that does `json.loads` on each line of the file. The agent prints as fast as it is read.
- *Peak memory*: of the harness and all that it starts, without the agent. Each process counts with its high-water mark
  (`VmHWM`); memory that forks share, and the files of a program that runs twice, count once.
"""


def render(
    *,
    found: Sequence[Line],
    habits: Mapping[str, Habits],
    goals: Sequence[Goal],
    names: Sequence[str],
    absent: Mapping[str, str],
    failures: Sequence[str],
    rounds: int,
    seconds: float,
) -> str:
    """``absent``: peers that could not be had, and why; ``failures``: runs that failed while others of the same did not."""
    shown = [name for name in CONTENDERS if name in names or name in absent]
    head = HEAD.format(
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        rounds=rounds,
        system=f"{system()}; {seconds / 60:.0f} minutes",
    )
    parts = [head, *as_markdown(*_speeds(found, shown, absent)), "", HOW.rstrip()]
    parts += [*_remarks(found, names), *(f"- {failure}" for failure in failures), ""]
    parts += ["## What each does meanwhile", "", *as_markdown(*_deeds(habits, shown, absent)), "", DEEDS]
    parts += ["## Versions", "", *as_markdown(*_versions(shown, absent)), ""]
    if goals:
        parts += ["## ralph's goals", "", GOALS, *as_markdown(*_goals(goals)), ""]
    return "\n".join(parts).rstrip() + "\n"


DEEDS = """The record and the guardrail were looked up in the code of these versions; the rest was tried in this run: the agent said
a sentence with the `ANTHROPIC_API_KEY` of its environment, and left a process behind in a session of its own.
"""
GOALS = "Set before they were measured; a missed one is printed as missed.\n"


def _speeds(
    found: Sequence[Line], names: Sequence[str], absent: Mapping[str, str]
) -> tuple[list[list[str]], list[str]]:
    rows = [
        [
            line.name,
            f"{line.baseline_name}: {amount(line.baseline, line.unit)}",
            *(_cell(line, name, line.cells.get(name, absent.get(name, ""))) for name in names),
        ]
        for line in found
    ]
    return rows, ["", "baseline", *names]


def _remarks(found: Sequence[Line], names: Sequence[str]) -> list[str]:
    """Each once, with all the lines that it is about."""
    about: dict[tuple[str, str], list[str]] = {}
    for line in found:
        for name in names:
            words = CONTENDERS[name].remarks.get(line.key)
            if words and isinstance(line.cells[name], Figure):
                about.setdefault((name, words), []).append(line.name)
    return [f"- {name} ({'; '.join(titles)}): {words}." for (name, words), titles in about.items()]


def _cell(line: Line, name: str, cell: Cell) -> str:
    if not isinstance(cell, Figure):
        return cell
    ratio = amount(cell.ratio, "x")
    raw = f"{'+' if line.is_difference and cell.raw >= 0 else ''}{amount(cell.raw, line.unit)}"
    return f"**{ratio}** ({raw})" if name == line.best else f"{ratio} ({raw})"


def _deeds(
    habits: Mapping[str, Habits], names: Sequence[str], absent: Mapping[str, str]
) -> tuple[list[list[str]], list[str]]:
    rows = []
    for name in names:
        tried = habits.get(name, Habits(*[absent.get(name, "not tried")] * 3))
        contender = CONTENDERS[name]
        rows.append([name, contender.record, contender.guardrail, tried.masks, tried.log, tried.clears])
    headings = ["", "durable record", "guardrail", "masks secrets", "log of the agent's output"]
    return rows, [*headings, "a process that the agent leaves"]


def _versions(names: Sequence[str], absent: Mapping[str, str]) -> tuple[list[list[str]], list[str]]:
    harnesses = [CONTENDERS[name].harness for name in names]
    rows = [[each.name, each.version, absent.get(each.name) or each.about] for each in harnesses]
    return rows, ["", "version", "from"]


def _goals(goals: Sequence[Goal]) -> tuple[list[list[str]], list[str]]:
    rows = [
        [
            goal.name,
            bar_words(goal.bar, goal.unit),
            "could not be measured" if goal.value is None else amount(goal.value, goal.unit),
            "met" if goal.is_met else "missed",
        ]
        for goal in goals
    ]
    return rows, [RALPH, "goal", "measured", ""]


def system() -> str:
    """What the figures depend on, without a name of the machine."""
    node = shutil.which("node")
    ran = subprocess.run([node, "--version"], capture_output=True, text=True, check=False) if node else None
    words = f", node {ran.stdout.strip().removeprefix('v')}" if ran and ran.returncode == 0 else ""
    return f"{platform.system()}, {os.cpu_count()} cores, Python {platform.python_version()}{words}"
