"""``python -m bench.peers``: run ralph and its peers in turns with the same agent, and print the comparison as a page.

A peer that cannot be had, or fails, is a line that says so. The exit code is 1 only if ralph could not be measured.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import startup
from bench.child import CannotMeasure
from bench.faults.stage import CannotRunError
from bench.peers.contenders import BARE, CONTENDERS, RALPH
from bench.peers.figures import LOADS, PYTHON, STREAMS, Job, Measured, goals, lines
from bench.peers.habits import try_habits, write_habits
from bench.peers.new_files import LONGEST, wait_for_new_files
from bench.peers.page import render
from bench.peers.plays import Place, Played, build_agent, run_measured
from bench.project import python_program
from bench.row import Row
from bench.stream_data import MEGABYTE, write_idle, write_long_line, write_stream, write_tool_results
from bench.streams import BARE_PASS

MINUTES = 9.0
UNREAD = "reads no stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    events: int = 100_000
    results: int = 200 * MEGABYTE
    line: int = 50 * MEGABYTE
    rounds: int = 5
    start_rounds: int = startup.ROUNDS
    part: float = 1.0
    """Of each contender's iterations."""


SMALL = Sizes(events=2_000, results=2 * MEGABYTE, line=MEGABYTE, rounds=1, start_rounds=3, part=0.05)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.peers", description="Measure ralph beside its peers."
    )
    parser.add_argument("--harness", default="", help=f"with commas: {', '.join(CONTENDERS)}; none: all")
    parser.add_argument("--small", action="store_true", help="try it out: small streams, one round")
    parser.add_argument(
        "--minutes",
        type=float,
        default=MINUTES,
        help=f"begin no round that would end later (default: {MINUTES:g})",
    )
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the page to this file, too")
    given = parser.parse_args(arguments)
    wanted = [name for name in given.harness.split(",") if name] or list(CONTENDERS)
    unknown = [name for name in wanted if name not in CONTENDERS]
    if unknown:
        parser.error(f"unknown harness {unknown[0]}; known: {', '.join(CONTENDERS)}")
    names = [
        name for name in CONTENDERS if name in wanted or name == BARE
    ]  # without a floor there is no ratio
    try:
        page, is_measured = compare(names, SMALL if given.small else Sizes(), seconds=60 * given.minutes)
    except CannotMeasure as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    print(page, end="")
    if given.write:
        given.write.write_text(page)
    return 0 if is_measured or RALPH not in names else 1


def compare(names: Sequence[str], sizes: Sizes, *, seconds: float) -> tuple[str, bool]:
    """The page, and whether ralph was measured in all that it does."""
    if sys.platform != "linux":
        message = "memory and CPU of a tree of processes can only be read on Linux"
        raise CannotMeasure(message)
    present, absent = install(names)
    with tempfile.TemporaryDirectory(prefix="ralph-peers-") as temporary:
        folder = Path(temporary).resolve()
        agent = build_agent(folder)
        places = {name: Place(CONTENDERS[name], folder / name, agent) for name in present}
        habit = folder / "habits.ndjson"
        write_habits(habit)
        habits = {name: try_habits(place, habit) for name, place in places.items()}
        dear = wait_for_new_files([place.folder for place in places.values()], longest=min(seconds, LONGEST))
        began = time.monotonic()
        starts: list[Row] = startup.measure(folder, rounds=sizes.start_rounds) if RALPH in present else []
        measured, rounds, failures = take(places, folder, agent, sizes, deadline=began + seconds)
    found = lines(measured)
    page = render(
        found=found,
        habits=habits,
        goals=goals(measured, found, starts) if RALPH in present else (),
        names=present,
        absent=absent,
        failures=[*failures, dear] if dear else failures,
        rounds=rounds,
        seconds=time.monotonic() - began,
    )
    return page, all(measured.runs.get((RALPH, job)) for job in Job)


def install(names: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    present, absent = [], {}
    for name in names:
        say(f"installing {name} …")
        try:
            CONTENDERS[name].harness.install()
        except (CannotRunError, OSError, subprocess.SubprocessError) as error:
            absent[name] = f"could not be had: {' '.join(str(error).split())[:120]}"
        else:
            present.append(name)
    return present, absent


def take(
    places: Mapping[str, Place], folder: Path, agent: Path, sizes: Sizes, *, deadline: float
) -> tuple[Measured, int, list[str]]:
    """A B C A B C …: all of them, then the next round. The first measures memory, which takes time of its own."""
    streams = {job: folder / f"{job}.ndjson" for job in STREAMS}
    written = {
        Job.EVENTS: write_stream(streams[Job.EVENTS], events=sizes.events),
        Job.RESULTS: write_tool_results(streams[Job.RESULTS], size=sizes.results),
        Job.LINE: write_long_line(streams[Job.LINE], size=sizes.line, speaker="user"),
    }
    many = {name: max(3, round(sizes.part * CONTENDERS[name].many)) for name in places}
    runs: defaultdict[tuple[str, Job], list[Played]] = defaultdict(list)
    peaks: dict[tuple[str, Job], Played] = {}
    problems = {
        (name, job): UNREAD for name, place in places.items() for job in STREAMS if not place.contender.reads
    }
    failures: list[str] = []
    lasted, rounds = 0.0, 0
    for number in range(sizes.rounds + 1):
        began = time.monotonic()
        if number > 1 and began + lasted > deadline:
            break
        for job in Job:
            plays = {**_baselines(job, folder, agent, streams), **_contenders(job, places, many, streams)}
            for name, play in plays.items():
                if (name, job) in problems:
                    continue
                say(f"round {number} of {sizes.rounds}: {name}, {job}")
                try:
                    played = play(number == 0)
                except (CannotMeasure, OSError, subprocess.SubprocessError) as error:
                    if runs[name, job]:
                        failures.append(f"{name}, {job}: failed once: {error}.")
                    else:
                        problems[name, job] = str(error)
                    continue
                if number:
                    runs[name, job].append(played)
                else:
                    peaks[name, job] = played
        rounds, lasted = number, time.monotonic() - began
    titles = {
        Job.EVENTS: f"{sizes.events:,} short events, {written[Job.EVENTS] / MEGABYTE:.0f} MB",
        Job.RESULTS: f"tool results, {written[Job.RESULTS] / MEGABYTE:.0f} MB",
        Job.LINE: f"one line of {written[Job.LINE] / MEGABYTE:.0f} MB",
    }
    measured = Measured(
        names=list(places),
        many=many,
        sizes=written,
        titles=titles,
        runs=runs,
        peaks=peaks,
        problems=problems,
    )
    return measured, rounds, failures


Play = Callable[[bool], Played]


def _contenders(
    job: Job, places: Mapping[str, Place], many: Mapping[str, int], streams: Mapping[Job, Path]
) -> dict[str, Play]:
    def play(place: Place) -> Play:
        iterations = many[place.contender.name] if job == Job.MANY else 1
        return lambda is_sampled: place.play(iterations, stream=streams.get(job), is_sampled=is_sampled)

    return {name: play(place) for name, place in places.items()}


def _baselines(job: Job, folder: Path, agent: Path, streams: Mapping[Job, Path]) -> dict[str, Play]:
    """Measured like any contender."""
    idle = folder / "idle.ndjson"
    if not idle.exists():
        write_idle(idle)

    def python(code: str, *arguments: str) -> Play:
        return lambda is_sampled: run_measured(
            [python_program(), "-c", code, *arguments],
            cwd=folder,
            environment={},
            agent=agent,
            output=folder / "output",
            is_sampled=is_sampled,
        )

    if job == Job.MANY:
        return {}
    loads = {LOADS: python(BARE_PASS, str(streams.get(job, idle)))}
    return {PYTHON: python("pass"), **loads} if job == Job.ONE else loads


def say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
