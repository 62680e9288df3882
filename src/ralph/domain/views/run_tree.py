"""Runs and the runs they started, as a tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ralph.domain.views.runs import RunView


@dataclass(frozen=True, slots=True)
class TreeRow:
    """``last`` says for each level, the row's own included, whether nothing follows there: what lines to draw."""

    run: RunView
    last: tuple[bool, ...] = ()

    @property
    def depth(self) -> int:
        return len(self.last)


def run_tree(runs: Sequence[RunView]) -> list[TreeRow]:
    """Each run below the one that started it; roots keep their order, children go by their start.

    One whose parent is not among ``runs`` is a root; of a circle, which only damage makes, each is shown once.
    """
    known = {run.id for run in runs}
    children: dict[str, list[RunView]] = {}
    for run in sorted(runs, key=lambda run: (run.started_at, run.id)):
        children.setdefault(run.parent_id, []).append(run)
    shown: set[str] = set()
    rows: list[TreeRow] = []
    roots = [run for run in runs if run.parent_id not in known]
    for root in (*roots, *runs):
        if root.id not in shown:
            rows += _below(root, (), children, shown)
    return rows


def _below(
    top: RunView, last: tuple[bool, ...], children: dict[str, list[RunView]], shown: set[str]
) -> Iterator[TreeRow]:
    # A stack and no recursion: children may have children as deep as somebody likes.
    waiting = [(top, last)]
    while waiting:
        run, last = waiting.pop()
        if run.id in shown:
            continue
        shown.add(run.id)
        yield TreeRow(run, last)
        below = [child for child in children.get(run.id, ()) if child.id not in shown]
        waiting += [(child, (*last, place == 0)) for place, child in enumerate(reversed(below))]


def branch(last: tuple[bool, ...], *, ascii_only: bool = False) -> str:
    """The lines before a row."""
    if not last:
        return ""
    pipe, fork, corner = ("|  ", "|- ", "`- ") if ascii_only else ("│  ", "├─ ", "└─ ")
    return "".join("   " if end else pipe for end in last[:-1]) + (corner if last[-1] else fork)
