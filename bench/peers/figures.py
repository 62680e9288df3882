"""From runs to figures: ratios to a baseline of the same run, which of them is best, and which goals ralph meets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import NamedTuple

from bench.child import CannotMeasure
from bench.peers.contenders import BARE, RALPH
from bench.peers.plays import Played
from bench.row import Bar, Row, Sense
from bench.stream_data import MEGABYTE


class Job(StrEnum):
    """What a contender is asked to do: one iteration, many of them, or to read a stream."""

    ONE = "one"
    MANY = "many"
    EVENTS = "events"
    RESULTS = "results"
    LINE = "line"


STREAMS = (Job.EVENTS, Job.RESULTS, Job.LINE)
PYTHON = "bare Python"
LOADS = "json.loads"
TOO_SHORT = "over before its memory could be read"
UNCLEAR = "lost in the noise: measure more"


class Figure(NamedTuple):
    """``raw`` is in the unit of its line, ``ratio`` how many times the baseline."""

    ratio: float
    raw: float


Cell = Figure | str
"""A figure, or why there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the table; ``baseline`` is in ``unit`` too."""

    key: str
    name: str
    unit: str
    baseline_name: str
    baseline: float
    cells: Mapping[str, Cell]
    is_more_better: bool = False
    is_difference: bool = False

    @property
    def best(self) -> str:
        """Of those that do something: the bare loop is the floor."""
        found = {
            name: cell.raw for name, cell in self.cells.items() if isinstance(cell, Figure) and name != BARE
        }
        choose = max if self.is_more_better else min
        return choose(found, key=found.__getitem__) if found else ""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """All runs. Times are of all rounds but the first, memory is of the first."""

    names: Sequence[str]
    many: Mapping[str, int]
    """Iterations of the job ``many``."""
    sizes: Mapping[Job, int]
    """Bytes of each stream."""
    titles: Mapping[Job, str]
    """What each stream is."""
    runs: Mapping[tuple[str, Job], Sequence[Played]]
    """By contender, or baseline, and job."""
    peaks: Mapping[tuple[str, Job], Played]
    problems: Mapping[tuple[str, Job], str]


def lines(measured: Measured) -> list[Line]:
    """Raises CannotMeasure if there is nothing to compare with."""
    needed = [
        (BARE, Job.ONE),
        (BARE, Job.MANY),
        (PYTHON, Job.ONE),
        (LOADS, Job.ONE),
        *((LOADS, job) for job in STREAMS),
    ]
    for who, job in needed:
        if not measured.runs.get((who, job)):
            reason = measured.problems.get((who, job), "not measured")
            message = f"there is nothing to compare with: {who}, {job}: {reason}"
            raise CannotMeasure(message)
    return [
        _iteration(measured, "iteration", "one iteration", lambda played: played.wall),
        _iteration(measured, "iteration CPU", "one iteration, CPU", lambda played: played.cpu),
        _start(measured, "exec", "start to the agent's exec", lambda played: played.to_exec),
        _start(measured, "run CPU", "a run of one iteration, CPU", lambda played: played.cpu),
        *(_speed(measured, job) for job in STREAMS),
        *(_memory(measured, job) for job in STREAMS),
    ]


def _iteration(measured: Measured, key: str, name: str, taken: Callable[[Played], float]) -> Line:
    """The difference of many iterations and one, round by round: the start-up is in both and cancels out."""

    def each(who: str) -> float:
        ones, manies = measured.runs[who, Job.ONE], measured.runs[who, Job.MANY]
        pairs = zip(ones, manies, strict=False)
        return 1000 * median((taken(many) - taken(one)) / (measured.many[who] - 1) for one, many in pairs)

    bare = each(BARE)

    def figure(who: str) -> Cell:
        found = each(who)
        return Figure(found / bare, found - bare) if found > 0 and bare > 0 else UNCLEAR

    return Line(
        key=key,
        name=name,
        unit="ms",
        baseline_name=BARE,
        baseline=bare,
        cells=_cells(measured, (Job.ONE, Job.MANY), figure),
        is_difference=True,
    )


def _start(measured: Measured, key: str, name: str, taken: Callable[[Played], float]) -> Line:
    def each(who: str) -> float:
        return 1000 * median(map(taken, measured.runs[who, Job.ONE]))

    python = [played.cpu if key == "run CPU" else played.wall for played in measured.runs[PYTHON, Job.ONE]]
    baseline = 1000 * median(python)
    return Line(
        key=key,
        name=name,
        unit="ms",
        baseline_name=PYTHON,
        baseline=baseline,
        cells=_cells(measured, (Job.ONE,), lambda who: Figure(each(who) / baseline, each(who))),
    )


def _speed(measured: Measured, job: Job) -> Line:
    size = measured.sizes[job] / MEGABYTE

    def speed(who: str, taken: Callable[[Played], float]) -> float:
        """Without what a session of three lines takes: start-up and end are in both. 0 if there is no difference."""
        whole, idle = measured.runs[who, job], measured.runs[who, Job.ONE]
        seconds = median(map(taken, whole)) - median(map(taken, idle))
        return size / seconds if seconds > 0 else 0.0

    baseline = speed(LOADS, lambda played: played.wall)

    def figure(who: str) -> Cell:
        found = speed(who, lambda played: played.since_exec)
        return Figure(found / baseline, found) if found and baseline else UNCLEAR

    return Line(
        key=job,
        name=measured.titles[job],
        unit="MB/s",
        baseline_name=LOADS,
        baseline=baseline,
        cells=_cells(measured, (Job.ONE, job), figure),
        is_more_better=True,
    )


def _memory(measured: Measured, job: Job) -> Line:
    baseline = measured.peaks[LOADS, job].tree / MEGABYTE

    def figure(who: str) -> Cell:
        found = measured.peaks[who, job].tree / MEGABYTE
        return Figure(found / baseline, found) if found and baseline else TOO_SHORT

    return Line(
        key=f"{job} memory",
        name=f"peak memory, {measured.titles[job]}",
        unit="MB",
        baseline_name=LOADS,
        baseline=baseline,
        cells=_cells(measured, (job,), figure),
    )


def _cells(measured: Measured, jobs: Sequence[Job], figure: Callable[[str], Cell]) -> dict[str, Cell]:
    """A contender that could not do a job says why."""

    def cell(who: str) -> Cell:
        for job in jobs:
            if not measured.runs.get((who, job)):
                return measured.problems.get((who, job), "not measured")
        return figure(who)

    return {who: cell(who) for who in measured.names}


class Goal(NamedTuple):
    """What ralph should reach. ``value`` is None if it could not be measured, which is no way to meet it."""

    name: str
    bar: Bar
    unit: str
    value: float | None

    @property
    def is_met(self) -> bool:
        return self.value is not None and self.bar.is_met(self.value)


ITERATION = Bar(2)
SPEEDS = {
    Job.EVENTS: Bar(150, Sense.AT_LEAST),
    Job.RESULTS: Bar(250, Sense.AT_LEAST),
    Job.LINE: Bar(200, Sense.AT_LEAST),
}
LINE_MEMORY = Bar(130)
MEMORY = Bar(40)


def goals(measured: Measured, found: Sequence[Line], starts: Sequence[Row]) -> list[Goal]:
    """ralph's own, set before any of these figures was known. ``starts`` are the rows of ``bench/startup.py``."""
    cells = {line.key: line.cells[RALPH] for line in found}

    def raw(key: str) -> float | None:
        cell = cells[key]
        return cell.raw if isinstance(cell, Figure) else None

    def highest(of: Callable[[Played], int], *jobs: Job) -> float | None:
        peaks = [of(measured.peaks[RALPH, job]) for job in jobs if (RALPH, job) in measured.peaks]
        return max(peaks) / MEGABYTE if len(peaks) == len(jobs) else None

    wanted = [Goal("an iteration over the bare loop", ITERATION, "ms", raw("iteration"))]
    wanted += [Goal(measured.titles[job], bar, "MB/s", raw(job)) for job, bar in SPEEDS.items()]
    ways: dict[str, Callable[[Played], int]] = {
        "all processes": lambda played: played.tree,
        "its largest process": lambda played: played.largest,
    }
    for words, of in ways.items():
        line, others = highest(of, Job.LINE), highest(of, Job.EVENTS, Job.RESULTS)
        wanted.append(Goal(f"peak memory on one line, {words}", LINE_MEMORY, "MB", line))
        wanted.append(Goal(f"peak memory on the other streams, {words}", MEMORY, "MB", others))
    wanted += [Goal(row.name, row.bar, row.compared_unit, row.compared) for row in starts if row.bar]
    return wanted
