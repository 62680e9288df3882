"""What a job does next, and what becomes of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.fleet import steps
from ralph.domain.fleet.job import JobSpec
from ralph.domain.fleet.progress import JobProgress, MergeTurn, Phase
from ralph.domain.fleet.queues import ANY_QUEUE, label_queue, worker_queue
from ralph.domain.fleet.shift import LONGEST_WAIT, Beat, ShiftEnd, ShiftOrder, Steer, answers, sane
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
        (JobProgress(last=ended(want="merge"), worker="w"), AwaitTurn()),
        (JobProgress(last=ended(want="merge")), DoShift(ANY_QUEUE, None)),
        (
            JobProgress(last=ended(want="merge"), worker="w", merge_turn=MergeTurn.HERE),
            DoShift(worker_queue("w"), 5.0),
        ),
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
    assert steps.farewell_after(SPEC) > 15.0


def test_a_job_that_takes_down_its_workers_waits_longer_each_time() -> None:
    progress = JobProgress()
    delays = []
    for _ in range(steps.MANY_LOSSES - 1):
        progress = steps.after_loss(progress, Beat(), NOW)
        delays.append(progress.until - NOW)
    assert delays == [0.0, 0.0, 5.0, 10.0, 20.0, 40.0, 80.0]
    for _ in range(12):
        fault = Fault(kind="ServiceAway", message="m", exit_code=5)
        progress = steps.after_fault(progress, fault, NOW)
    assert progress.until == NOW + 300.0


def test_a_job_that_loses_every_session_ends_and_says_so() -> None:
    progress = JobProgress()
    for _ in range(steps.MANY_LOSSES):
        assert progress.phase is not Phase.ENDED
        progress = steps.after_loss(progress, Beat(worker="w", cost=1.0), NOW)
    assert (progress.phase, progress.last.outcome, progress.last.exit_code) == (Phase.ENDED, "failed", 4)
    assert progress.reason == "its session was lost 8 times in a row, the last time on w"
    assert "retry" in progress.last.hint
    assert progress.lost_cost == 8.0
    again = steps.again(progress)
    assert steps.after_loss(again, Beat(), NOW).phase is not Phase.ENDED


def test_losses_and_failures_of_machines_count_together_until_a_shift_ends_well() -> None:
    failed = Fault(kind="ShiftFailed", message="ralph was killed", exit_code=4)
    progress = JobProgress()
    for number in range(steps.MANY_LOSSES - 1):
        progress = (
            steps.after_loss(progress, Beat(), NOW)
            if number % 2
            else steps.after_fault(progress, failed, NOW)
        )
    fine = steps.after_shift(progress, ended(1), NOW)
    assert (fine.faults, fine.losses) == (0, 0)
    over = steps.after_fault(progress, failed, NOW)
    assert over.last.outcome == "failed"
    assert over.reason == "no worker could do it, 8 times in a row; the last time: ralph was killed"


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


def test_a_fault_in_ralph_ends_the_job_after_some_tries_and_where_to_wait_is_right_it_waits() -> None:
    for kind, exit_code, outcome in (
        ("KeyError", 3, "failed"),
        ("ServiceAway", 5, ""),
        ("OtherVersion", 4, ""),
        ("WorkerLeft", 3, ""),
    ):
        progress = JobProgress()
        for _ in range(steps.MANY_LOSSES):
            progress = steps.after_fault(progress, Fault(kind=kind, message="m", exit_code=exit_code), NOW)
        assert progress.last.outcome == outcome


def test_whoever_waits_gives_up_the_turn_to_merge() -> None:
    for holder in (
        JobProgress(merge_turn=turn, worker="w", last=ended(want="merge"))
        for turn in (MergeTurn.ASKED, MergeTurn.HERE)
    ):
        for step in (AwaitUnpause(), AwaitNeeds(), Sleep(5.0), DoShift("any", None), Finish()):
            assert steps.leaves_line(holder, step)
        assert steps.leaves_line(holder, AwaitTurn()) == holder.may_merge
        assert steps.leaves_line(holder, DoShift("w", 5.0)) != holder.may_merge
    assert not steps.leaves_line(JobProgress(), AwaitUnpause())
    asked = steps.entered(JobProgress(worker="w", last=ended(want="merge")), AwaitTurn(), NOW)
    assert asked.merge_turn is MergeTurn.ASKED


def test_a_turn_to_merge_is_for_one_shift_however_that_ends() -> None:
    holder = JobProgress(turn=1, merge_turn=MergeTurn.HERE, worker="w", last=ended(want="merge"))
    for after in (
        steps.after_loss(holder, Beat(), NOW),
        steps.after_nobody(holder),
        steps.after_shift(holder, ended(2, want="merge"), NOW),
        steps.after_shift(holder, ended(1, want="merge"), NOW),
        steps.after_shift(holder, ended(1, busy=True), NOW),
        *(
            steps.after_fault(holder, Fault(kind=kind, message="m", exit_code=5), NOW)
            for kind in ("ServiceAway", "WorkerLeft", "Fenced", "UsageError", "FleetSpent")
        ),
    ):
        assert after.merge_turn is MergeTurn.OVER
        assert not steps.order_of(SPEC, after).may_merge
        assert steps.leaves_line(after, steps.next_step(SPEC, after, NOW))


def test_a_job_without_a_worker_finds_one_before_it_asks_for_its_turn() -> None:
    after = steps.after_nobody(
        JobProgress(turn=1, merge_turn=MergeTurn.HERE, worker="gone", last=ended(want="merge"))
    )
    looking = steps.entered(after, steps.next_step(SPEC, after, NOW), NOW)
    assert (looking.phase, steps.order_of(SPEC, looking).may_merge) == (Phase.QUEUED, False)
    found = steps.after_shift(looking, ended(2, want="merge"), NOW)
    assert steps.next_step(SPEC, found, NOW) == AwaitTurn()


def test_a_job_that_is_paused_while_nobody_has_it_withdraws_its_order() -> None:
    queued = JobProgress(is_paused=True, phase=Phase.QUEUED)
    assert steps.withdraws_order(queued)
    assert not steps.withdraws_order(replace(queued, is_paused=False))
    assert not steps.withdraws_order(replace(queued, phase=Phase.RUNNING))
    assert not steps.withdraws_order(replace(queued, worker="w1")), "it may have the session still"


def test_a_job_whose_worker_may_be_gone_is_queued_until_one_has_it() -> None:
    running = JobProgress(turn=1, phase=Phase.RUNNING, worker="w1", last=ended())
    for before, phase in (
        (running, Phase.RUNNING),
        (steps.after_loss(running, Beat(worker="w1"), NOW), Phase.QUEUED),
        (steps.after_nobody(running), Phase.QUEUED),
    ):
        entered = steps.entered(before, steps.next_step(SPEC, before, NOW), NOW)
        assert entered.phase is phase
        assert steps.order_of(SPEC, entered).tells is (phase is Phase.QUEUED)


def test_needs() -> None:
    progress = steps.begin(replace(SPEC, needs=("a", "b", "c")), JobProgress(), NOW)
    assert progress.unmet == ("a", "b", "c")
    progress = steps.after_look(progress, {"a": "merged", "b": "open", "c": "gone"})
    assert (progress.unmet, progress.stuck) == (("b", "c"), ("c",))
    both = steps.after_needed(progress, "b", is_merged=False)
    assert both.stuck == ("c", "b")
    assert steps.after_needed(both, "b", is_merged=False).stuck == ("c", "b")
    assert steps.after_needed(both, "b", is_merged=True).stuck == ("c",)
    assert steps.after_look(both, {"b": "open", "c": "ended"}).stuck == ("c",)
    progress = steps.after_needed(progress, "c", is_merged=True)
    assert (progress.unmet, progress.stuck) == (("b",), ())
    assert steps.after_needed(progress, "stranger", is_merged=False) == progress
    progress = steps.after_needed(progress, "b", is_merged=False)
    assert progress.unmet == ("b",)
    assert progress.stuck == ("b",)
    assert steps.after_needed(progress, "b", is_merged=True).unmet == ()


def test_a_stop_between_shifts_ends_it_and_a_retry_continues_it() -> None:
    stopped = steps.after_stop(JobProgress(turn=4, last=ended(4, iteration=4), is_paused=True), NOW)
    assert (stopped.phase, stopped.last.outcome, stopped.last.exit_code) == (Phase.ENDED, "cancelled", 130)
    again = steps.again(stopped)
    assert (again.turn, again.last.iteration, again.last.outcome, again.resumes) == (4, 4, "", True)
    assert (again.retries, steps.order_of(SPEC, again).retry) == (1, 1)
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


@pytest.mark.parametrize(
    ("turn", "retry", "is_answer"), [(1, 0, False), (2, 0, False), (2, 1, True), (1, 1, False), (3, 2, True)]
)
def test_how_a_job_ended_once_does_not_answer_a_retry(turn: int, retry: int, is_answer: bool) -> None:
    order = ShiftOrder(job=SPEC, turn=1, retry=1)
    assert answers(ShiftEnd(turn=turn, retry=retry, outcome="cancelled"), order) == is_answer


@given(st.lists(st.text(max_size=40_000), max_size=30))
def test_notes_stay_small_and_one_that_does_not_fit_is_refused_in_words(texts: list[str]) -> None:
    progress, taken = JobProgress(reason="limit"), []
    for text in texts:
        refusal = steps.refusal_of_note(progress, text)
        progress = steps.steered(progress, text)
        assert not refusal or refusal in progress.reason
        taken += [] if refusal else [text]
    assert [note.text for note in progress.notes] == taken
    assert [note.number for note in progress.notes] == list(range(1, len(taken) + 1))
    assert sum(len(note.text.encode()) for note in progress.notes) <= steps.LONGEST_NOTES
    assert progress.reason.startswith("limit")
    assert len(progress.reason) < 1_000


@pytest.mark.parametrize(
    ("given", "taken"), [(0.0, 2.0), (-1.0, 2.0), (float("nan"), 2.0), (30.0, 30.0), (1e300, 600.0)]
)
def test_a_worker_that_is_gone_is_always_noticed(given: float, taken: float) -> None:
    assert steps.heartbeat_of(replace(SPEC, heartbeat=given)) == taken


wild_floats = st.floats() | st.just(1e300)
wild_ints = st.integers() | st.just(10**400)


@given(
    st.builds(
        ShiftEnd,
        turn=wild_ints,
        retry=wild_ints,
        worker=st.text() | st.just("w" * 10_000),
        outcome=st.text(),
        want=st.text(),
        seconds=wild_floats,
        reason=st.text() | st.just("r" * 1_000_000),
        iteration=wild_ints,
        maximum=st.none() | wild_ints,
        cost=st.none() | wild_floats,
        tokens=wild_ints,
        run_seconds=wild_floats,
        exit_code=st.none() | wild_ints,
        heard=wild_ints,
    )
)
def test_whatever_an_end_says_a_job_can_take_it(end: ShiftEnd) -> None:
    kept = sane(end)
    assert sane(kept) == kept
    assert len(repr(kept)) < 10_000
    after = steps.after_shift(JobProgress(), kept, NOW)
    step = steps.next_step(SPEC, after, NOW)
    assert not isinstance(step, Sleep) or 0 < step.seconds <= LONGEST_WAIT
    assert kept.cost is None or 0 <= kept.cost < float("inf")


def test_a_usual_end_is_left_as_it_is() -> None:
    usual = ended(
        3, retry=1, cost=1.5, tokens=7, maximum=20, exit_code=130, outcome="cancelled", want="", heard=2
    )
    assert sane(usual) == usual


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
            progress = replace(progress, merge_turn=MergeTurn.HERE)
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
