"""The table of ``make faults``: what an agent does, by kind of loop, under the promise that it attacks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

KINDS = ("run", "promise", "supervise", "work", "plan")
OK, FAILED, NONE = "ok", "FAILED", "-"


@dataclass(frozen=True)
class Cell:
    """One real run, or the reason why there is none."""

    promise: str
    act: str
    kind: str
    result: str
    place: int = 0
    seconds: float = 0.0
    reason: str = ""


def as_json(cells: Iterable[Cell]) -> dict[str, Any]:
    """Promise, then act, then kind of loop."""
    told: dict[str, Any] = {}
    for cell in cells:
        entry = {"result": cell.result, "seconds": round(cell.seconds, 2), "reason": cell.reason}
        told.setdefault(cell.promise, {}).setdefault(cell.act, {})[cell.kind] = entry
    return told


def as_table(cells: Iterable[Cell]) -> list[str]:
    """A row per act; below it why some cells are empty."""
    rows = _rows(cells)
    acts = [act for row in rows.values() for act in row]
    width = max(map(len, [*acts, *rows]), default=0) + 4
    lines = [" " * width + " ".join(f"{kind:9}" for kind in KINDS).rstrip()]
    reasons: list[str] = []
    for promise, by_act in rows.items():
        lines += ["", promise]
        for act, by_kind in by_act.items():
            shown = []
            for kind in KINDS:
                cell = by_kind.get(kind)
                text = cell.result if cell else ""
                if cell and cell.result == NONE and cell.reason:
                    if cell.reason not in reasons:
                        reasons.append(cell.reason)
                    text = f"{NONE} {reasons.index(cell.reason) + 1}"
                shown.append(f"{text:9}")
            lines.append(f"  {act:{width - 2}}{' '.join(shown)}".rstrip())
    if reasons:
        lines += ["", *(f"- {number}: {reason}" for number, reason in enumerate(reasons, 1))]
    counts = {result: sum(cell.result == result for cell in _all(rows)) for result in (OK, FAILED, NONE)}
    lines += ["", f"{counts[OK]} ok, {counts[FAILED]} failed, {counts[NONE]} do not apply"]
    return lines


def _rows(cells: Iterable[Cell]) -> Mapping[str, Mapping[str, Mapping[str, Cell]]]:
    """Two runs of one cell are one cell, which is as good as the worse of them."""
    rows: dict[str, dict[str, dict[str, Cell]]] = {}
    for cell in cells:
        by_kind = rows.setdefault(cell.promise, {}).setdefault(cell.act, {})
        if cell.kind not in by_kind or cell.result == FAILED:
            by_kind[cell.kind] = cell
    return rows


def _all(rows: Mapping[str, Mapping[str, Mapping[str, Cell]]]) -> list[Cell]:
    return [cell for by_act in rows.values() for by_kind in by_act.values() for cell in by_kind.values()]
