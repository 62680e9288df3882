"""Cells as a table of promises by harness, as a page of every act, and as JSON that later runs add to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.faults.acts import Promise
from bench.faults.judge import Cell, Result
from bench.faults.lies import ACTS

SHORT = {
    Result.HOLDS: "holds",
    Result.FAILS: "FAILS",
    Result.NOT_CLAIMED: "not claimed",
    Result.NOT_APPLICABLE: "-",
    Result.COULD_NOT_RUN: "could not run",
}
Grid = Mapping[str, Mapping[str, Cell]]
"""By act, then by harness."""


def grid(cells: Iterable[Cell]) -> Grid:
    """In the order of the acts; of two runs of a cell the later counts."""
    found: dict[str, dict[str, Cell]] = {name: {} for name in ACTS}
    for cell in cells:
        found[cell.act][cell.harness] = cell
    return {name: row for name, row in found.items() if row}


def by_promise(cells: Grid, harnesses: Sequence[str]) -> list[list[str]]:
    """How many acts hold, of those that were run; then what the others are."""
    rows = []
    for promise in Promise:
        acts = [row for name, row in cells.items() if ACTS[name].promise is promise]
        if acts:
            rows.append(
                [promise.value, *(_summary([row[name] for row in acts if name in row]) for name in harnesses)]
            )
    return rows


def _summary(cells: Sequence[Cell]) -> str:
    ran = [cell for cell in cells if cell.result in (Result.HOLDS, Result.FAILS, Result.NOT_CLAIMED)]
    if not ran:
        return SHORT[cells[0].result] if cells else ""
    held = sum(cell.result is Result.HOLDS for cell in ran)
    if held == len(ran):
        return f"{held} of {len(ran)}"
    failed = any(cell.result is Result.FAILS for cell in ran)
    return f"{held} of {len(ran)} {'FAILS' if failed else 'not claimed'}"


def by_act(cells: Grid, harnesses: Sequence[str]) -> list[list[str]]:
    return [
        [name, *(SHORT[row[harness].result] if harness in row else "" for harness in harnesses)]
        for name, row in cells.items()
    ]


def as_text(rows: Sequence[Sequence[str]], headings: Sequence[str]) -> list[str]:
    table = [headings, *rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(headings))]
    return [
        "  ".join(f"{text:{width}}" for text, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]


def read(path: Path) -> dict[str, Any]:
    """What earlier runs wrote; none is an empty document."""
    document = json.loads(path.read_text()) if path.exists() else {"harnesses": {}, "cells": []}
    return {
        **document,
        "cells": [Cell(**{**cell, "result": Result(cell["result"])}) for cell in document["cells"]],
    }


def write(path: Path, harnesses: Mapping[str, Any], cells: Grid) -> None:
    """One cell per line, so that a difference between two runs can be read."""
    listed = [cell for row in cells.values() for cell in row.values()]
    lines = ",\n".join(f"  {json.dumps(cell.as_json(), ensure_ascii=False)}" for cell in listed)
    told = json.dumps(harnesses, indent=1, ensure_ascii=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'{{"harnesses": {told},\n "cells": [\n{lines}\n ]}}\n')
