"""``python -m bench.faults``: play acts against harnesses, print the table, and write each cell with its evidence.

The exit code is 1 if ralph fails a cell, and 0 otherwise: what others do is no failure of ours.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from bench.faults.acts import Act, Promise
from bench.faults.harness import Harness
from bench.faults.harnesses import HARNESSES, REFERENCES
from bench.faults.judge import Cell, Result, play
from bench.faults.lies import ACTS
from bench.faults.stage import CannotRunError
from bench.faults.table import as_text, by_act, by_promise, grid, read, write
from bench.table import as_markdown


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.faults",
        description="Play hostile acts against harnesses, and judge from outside what they make of them.",
        epilog="Examples: --harness ralphy --act lie-claim   --harness ralph,naive --act lie,hang   --list",
    )
    known = ", ".join([*HARNESSES, *REFERENCES])
    parser.add_argument(
        "--harness", default="", help=f"one or more, with commas: {known}; none: all peers that can be had"
    )
    parser.add_argument("--act", default="", help="acts, beginnings of their names, or 'quick'; none: all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="add the cells to this file")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep what each cell left behind")
    parser.add_argument("--parallel", type=int, default=2, metavar="N", help="cells at a time (default: 2)")
    parser.add_argument(
        "--markdown", action="store_true", help="print the tables of --json as Markdown, and run nothing"
    )
    parser.add_argument("--list", action="store_true", help="list the acts and what they do, and run nothing")
    given = parser.parse_args(arguments)
    if given.list:
        for act in ACTS.values():
            print(f"{act.id:18} {act.promise}: {act.does} (right: {act.judgement})")
        return 0
    earlier = read(given.json) if given.json else {"harnesses": {}, "cells": []}
    if given.markdown:
        show(earlier["cells"], list(earlier["harnesses"]), markdown=True)
        return 0
    try:
        harnesses, acts = _harnesses(given.harness), _acts(given.act)
    except LookupError as error:
        parser.error(str(error.args[0]))
    cells: list[Cell] = []
    told = {**earlier["harnesses"]}
    for harness, cell in run(harnesses, acts, parallel=given.parallel, keep=given.keep):
        cells.append(cell)
        told[harness.name] = about(harness)
        if given.json:  # at once: an interrupted run keeps what it has
            write(given.json, told, grid([*earlier["cells"], *cells]))
    show(cells, [harness.name for harness in harnesses])
    return 1 if any(cell.harness == "ralph" and cell.result is Result.FAILS for cell in cells) else 0


def _harnesses(names: str) -> list[Harness]:
    known = {**HARNESSES, **REFERENCES}
    wanted = [name for name in names.split(",") if name] or list(HARNESSES)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise LookupError(f"unknown harness {unknown[0]}; known: {', '.join(known)}")
    return [known[name] for name in wanted]


def _acts(names: str) -> list[Act]:
    wanted = [name for name in names.split(",") if name]
    for name in wanted:
        if name != "quick" and not any(act.startswith(name) for act in ACTS):
            raise LookupError(f"unknown act {name}; `python -m bench.faults --list` lists them")
    return [
        act
        for act in ACTS.values()
        if not wanted or any(act.id.startswith(name) or (name == "quick" and act.quick) for name in wanted)
    ]


def run(
    harnesses: Iterable[Harness], acts: Sequence[Act], *, parallel: int, keep: Path | None
) -> Iterator[tuple[Harness, Cell]]:
    """A harness that cannot be had gets a line, and the others go on."""
    began = time.monotonic()
    for harness in harnesses:
        try:
            harness.install()
        except CannotRunError as error:
            print(f"{harness.name}: could not run: {error}", file=sys.stderr, flush=True)
            for act in acts:
                yield harness, Cell(harness.name, act.id, act.promise, Result.COULD_NOT_RUN, str(error))
            continue
        chosen = [
            act
            for act in acts
            if not harness.only or act.id in harness.only or act.promise is not Promise.LIES
        ]
        with ThreadPoolExecutor(max_workers=min(parallel, harness.parallel)) as pool:
            waiting = [pool.submit(play, harness, act, keep=keep) for act in chosen]
            try:
                for future in as_completed(waiting):
                    cell = future.result()
                    words = f"{cell.harness:18} {cell.act:18} {cell.result:14} {cell.evidence}"
                    print(f"{time.monotonic() - began:5.0f} s  {words}", file=sys.stderr, flush=True)
                    yield harness, cell
            except (KeyboardInterrupt, GeneratorExit):
                pool.shutdown(cancel_futures=True)  # what is under way ends and is cleared away
                raise


def about(harness: Harness) -> dict[str, object]:
    claims = {promise.value: words for promise, words in harness.claims.items()}
    told: dict[str, object] = {
        "version": harness.version,
        "about": harness.about,
        "settings": harness.settings,
        "claims": claims,
    }
    return {**told, "only": list(harness.only)} if harness.only else told


def show(cells: Iterable[Cell], harnesses: Sequence[str], *, markdown: bool = False) -> None:
    render, found = as_markdown if markdown else as_text, grid(cells)
    print("\n".join(render(by_promise(found, harnesses), ["", *harnesses])))
    print()
    print("\n".join(render(by_act(found, harnesses), ["act", *harnesses])))


if __name__ == "__main__":
    sys.exit(main())
