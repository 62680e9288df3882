"""What people read of a job, what needs them, and in which order."""

from __future__ import annotations

import pytest
from tests.fleet.world.memory_fleet import job

from ralph.domain.fleet.board import (
    Group,
    JobAsk,
    JobState,
    cost_of,
    describe_job,
    group_of,
    has_text,
    needs_person,
    possible_asks,
    reason_of,
    since_of,
    sort_jobs,
    state_of,
    total_of,
)
from ralph.domain.fleet.progress import Phase
from ralph.domain.fleet.shift import ShiftEnd
from ralph.domain.fleet.views import JobView
from ralph.domain.views.decisions import Tone

MERGED = ShiftEnd(merged="abc")

ROWS = [
    (job("a", Phase.NEEDS, unmet=("b", "c")), "waits for jobs", Tone.QUIET, Group.WAITING),
    (job("a", Phase.QUEUED), "queued", Tone.QUIET, Group.WAITING),
    (job("a", Phase.RUNNING), "running", Tone.OPEN, Group.RUNNING),
    (job("a", Phase.RUNNING, is_paused=True), "pausing", Tone.WARNING, Group.RUNNING),
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


def test_since_when() -> None:
    assert since_of(job("a", since=5.0)) == 5.0
    assert since_of(job("a", outcome="failed", since=7.0)) == 7.0


@pytest.mark.parametrize(
    ("sought", "found"), [("", True), ("SHOP", True), ("Queued", True), ("nobody", False)]
)
def test_a_job_is_found_by_whatever_is_shown_of_it(sought: str, found: bool) -> None:
    assert has_text(job("a", Phase.QUEUED, title="Shop"), sought) is found
