"""Runs below the runs that started them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.views.runs import RunState, RunView, branch, run_tree


def run(name: str, parent: str = "", *, started: float = 0.0) -> RunView:
    return RunView(
        id=name,
        profile="supervised",
        agent="a",
        root="/p",
        state=RunState.RUNNING,
        live=True,
        iteration=1,
        maximum=None,
        cost_usd=None,
        tokens=0,
        last_check=None,
        started_at=started,
        active_at=0.0,
        ended_at=None,
        waits_until=None,
        reason="",
        parent_id=parent,
    )


def drawn(*runs: RunView) -> list[str]:
    return [branch(row.last) + row.run.id for row in run_tree(runs)]


def test_children_stand_below_their_parent_in_the_order_they_were_started() -> None:
    runs = (
        run("b", "root", started=2),
        run("other"),
        run("root"),
        run("a", "root", started=1),
        run("a1", "a"),
    )
    assert drawn(*runs) == ["other", "root", "├─ a", "│  └─ a1", "└─ b"]


def test_a_run_whose_parent_is_not_shown_is_a_root() -> None:
    assert drawn(run("child", "gone")) == ["child"]


def test_lines_can_be_drawn_in_plain_characters() -> None:
    assert branch((False, True), ascii_only=True) == "|  `- "


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=12, unique_by=lambda pair: pair[0]))
def test_every_run_is_shown_once_also_in_a_circle(pairs: list[tuple[int, int]]) -> None:
    runs = [run(f"r{own}", f"r{parent}") for own, parent in pairs]
    assert sorted(row.run.id for row in run_tree(runs)) == sorted(each.id for each in runs)
