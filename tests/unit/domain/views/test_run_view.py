"""Which state a run is in, which run is meant, which runs may go."""

from __future__ import annotations

import pytest

from ralph.domain.views.runs import (
    RunState,
    RunView,
    match_runs,
    removable_runs,
    sort_runs,
    state_of,
)


def run(name: str, *, live: bool = False, started_at: float = 0.0, active_at: float = 0.0) -> RunView:
    return RunView(
        id=name,
        profile="basic",
        agent="claude",
        root="/project",
        state=RunState.RUNNING if live else RunState.COMPLETED,
        live=live,
        iteration=1,
        maximum=None,
        cost_usd=None,
        tokens=0,
        last_check=None,
        started_at=started_at,
        active_at=active_at,
        ended_at=None,
        waits_until=None,
        reason="",
    )


@pytest.mark.parametrize(
    ("outcome", "facts", "state"),
    [
        (None, {"alive": True, "in_session": True}, RunState.RUNNING),
        (None, {"alive": True}, RunState.RUNNING),
        (None, {"alive": True, "in_session": True, "paused": True}, RunState.RUNNING),
        (None, {"alive": True, "paused": True}, RunState.PAUSED),
        (None, {"alive": True, "paused": True, "waits": True}, RunState.PAUSED),
        (None, {"alive": True, "waits": True}, RunState.WAITING),
        (None, {"alive": False}, RunState.INTERRUPTED),
        (None, {"alive": False, "in_session": True, "paused": True, "waits": True}, RunState.INTERRUPTED),
        ("completed", {"alive": False}, RunState.COMPLETED),
        ("completed", {"alive": True}, RunState.COMPLETED),
        ("exhausted", {"alive": False}, RunState.EXHAUSTED),
        ("waiting", {"alive": False}, RunState.WAITING),
        ("cancelled", {"alive": False}, RunState.CANCELLED),
        ("failed", {"alive": False}, RunState.FAILED),
        ("of a newer ralph", {"alive": False}, RunState.FAILED),
        ("interrupted", {"alive": False}, RunState.FAILED),
    ],
)
def test_the_state_follows_from_outcome_and_process(
    outcome: str | None, facts: dict[str, bool], state: RunState
) -> None:
    assert state_of(outcome, **facts) is state


def test_live_runs_come_first_and_are_never_left_out() -> None:
    runs = [run(f"old-{n}", started_at=n) for n in range(5)]
    runs += [run("first", live=True, started_at=-2), run("second", live=True, started_at=-1)]
    assert [found.id for found in sort_runs(runs, limit=3)] == ["second", "first", "old-4"]
    assert [found.id for found in sort_runs(runs, limit=1)] == ["second", "first"]
    assert len(sort_runs(runs)) == 7


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("20250101-a", ["20250101-a"]),
        ("20250102", ["20250102-b"]),
        ("-a", ["20250101-a"]),
        ("2025", ["20250102-b", "20250101-a"]),
        ("0101", []),
        ("", []),
    ],
)
def test_a_run_is_meant_by_its_beginning_or_its_end(reference: str, found: list[str]) -> None:
    assert match_runs(reference, ["20250102-b", "20250101-a"]) == found


def test_a_whole_name_means_itself_even_if_others_begin_with_it() -> None:
    assert match_runs("run-1", ["run-12", "run-1"]) == ["run-1"]


def test_pruning_keeps_the_newest_and_whatever_is_alive() -> None:
    runs = [run(f"run-{n}", started_at=n, active_at=n) for n in range(5)]
    runs.append(run("alive", live=True, started_at=-1, active_at=-1))
    assert [gone.id for gone in removable_runs(runs, keep=2)] == ["run-2", "run-1", "run-0"]
    assert [gone.id for gone in removable_runs(runs, keep=2, active_before=1.5)] == ["run-1", "run-0"]
    assert [gone.id for gone in removable_runs(runs, keep=0, active_before=0.5)] == ["run-0"]
