"""What people read of a job, what needs them, and in which order."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.fleet.world.memory_fleet import job

from ralph.domain.fleet.board import (
    Group,
    JobAsk,
    JobState,
    cost_of,
    describe_job,
    describe_next,
    group_of,
    has_text,
    is_idle,
    needs_person,
    no_worker,
    possible_asks,
    reason_of,
    since_of,
    sort_jobs,
    state_of,
    total_of,
    worker_of,
)
from ralph.domain.fleet.progress import Phase
from ralph.domain.fleet.shift import ShiftEnd
from ralph.domain.fleet.views import JobView
from ralph.domain.views.decisions import Tone

MERGED = ShiftEnd(merged="0123456789abcdef", reason="1 done")
SEALED = "encrypted with the key 0123, which is not set here"


def labelled(view: JobView) -> JobView:
    return replace(view, spec=replace(view.spec, labels=("gpu", "linux")))


ROWS = [
    (job("a", Phase.NEEDS, unmet=("b", "c")), "waits for jobs", Tone.QUIET, Group.WAITING),
    (job("a", Phase.NEEDS, unmet=("b",), stuck=("b",)), "waits for jobs", Tone.QUIET, Group.PERSON),
    (job("a", Phase.QUEUED), "queued", Tone.QUIET, Group.WAITING),
    (job("a", Phase.RUNNING), "running", Tone.OPEN, Group.RUNNING),
    (job("a", Phase.RUNNING, is_paused=True), "pausing", Tone.WARNING, Group.RUNNING),
    (job("a", Phase.RUNNING, is_stopping=True), "stopping", Tone.WARNING, Group.RUNNING),
    (job("a", Phase.PAUSED, is_paused=True, is_stopping=True), "stopping", Tone.WARNING, Group.RUNNING),
    (replace(job("a"), sealed=SEALED), "unreadable", Tone.QUIET, Group.WAITING),
    (replace(job("a", outcome="failed"), sealed=SEALED), "unreadable", Tone.QUIET, Group.ENDED),
    (job("a", Phase.RUNNING, faults=3), "running", Tone.OPEN, Group.PERSON),
    (job("a", Phase.WAITING), "waiting", Tone.OPEN, Group.WAITING),
    (job("a", Phase.PAUSED, is_paused=True), "paused", Tone.WARNING, Group.PERSON),
    (job("a", Phase.MERGING), "merging", Tone.OPEN, Group.RUNNING),
    (job("a", outcome="completed"), "completed", Tone.GOOD, Group.ENDED),
    (job("a", outcome="completed", end=MERGED), "merged", Tone.GOOD, Group.ENDED),
    (job("a", outcome="exhausted"), "limit reached", Tone.WARNING, Group.PERSON),
    (job("a", outcome="cancelled"), "cancelled", Tone.QUIET, Group.ENDED),
    (job("a", outcome="failed"), "failed", Tone.BAD, Group.PERSON),
    (job("a", problem="terminated"), "failed", Tone.BAD, Group.PERSON),
    (job("a", outcome="of a newer ralph"), "cancelled", Tone.QUIET, Group.ENDED),
]


@pytest.mark.parametrize(("view", "words", "tone", "group"), ROWS)
def test_every_state_has_its_words_tone_and_group(
    view: JobView, words: str, tone: Tone, group: Group
) -> None:
    assert describe_job(view)[:2] == (words, tone)
    assert group_of(view) is group
    assert needs_person(view) is (group is Group.PERSON)


def test_no_state_is_without_a_row() -> None:
    assert {state_of(view) for view, *_ in ROWS} == set(JobState)


def test_what_needs_a_person_is_first_then_what_runs_then_what_waits_the_newest_first() -> None:
    jobs = [
        job("over", outcome="completed", since=9),
        job("blocked", Phase.NEEDS, since=8),
        job("queued", Phase.QUEUED, since=1),
        job("older", since=2),
        job("newer", since=3),
        job("paused", Phase.PAUSED, since=4),
        job("failed", outcome="failed", since=5),
    ]
    assert [view.spec.id for view in sort_jobs(jobs)] == [
        "failed",
        "paused",
        "newer",
        "older",
        "queued",
        "blocked",
        "over",
    ]


@pytest.mark.parametrize(
    ("view", "reason"),
    [
        (job("a", Phase.WAITING, reason="until 15:00"), "until 15:00"),
        (job("a", Phase.NEEDS, unmet=("b", "c")), "after b, c"),
        (job("a", outcome="failed", reason="old", end=ShiftEnd(reason="the tests fail")), "the tests fail"),
        (job("a", problem="terminated by somebody"), "terminated by somebody"),
        (job("a", outcome="completed", end=MERGED), "merged as 0123456789"),
        (job("a", Phase.QUEUED), "waits for a worker"),
        (labelled(job("a", Phase.QUEUED)), "waits for a worker with the label gpu and linux"),
        (
            job("a", Phase.QUEUED, reason="the session on w1 was lost"),
            "the session on w1 was lost; waits for a worker",
        ),
        (job("a", is_stopping=True, reason="old"), "after the current step"),
        (job("a", is_stopping=True, stop_now=True), "at once"),
        (job("a", is_paused=True), "after the current session"),
        (replace(job("a", outcome="failed", reason="old"), sealed=SEALED), SEALED),
    ],
)
def test_why(view: JobView, reason: str) -> None:
    assert reason_of(view) == reason


@pytest.mark.parametrize(
    ("view", "asks"),
    [
        (job("a"), {JobAsk.PAUSE, JobAsk.STEER, JobAsk.STOP, JobAsk.STOP_NOW}),
        (
            job("a", Phase.PAUSED, is_paused=True),
            {JobAsk.UNPAUSE, JobAsk.STEER, JobAsk.STOP, JobAsk.STOP_NOW},
        ),
        (job("a", outcome="failed"), {JobAsk.RETRY}),
        (job("a", outcome="cancelled"), {JobAsk.RETRY}),
        (job("a", outcome="completed"), set()),
        (job("a", is_stopping=True), {JobAsk.STOP_NOW}),
        (replace(job("a"), sealed=SEALED), {JobAsk.STOP, JobAsk.STOP_NOW}),
        (replace(job("a", outcome="failed"), sealed=SEALED), set()),
    ],
)
def test_only_what_makes_sense_may_be_asked(view: JobView, asks: set[JobAsk]) -> None:
    assert set(possible_asks(view)) == asks


def test_totals_count_each_job_once_and_money_that_was_lost() -> None:
    jobs = [
        job("a", end=ShiftEnd(cost=1.0, tokens=10), lost_cost=0.5, lost_tokens=5),
        job("b", Phase.QUEUED),
        job("c", outcome="failed", lost_cost=0.25),
        job("d", outcome="failed"),
    ]
    totals = total_of(jobs)
    assert (totals.jobs, totals.cost, totals.tokens) == (4, 1.75, 15)
    assert totals.words == "2 need you, 1 running, 1 waiting, $1.75"
    assert total_of(jobs[2:3]).words == "1 needs you, $0.25"
    assert total_of([]).words == "no jobs"
    assert cost_of(jobs[1]) is None


def test_nobody_has_a_job_that_is_queued() -> None:
    assert worker_of(job("a", Phase.RUNNING, worker="w1")) == "w1"
    assert worker_of(job("a", Phase.QUEUED, worker="w1")) == ""


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ((), "no worker is running; "),
        (("gpu",), "no worker with the label gpu has asked for jobs lately; "),
    ],
)
def test_that_nobody_takes_a_job(labels: tuple[str, ...], said: str) -> None:
    assert no_worker(labels).startswith(said)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("session", ""),
        ("wait", "waits"),
        ("merge", "wants to merge"),
        ("exhausted", "limit reached"),
        ("completed", "completed"),
        ("of a newer ralph", "of a newer ralph"),
    ],
)
def test_what_follows_a_shift(word: str, said: str) -> None:
    assert describe_next(word) == said


@pytest.mark.parametrize(
    ("view", "is_so"),
    [(job("a"), True), (job("a", is_paused=True), False), (job("a", outcome="failed"), False)],
)
def test_only_a_paused_job_is_unpaused(view: JobView, is_so: bool) -> None:
    assert is_idle(view, JobAsk.UNPAUSE) is is_so
    assert not is_idle(view, JobAsk.STOP)


def test_since_when() -> None:
    assert since_of(job("a", since=5.0)) == 5.0
    assert since_of(job("a", outcome="failed", since=7.0)) == 7.0


@pytest.mark.parametrize(
    ("sought", "found"), [("", True), ("SHOP", True), ("Queued", True), ("nobody", False)]
)
def test_a_job_is_found_by_whatever_is_shown_of_it(sought: str, found: bool) -> None:
    assert has_text(job("a", Phase.QUEUED, title="Shop"), sought) is found


def test_what_holds_up_a_job_is_said_before_what_it_waits_for() -> None:
    assert reason_of(job("a", Phase.NEEDS, unmet=("b", "c"))) == "after b, c"
    one = job("a", Phase.NEEDS, unmet=("b", "c"), stuck=("b",))
    assert reason_of(one) == "b is over and not merged: retry it, or stop this job"
    both = job("a", Phase.NEEDS, unmet=("b", "c"), stuck=("b", "c"), reason="a note was refused")
    told = "b, c are over and not merged: retry them, or stop this job; a note was refused"
    assert reason_of(both) == told


def test_a_task_without_its_merge_can_be_retried() -> None:
    task = job("a", outcome="completed")
    assert possible_asks(task) == ()
    task = replace(task, spec=replace(task.spec, task="{}"))
    assert possible_asks(task) == (JobAsk.RETRY,)
