"""What a job does next, and what becomes of it."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.fleet import steps
from ralph.domain.fleet.job import JobSpec
from ralph.domain.fleet.names import ANY_QUEUE, label_queue, worker_queue
from ralph.domain.fleet.progress import JobProgress, Phase
from ralph.domain.fleet.shift import Beat, ShiftEnd, Steer
from ralph.domain.fleet.steps import (
    AwaitNeeds,
    AwaitTurn,
    AwaitUnpause,
    DoShift,
    Fault,
    Finish,
    Sleep,
    Step,
)

SPEC = JobSpec(id="j", repository="r", base="main", heartbeat=30.0)
NOW = 1_000.0


def ended(turn: int = 1, **more: object) -> ShiftEnd:
    return replace(ShiftEnd(turn=turn, worker="w", want="session"), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("progress", "step"),
    [
        (JobProgress(), DoShift(ANY_QUEUE, None)),
        (JobProgress(worker="w"), DoShift(worker_queue("w"), 5.0)),
        (JobProgress(worker="w", faults=1), DoShift(worker_queue("w"), 15.0)),
        (JobProgress(unmet=("a",), is_paused=True), AwaitNeeds()),
        (JobProgress(is_paused=True, until=NOW + 9), AwaitUnpause()),
        (JobProgress(until=NOW + 9), Sleep(9.0)),
        (JobProgress(until=NOW), DoShift(ANY_QUEUE, None)),
        (JobProgress(last=ended(want="merge")), AwaitTurn()),
        (JobProgress(last=ended(want="merge"), may_merge=True), DoShift(ANY_QUEUE, None)),
        (JobProgress(phase=Phase.ENDED, is_paused=True, unmet=("a",)), Finish()),
    ],
)
def test_what_is_next(progress: JobProgress, step: Step) -> None:
    assert steps.next_step(SPEC, progress, NOW) == step


def test_labels_choose_the_queue() -> None:
    step = steps.next_step(replace(SPEC, labels=("b", "a")), JobProgress(), NOW)
    assert step == DoShift(label_queue(["a", "b"]), None)


def test_a_shift_that_ended_well_clears_what_was_carried_to_it() -> None:
    before = JobProgress(
        turn=3, waited=9.0, lost_cost=1.0, lost_tokens=5, lost_shifts=1, faults=2, resumes=True,
        notes=(Steer(number=1, text="a"), Steer(number=2, text="b")),
    )  # fmt: skip
    after = steps.after_shift(before, ended(4, heard=1), NOW)
    assert (after.turn, after.worker, after.waited, after.lost_cost, after.lost_tokens) == (
        4,
        "w",
        0.0,
        0.0,
        0,
    )
    assert (after.lost_shifts, after.faults, after.resumes) == (1, 0, False)
    assert [note.text for note in after.notes] == ["b"]


def test_a_wait_of_the_run_counts_and_a_wait_for_a_machine_does_not() -> None:
    after = steps.after_shift(JobProgress(), ended(want="wait", seconds=60.0, reason="limit"), NOW)
    assert (after.until, after.reason) == (NOW + 60, "limit")
    waiting = steps.entered(after, Sleep(60.0), NOW)
    assert waiting.phase is Phase.WAITING
    shift = steps.entered(waiting, DoShift("q", None), NOW + 61)
    assert steps.order_of(SPEC, shift).waited == 61.0
    fault = steps.after_fault(shift, Fault(kind="ServiceAway", message="away", exit_code=5), NOW + 70)
    assert fault.until == NOW + 75
    again = steps.entered(steps.entered(fault, Sleep(5.0), NOW + 70), DoShift("q", None), NOW + 75)
    assert again.waited == 61.0
    assert again.reason == "away"


def test_a_pause_counts_once_the_run_has_begun() -> None:
    for turn, waited in ((0, 0.0), (2, 30.0)):
        paused = steps.entered(JobProgress(turn=turn, is_paused=True), AwaitUnpause(), NOW)
        assert steps.entered(paused, DoShift("q", None), NOW + 30).waited == waited


def test_a_shift_that_could_not_begin_changes_nothing_but_when_to_try_again() -> None:
    before = JobProgress(turn=3, last=ended(3, iteration=3), waited=4.0)
    end = ShiftEnd(turn=3, worker="w", want="wait", seconds=20.0, reason="all 3 places are taken")
    after = steps.after_shift(before, end, NOW)
    assert after == replace(before, worker="w", until=NOW + 20, reason="all 3 places are taken")


def test_a_busy_worker_is_left() -> None:
    before = JobProgress(turn=3, worker="w")
    assert steps.after_shift(before, ShiftEnd(turn=3, worker="w", busy=True), NOW) == replace(
        before, worker=""
    )


def test_a_lost_session_is_looked_for_where_it_was_and_what_it_spent_is_carried() -> None:
    after = steps.after_loss(JobProgress(turn=3), Beat(worker="w", cost=0.5, tokens=7), NOW)
    assert (after.turn, after.worker, after.lost_cost, after.lost_tokens, after.lost_shifts) == (
        3,
        "w",
        0.5,
        7,
        1,
    )
    assert steps.next_step(SPEC, after, NOW) == DoShift(worker_queue("w"), 15.0)
    assert steps.farewell_after(SPEC.heartbeat) > 15.0


def test_a_job_that_takes_down_its_workers_waits_longer_each_time() -> None:
    progress = JobProgress()
    delays = []
    for _ in range(12):
        progress = steps.after_loss(progress, Beat(), NOW)
        delays.append(progress.until - NOW)
    assert delays[:5] == [0.0, 0.0, 5.0, 10.0, 20.0]
    assert delays[-1] == 300.0


@pytest.mark.parametrize(
    ("fault", "outcome", "exit_code"),
    [
        (Fault(kind="UsageError", message="m", exit_code=2), "failed", 2),
        (Fault(kind="ServiceRefused", message="m", exit_code=4), "failed", 4),
        (Fault(kind="FleetSpent", message="m"), "exhausted", 1),
        (Fault(kind="ServiceAway", message="m", exit_code=5), "", None),
        (Fault(kind="OtherVersion", message="m", exit_code=2), "", None),
        (Fault(kind="KeyError", message="m", exit_code=3), "", None),
        (Fault(kind="Fenced", message="m"), "", None),
        (Fault(kind="WorkerLeft", message="m"), "", None),
    ],
)
def test_faults(fault: Fault, outcome: str, exit_code: int | None) -> None:
    after = steps.after_fault(JobProgress(turn=1, worker="w"), replace(fault, hint="h", cost=0.5), NOW)
    assert (after.last.outcome, after.last.exit_code) == (outcome, exit_code)
    assert (after.phase is Phase.ENDED) == bool(outcome)
    assert (after.worker, after.reason, after.turn, after.lost_cost) == ("", "m", 1, 0.5)
    if outcome:
        assert after.last.hint == "h"


def test_a_fault_in_ralph_ends_the_job_after_some_tries_and_another_machines_never() -> None:
    for kind, exit_code, outcome in (("KeyError", 3, "failed"), ("ServiceAway", 5, "")):
        progress = JobProgress()
        for _ in range(steps.MANY_BUGS):
            progress = steps.after_fault(progress, Fault(kind=kind, message="m", exit_code=exit_code), NOW)
        assert progress.last.outcome == outcome


def test_whoever_waits_gives_up_the_turn_to_merge() -> None:
    holder = JobProgress(may_merge=True, last=ended(want="merge"))
    assert steps.after_loss(holder, Beat(), NOW).may_merge
    assert steps.after_shift(holder, ended(2, want="merge"), NOW).may_merge
    assert not steps.after_shift(holder, ended(2, want="session"), NOW).may_merge
    assert not steps.after_fault(holder, Fault(kind="ServiceAway", message="m", exit_code=5), NOW).may_merge
    assert not steps.entered(holder, AwaitUnpause(), NOW).may_merge
    assert not steps.entered(holder, Sleep(5.0), NOW).may_merge


def test_needs() -> None:
    progress = steps.begin(replace(SPEC, needs=("a", "b", "c")), JobProgress(), NOW)
    assert progress.unmet == ("a", "b", "c")
    progress = steps.after_look(progress, {"a": "merged", "b": "open", "c": "gone"})
    assert (progress.unmet, progress.reason) == (
        ("b", "c"), "c is not on the server: retry it, or stop this job"
    )  # fmt: skip
    progress = steps.after_needed(progress, "c", is_merged=True)
    assert (progress.unmet, progress.reason) == (("b",), "waits for b")
    progress = steps.after_needed(progress, "b", is_merged=False)
    assert progress.unmet == ("b",)
    assert "b has ended without being merged" in progress.reason
    assert steps.after_needed(progress, "b", is_merged=True).unmet == ()


def test_a_stop_between_shifts_ends_it_and_a_retry_continues_it() -> None:
    stopped = steps.after_stop(JobProgress(turn=4, last=ended(4, iteration=4), is_paused=True), NOW)
    assert (stopped.phase, stopped.last.outcome, stopped.last.exit_code) == (Phase.ENDED, "cancelled", 130)
    again = steps.again(stopped)
    assert (again.turn, again.last.iteration, again.last.outcome, again.resumes) == (4, 4, "", True)
    assert steps.next_step(SPEC, steps.begin(SPEC, again, NOW), NOW) == DoShift(ANY_QUEUE, None)


def test_a_job_that_was_stopped_before_it_began_keeps_what_it_needs() -> None:
    spec = replace(SPEC, needs=("a",))
    again = steps.again(steps.after_stop(steps.begin(spec, JobProgress(), NOW), NOW))
    assert steps.next_step(spec, steps.begin(spec, again, NOW), NOW) == AwaitNeeds()


def test_what_others_wait_for() -> None:
    done = JobProgress(last=ended(outcome="completed"))
    assert steps.is_merged(SPEC, done)
    task = replace(SPEC, task="{}")
    assert not steps.is_merged(task, done)
    assert steps.is_merged(task, JobProgress(last=ended(outcome="completed", merged="c0ffee")))
    assert not steps.is_merged(SPEC, JobProgress(last=ended(outcome="failed")))


@given(st.lists(st.text(max_size=40_000), max_size=30))
def test_notes_stay_small_and_the_newest_stay(texts: list[str]) -> None:
    progress = JobProgress()
    for text in texts:
        progress = steps.steered(progress, text)
    assert sum(len(note.text.encode()) for note in progress.notes) <= steps.LONGEST_NOTES
    assert progress.notes_given == len(texts)
    if texts:
        newest = progress.notes[-1]
        assert newest.number == len(texts)
        assert texts[-1].startswith(newest.text)
        assert newest.text == texts[-1] or len(newest.text.encode()) > steps.LONGEST_NOTE - 4


ends = st.builds(
    ShiftEnd,
    turn=st.integers(0, 6),
    worker=st.sampled_from(["", "a", "b"]),
    want=st.sampled_from(["session", "wait", "merge", ""]),
    seconds=st.floats(0, 100),
    outcome=st.sampled_from(["", "", "", "completed", "failed"]),
    busy=st.booleans(),
)
happenings = st.one_of(
    ends,
    st.builds(Beat, worker=st.sampled_from(["", "a"]), cost=st.floats(0, 10)),
    st.builds(Fault, kind=st.sampled_from(["UsageError", "ServiceAway", "KeyError", "Fenced", "WorkerLeft"]),
              message=st.just("m"), cost=st.floats(0, 10)),
)  # fmt: skip


@given(st.lists(happenings, max_size=30), st.floats(0, 1000))
def test_whatever_happens_time_and_turns_never_go_back(things: list[object], passed: float) -> None:
    progress, now = steps.begin(SPEC, JobProgress(), NOW), NOW
    for thing in things:
        step = steps.next_step(SPEC, progress, now)
        if isinstance(step, Finish):
            break
        before = progress = steps.entered(progress, step, now)
        if isinstance(step, Sleep):
            now = progress.until
            continue
        if isinstance(step, AwaitTurn):
            progress = replace(progress, may_merge=True)
            continue
        now += passed
        if isinstance(thing, ShiftEnd):
            progress = steps.after_shift(progress, thing, now)
        elif isinstance(thing, Beat):
            progress = steps.after_loss(progress, thing, now)
        elif isinstance(thing, Fault):
            progress = steps.after_fault(progress, thing, now)
        assert progress.turn >= before.turn
        assert progress.waited >= 0
        spent = progress.lost_cost >= before.lost_cost or progress.turn > before.turn
        assert spent
        assert progress.phase is not Phase.ENDED or progress.last.outcome


@given(happenings)
def test_what_comes_back_without_its_type_is_read(thing: object) -> None:
    if isinstance(thing, Beat):
        assert steps.read_beat([asdict(thing)]) == thing
    if isinstance(thing, Fault):
        assert steps.read_fault([asdict(thing)], kind="k", message="m") == thing
    assert steps.read_beat([]) == steps.read_beat(["?"]) == Beat()
    assert steps.read_fault([], kind="k", message="m") == Fault(kind="k", message="m")
