"""Work that is delivered when it is done: what the loop is offered, and what a verdict means for the branch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.delivery.memory_forge import MemoryForge

from ralph.domain.delivery.facts import MergeMethod, Policy
from ralph.domain.delivery.receipt import Proof
from ralph.domain.loop.assignment import Assignment, Blocked, Drained, Offer, Pending
from ralph.domain.loop.decision import Accept, Continue, Decision
from ralph.domain.loop.evidence import CheckResult, Evidence, Verdict
from ralph.domain.loop.session_report import AgentReport
from ralph.domain.loop.state import LoopState
from ralph.engine.delivery.work import ROLE, STAYS, DeliveredWork, NoWork, proofs_of
from ralph.engine.ports import Work

from .delivered import Bench, run

EVIDENCE = Evidence(
    AgentReport(), results=(CheckResult("test", Verdict.PASSED, command="make test", exit_code=0),)
)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


class Doing:
    """Work of its own, done when it was offered once. It leaves a file that is not committed."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.settled: list[Decision] = []

    async def next(self, state: LoopState) -> Offer:
        if self.settled:
            return Drained("accepted")
        return Assignment("work", "do it")

    async def settle(self, assignment: Assignment, evidence: Evidence | None, decision: Decision) -> None:
        self.settled.append(decision)
        (self.bench.repository.root / "left.txt").write_text("left\n")


class GivenUp(NoWork):
    async def next(self, state: LoopState) -> Offer:
        return Drained("it was too hard", unfinished=("story 1",))


def delivered(
    bench: Bench, work: Work | None = None, *, patience: float = 60.0, stays: bool = False, run_id: str = "r1"
) -> DeliveredWork:
    return DeliveredWork(
        work or NoWork(),
        bench.delivery(),
        run_id=run_id,
        clock=bench.clock,
        patience=patience,
        rebase=bench._rebase,
        stays=stays,
    )


def offer(work: DeliveredWork, *, begins: bool = True) -> Offer:
    """``begins``: the session that is offered begins."""
    found = run(work.next(LoopState()))
    if begins and isinstance(found, Assignment) and found.role == ROLE:
        run(work.begin_session())
    return found


def results(forge: MemoryForge, *conclusions: str) -> None:
    """Of the first push, the second … and of all later ones like the last."""
    left = list(conclusions)

    def pushed(branch: str, commit: str) -> None:
        if branch == "feature":
            forge.check(commit, "build", left.pop(0) if len(left) > 1 else left[0])

    forge.on_push.append(pushed)


def test_first_the_work_then_the_pull_request(bench: Bench) -> None:
    results(bench.forge, "success")
    doing = Doing(bench)
    work = delivered(bench, doing)

    first = offer(work)
    assert isinstance(first, Assignment)
    assert not bench.forge.asked, "nothing is asked before there is anything to deliver"
    run(work.settle(first, EVIDENCE, Accept("done")))

    assert offer(work) == Drained("ready to be merged: every check passed")
    assert isinstance(doing.settled[0], Accept)
    assert "left.txt" in bench.repository.git("show", "--name-only", "feature"), (
        "what was accepted is committed"
    )
    assert bench.memory.kept.run_id == "r1"


def test_what_was_given_up_is_not_delivered(bench: Bench) -> None:
    assert offer(delivered(bench, GivenUp())) == Drained("it was too hard", unfinished=("story 1",))
    assert not bench.forge.asked


def test_a_session_s_accepted_work_is_committed_and_pushed(bench: Bench) -> None:
    results(bench.forge, "failure", "success")
    work = delivered(bench)
    session = offer(work)
    assert isinstance(session, Assignment)
    assert session.role == ROLE
    (bench.repository.root / "work.txt").write_text("fixed\n")

    run(work.settle(session, EVIDENCE, Accept("done")))

    assert offer(work) == Drained("ready to be merged: every check passed")
    assert bench.repository.git("show", "feature:work.txt") == "fixed"
    assert bench.repository.remote_tip() == bench.repository.tip
    assert bench.rebased == [bench.repository.tip]
    assert bench.memory.kept.proofs == (Proof("make test", 0),)


def test_a_denied_session_commits_nothing_and_is_offered_again(bench: Bench) -> None:
    results(bench.forge, "failure")
    work = delivered(bench)
    session, tip = offer(work), bench.repository.tip
    assert isinstance(session, Assignment)
    (bench.repository.root / "work.txt").write_text("half\n")

    run(work.settle(session, EVIDENCE, Continue("not yet")))

    assert isinstance(offer(work), Assignment)
    assert bench.repository.tip == bench.repository.remote_tip() == tip


def test_what_a_killed_session_left_is_not_taken_for_accepted_work(bench: Bench) -> None:
    """Another run came between: this one begins again, and commits nothing that nobody has judged."""
    results(bench.forge, "failure")
    session, tip = offer(delivered(bench)), bench.repository.tip
    assert isinstance(session, Assignment)
    (bench.repository.root / "work.txt").write_text("half\n")
    bench.memory.save(replace(bench.memory.kept, run_id="r2"))

    for kind in (None, Doing(bench)):
        if kind is not None:
            kind.settled.append(Accept("done"))
        assert isinstance(offer(delivered(bench, kind)), Assignment)
        assert bench.repository.tip == tip
        bench.memory.save(replace(bench.memory.kept, run_id="r2"))


def test_another_run_does_not_continue_a_session_that_was_not_accepted(bench: Bench) -> None:
    results(bench.forge, "failure")
    assert isinstance(offer(delivered(bench)), Assignment)
    first = bench.repository.remote_tip()
    bench.repository.commit({"work.txt": "half\n"}, "By a session that was killed")

    blocked = offer(delivered(bench, run_id="r2"))

    assert isinstance(blocked, Blocked)
    assert "of a session that was not accepted" in blocked.reason
    assert "`ralph resume r1`" in blocked.hint
    assert bench.repository.remote_tip() == first
    assert isinstance(offer(delivered(bench, run_id="r1")), Assignment), "its own run does"


def test_ci_is_waited_for_until_patience_ends(bench: Bench) -> None:
    results(bench.forge, "in_progress")
    work = delivered(bench, patience=20.0)

    waits = offer(work)
    assert isinstance(waits, Pending)
    bench.clock.time += waits.seconds
    assert isinstance(offer(work), Pending)
    bench.clock.time += 20.0
    blocked = offer(work)

    assert isinstance(blocked, Blocked)
    assert "`ralph resume` continues" in blocked.hint


def test_a_change_is_worth_new_patience(bench: Bench) -> None:
    results(bench.forge, "in_progress")
    work = delivered(bench, patience=20.0)
    offer(work)
    bench.clock.time += 20.0
    bench.forge.check(bench.repository.tip, "lint", "in_progress")

    assert isinstance(offer(work), Pending), "it waits for something else now"


@pytest.mark.parametrize("stays", [False, True])
def test_people_are_waited_for_only_by_whoever_watches(bench: Bench, stays: bool) -> None:
    results(bench.forge, "success")
    bench.order = replace(bench.order, policy=Policy(merge=MergeMethod.SQUASH), is_draft=True)
    work = delivered(bench, patience=0.0, stays=stays)

    waits = offer(work)

    assert "a person must mark it as ready" in (waits.reason if isinstance(waits, Blocked | Pending) else "")
    assert isinstance(waits, Pending if stays else Blocked)
    bench.forge.mark_draft(1, is_draft=False)
    assert isinstance(offer(work), Drained)
    assert bench.forge.asked.count("merge") == 1


def test_closed_without_being_merged_waits_for_a_person(bench: Bench) -> None:
    results(bench.forge, "queued")
    work = delivered(bench)
    assert isinstance(offer(work), Pending)
    bench.forge.close_by("colleague", 1)

    over = offer(work)

    assert isinstance(over, Blocked)
    assert over.reason == "closed by colleague without being merged; feature keeps the work"
    assert "reopen it" in over.hint


def test_whoever_stays_waits_for_somebody_to_merge_it(bench: Bench) -> None:
    results(bench.forge, "success")
    work = delivered(bench, stays=True)
    assert offer(work) == Pending("ready to be merged: every check passed", STAYS)
    bench.forge.merge_by("colleague", 1)

    assert isinstance(offer(work), Drained)


def test_each_command_that_passed_is_a_proof_once() -> None:
    passed = CheckResult("a", Verdict.PASSED, command="make test", exit_code=0)
    failed = CheckResult("b", Verdict.FAILED, command="make lint", exit_code=1)
    silent = CheckResult("c", Verdict.PASSED)

    assert proofs_of(Evidence(AgentReport(), results=(passed, passed, failed, silent))) == (
        Proof("make test", 0),
    )


def test_a_session_that_a_limit_kept_from_beginning_leaves_the_branch_to_the_user(bench: Bench) -> None:
    results(bench.forge, "failure", "success")
    assert isinstance(offer(delivered(bench), begins=False), Assignment)
    mine = bench.repository.commit({"work.txt": "2\n"}, "My own fix")

    assert offer(delivered(bench)) == Drained("ready to be merged: every check passed")
    assert bench.repository.remote_tip() == mine
