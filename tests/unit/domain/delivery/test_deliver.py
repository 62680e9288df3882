"""The rules by which a pull request is waited for, fixed, rerun, updated, merged or left to a person: a table."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ralph.domain.delivery.deliver import (
    MOST_UPDATES,
    Ask,
    Done,
    Fix,
    Merge,
    Rerun,
    Step,
    Update,
    Wait,
    deliver,
)
from ralph.domain.delivery.facts import (
    CheckRun,
    CheckState,
    Facts,
    MergeMethod,
    Policy,
    PullRequest,
    PullState,
    Remark,
    RemarkKind,
    Required,
    Review,
    Tried,
    Verdict,
)

HEAD, OLD, BASE = "a" * 40, "b" * 40, "c" * 40
PULL = PullRequest(7, "https://forge/7", "Title", PullState.OPEN, "feature", HEAD, "main", is_mergeable=True)
MERGING = Policy(merge=MergeMethod.SQUASH)


def run(name: str, state: CheckState, *, at: float = 1.0, commit: str = HEAD, source: str = "") -> CheckRun:
    return CheckRun(name, state, commit, id="1", at=at, source=source)


def passed(name: str = "build", **more: object) -> CheckRun:
    return run(name, CheckState.PASSED, **more)  # type: ignore[arg-type]


def failed(name: str = "build", **more: object) -> CheckRun:
    return run(name, CheckState.FAILED, **more)  # type: ignore[arg-type]


def remark(author: str = "ann", *, is_trusted: bool = True, kind: RemarkKind = RemarkKind.THREAD) -> Remark:
    return Remark("r1", kind, author, "please rename it", is_trusted, path="a.py", line=3)


def facts(*checks: CheckRun, **more: object) -> Facts:
    return Facts(**{"pull": PULL, "ours": HEAD, "checks": checks, **more})  # type: ignore[arg-type]


def on_base(*names: str, state: CheckState = CheckState.PASSED) -> tuple[CheckRun, ...]:
    return tuple(run(name, state, commit=BASE) for name in names)


TABLE: list[tuple[str, Facts, type[Step], str]] = [
    # what is over is over, whatever else is true
    ("merged", facts(failed(), pull=replace(PULL, state=PullState.MERGED, by="ann")), Done, "merged by ann"),
    ("closed", facts(failed(), pull=replace(PULL, state=PullState.CLOSED, by="bob")), Done, "closed by bob"),
    # one head commit
    ("someone else pushed", facts(passed(), ours=OLD), Ask, "someone else pushed"),
    ("push not seen yet", facts(passed(), ours=OLD, earlier=frozenset({HEAD})), Wait, "has not processed the push"),
    ("only old results", facts(passed(commit=OLD)), Wait, "no check has started"),
    ("old failure, new pass", facts(failed(commit=OLD), passed()), Done, "ready"),
    ("old pass, new failure", facts(passed(commit=OLD), failed()), Fix, "failed: build"),
    # no check, no green
    ("no check at all", facts(), Wait, "without checks is not green"),
    ("no check, and none expected", facts(policy=Policy(has_ci=False)), Done, "no checks, as the settings say"),
    ("no CI by the settings, but one that fails", facts(failed(), policy=Policy(has_ci=False)), Fix, "failed: build"),
    ("queued", facts(run("build", CheckState.QUEUED)), Wait, "waits for build"),
    ("running", facts(passed("lint"), run("build", CheckState.RUNNING)), Wait, "waits for build"),
    ("one failed, another runs", facts(failed("lint"), run("build", CheckState.RUNNING)), Wait, "waits for build"),
    ("runs again after a failure", facts(failed(), run("build", CheckState.QUEUED, at=2)), Wait, "waits for build"),
    ("another may start any second", facts(passed(), age=5.0), Wait, "waits a moment for checks that may still start"),
    ("or it may not", facts(passed(), age=90.0), Done, "ready"),
    ("the base says which there are", facts(passed(), age=5.0, base_checks=on_base("build")), Done, "ready"),
    ("the rules say which there are", facts(passed(), age=5.0, required=Required(("build",))), Done, "ready"),
    ("it ran on an earlier commit, and not yet on this one", facts(passed("lint"), tried=Tried(seen=frozenset({"build", "lint"}))), Wait, "build, which ran on an earlier commit"),
    ("all that ran on an earlier commit", facts(passed(), age=5.0, earlier=frozenset({OLD}), tried=Tried(seen=frozenset({"build"}))), Done, "ready"),
    # which checks are required
    ("required one is missing", facts(passed("lint"), required=Required(("build", "lint"))), Wait, "build, which"),
    ("not required, and fails", facts(passed(), failed("extra"), required=Required(("build",))), Done, "ready"),
    ("not required, and runs", facts(passed(), run("extra", CheckState.RUNNING), required=Required(("build",))), Done, "ready"),
    ("seen on the base, missing here", facts(passed("lint"), base_checks=on_base("build", "lint")), Wait, "build, which"),
    ("new here, and fails", facts(passed(), failed("new"), base_checks=on_base("build")), Fix, "failed: new"),
    ("missing does not hide a failure", facts(failed("lint"), base_checks=on_base("build", "lint")), Fix, "failed: lint"),
    ("named by the settings", facts(passed("lint"), failed(), policy=Policy(checks=("lint",))), Done, "ready"),
    ("named by the settings, missing", facts(passed(), policy=Policy(checks=("lint",))), Wait, "lint, which has not started"),
    # whose failure it is
    ("fails here only", facts(failed(), base_checks=on_base("build")), Fix, "failed: build"),
    ("fails on the base too", facts(failed(), base_checks=on_base("build", state=CheckState.FAILED)), Ask, "fails on main too"),
    ("one of each", facts(failed(), failed("lint"), base_checks=(*on_base("build", state=CheckState.FAILED), *on_base("lint"))), Fix, "failed: lint"),
    ("passed on the base since", facts(failed(), base_checks=(run("build", CheckState.FAILED, commit=BASE, at=1), run("build", CheckState.PASSED, commit=BASE, at=2))), Fix, "failed: build"),
    # flaky
    ("two results", facts(failed(at=1), passed(at=2)), Rerun, "passed and failed on one commit"),
    ("two results, the other way", facts(passed(at=1), failed(at=2)), Rerun, "passed and failed on one commit"),
    ("two results, rerun, passed", facts(failed(at=1), passed(at=2), passed(at=3), tried=Tried(frozenset({"build"}))), Done, "build is flaky"),
    ("two results, rerun, failed", facts(failed(at=1), passed(at=2), failed(at=3), tried=Tried(frozenset({"build"}))), Fix, "failed: build"),
    # two workflows with a check of one name, or one on two occasions
    ("one of two sources failed", facts(failed(at=1, source="push"), passed(at=2, source="pr")), Rerun, "passed and failed"),
    ("it failed again", facts(failed(at=1, source="push"), passed(at=2, source="pr"), failed(at=3, source="push"), tried=Tried(frozenset({"build"}))), Fix, "failed: build"),
    ("the other one passed again", facts(failed(at=1, source="push"), passed(at=2, source="pr"), passed(at=3, source="pr"), tried=Tried(frozenset({"build"}))), Fix, "failed: build"),
    ("it passed then", facts(failed(at=1, source="push"), passed(at=2, source="pr"), passed(at=3, source="push"), tried=Tried(frozenset({"build"}))), Done, "build is flaky"),
    ("one of two sources runs", facts(run("build", CheckState.RUNNING, at=1, source="push"), passed(at=2, source="pr")), Wait, "waits for build"),
    # not a word about the work
    ("cancelled", facts(run("build", CheckState.CANCELLED)), Rerun, "build was cancelled"),
    ("timed out", facts(run("build", CheckState.TIMED_OUT)), Rerun, "build timed out"),
    ("could not start", facts(run("build", CheckState.BROKEN)), Rerun, "build could not start"),
    ("cancelled twice", facts(run("build", CheckState.CANCELLED), tried=Tried(frozenset({"build"}))), Ask, "twice without a result: build was cancelled"),
    ("timed out twice", facts(run("build", CheckState.TIMED_OUT), tried=Tried(frozenset({"build"}))), Fix, "timed out twice"),
    ("cancelled, then passed", facts(run("build", CheckState.CANCELLED), passed(at=2), tried=Tried(frozenset({"build"}))), Done, "ready"),
    ("a person must let it run", facts(run("deploy", CheckState.HELD)), Wait, "deploy needs a person's approval to run"),
    # conflicts
    ("conflict behind an old green", facts(passed(), pull=replace(PULL, is_mergeable=False)), Fix, "conflicts with main"),
    ("conflict without any check", facts(pull=replace(PULL, is_mergeable=False)), Fix, "conflicts with main"),
    ("not known yet", facts(passed(), pull=replace(PULL, is_mergeable=None)), Wait, "has not said yet"),
    # the base moves
    ("base moved, green", facts(passed(), has_moved=True), Update, "main has moved"),
    ("base moved, red", facts(failed(), has_moved=True), Fix, "failed: build"),
    ("base moved, running", facts(run("build", CheckState.RUNNING), has_moved=True), Wait, "waits for build"),
    ("base moves faster than CI", facts(passed(), has_moved=True, tried=Tried(updates=MOST_UPDATES)), Done, "ready"),
    ("and the rules are strict", facts(passed(), has_moved=True, required=Required(is_strict=True), tried=Tried(updates=MOST_UPDATES)), Update, "main has moved"),
    # people
    ("a remark by someone who may write", facts(passed(), remarks=(remark(),)), Fix, "a remark by ann"),
    ("a remark by a stranger", facts(passed(), remarks=(remark(is_trusted=False),)), Done, "ready"),
    ("a remark that was answered", facts(passed(), remarks=(remark(),), tried=Tried(answered=frozenset({"r1"}))), Done, "ready"),
    ("talk in the conversation", facts(passed(), remarks=(remark(kind=RemarkKind.COMMENT),)), Done, "ready"),
    ("a remark, and checks run", facts(run("build", CheckState.RUNNING), remarks=(remark(),)), Wait, "waits for build"),
    ("a remark, and nobody answers", facts(passed(), remarks=(remark(),), policy=Policy(answers_reviews=False)), Done, "ready"),
    ("reviews are missing", facts(passed(), required=Required(("build",), approvals=1)), Wait, "0 of 1 approvals"),
    ("reviews are there", facts(passed(), required=Required(("build",), approvals=1), reviews=(Review("ann", Verdict.APPROVED),)), Done, "ready"),
    ("someone objects", facts(passed(), reviews=(Review("ann", Verdict.OBJECTS),)), Wait, "another review by ann"),
    # merging
    ("green, and merging is off", facts(passed()), Done, "ready to be merged"),
    ("green, and merging is on", facts(passed(), policy=MERGING), Merge, "green"),
    ("green, on, and a draft", facts(passed(), policy=MERGING, pull=replace(PULL, is_draft=True)), Wait, "it is a draft"),
    ("green, off, and a draft", facts(passed(), pull=replace(PULL, is_draft=True)), Done, "still a draft"),
    ("the forge was told", facts(passed(), policy=MERGING, tried=Tried(is_merging=True)), Wait, "when its own rules hold"),
    ("on, but reviews are missing", facts(passed(), policy=MERGING, required=Required(approvals=2)), Wait, "0 of 2"),
    ("the forge was told, and the base moved", facts(passed(), policy=MERGING, has_moved=True, tried=Tried(is_merging=True)), Wait, "when its own rules hold"),
    ("on, but the base moved", facts(passed(), policy=MERGING, has_moved=True), Update, "main has moved"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("known", "step", "words"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_each_rule(known: Facts, step: type[Step], words: str) -> None:
    found = deliver(known)

    assert isinstance(found, step)
    assert words in found.reason


def test_waiting_for_people_is_told_from_waiting_for_ci() -> None:
    assert deliver(facts(passed(), required=Required(approvals=1))) == Wait(
        "waits for reviews: 0 of 1 approvals", for_people=True
    )
    waits = deliver(facts(run("build", CheckState.QUEUED)))
    assert isinstance(waits, Wait)
    assert not waits.for_people


def test_a_closed_pull_request_is_no_success() -> None:
    assert deliver(facts(pull=replace(PULL, state=PullState.CLOSED))) == Done(
        "closed without being merged; feature keeps the work", is_good=False
    )


def test_a_session_gets_every_failure_and_every_remark() -> None:
    found = deliver(facts(failed("a"), failed("b"), passed("c"), remarks=(remark(),)))

    assert isinstance(found, Fix)
    assert [check.name for check in found.checks] == ["a", "b"]
    assert found.remarks == (remark(),)


states = st.sampled_from([*CheckState])
runs = st.lists(
    st.builds(
        CheckRun,
        name=st.sampled_from("abc"),
        state=states,
        commit=st.sampled_from([HEAD, OLD]),
        id=st.integers(0, 99).map(str),
        at=st.floats(0, 10),
        source=st.sampled_from(["", "s"]),
    ),
    max_size=8,
).map(tuple)
any_facts = st.builds(
    Facts,
    pull=st.builds(
        replace,
        st.just(PULL),
        state=st.sampled_from([*PullState]),
        head=st.sampled_from([HEAD, OLD]),
        is_mergeable=st.sampled_from([True, False, None]),
        is_draft=st.booleans(),
    ),
    ours=st.sampled_from([HEAD, OLD]),
    checks=runs,
    base_checks=runs,
    required=st.builds(
        Required, st.none() | st.lists(st.sampled_from("abc")).map(tuple), st.integers(0, 2), st.booleans()
    ),
    reviews=st.lists(st.builds(Review, st.sampled_from("xy"), st.sampled_from([*Verdict]))).map(tuple),
    remarks=st.lists(
        st.builds(
            Remark,
            st.sampled_from("12"),
            st.sampled_from([*RemarkKind]),
            st.just("x"),
            st.just(""),
            st.booleans(),
        )
    ).map(tuple),
    has_moved=st.booleans(),
    policy=st.builds(
        Policy,
        st.sampled_from([*MergeMethod]),
        st.booleans(),
        st.lists(st.sampled_from("ab"), max_size=1).map(tuple),
    ),
    tried=st.builds(
        Tried, st.frozensets(st.sampled_from("abc")), updates=st.integers(0, 12), is_merging=st.booleans()
    ),
)


def _is_red(known: Facts) -> bool:
    """By the raw runs: the newest of each source, and every run under way, of what is required."""
    newest: dict[tuple[str, str], CheckRun] = {}
    for one in sorted(known.checks, key=lambda one: (one.at, int(one.id))):
        if one.commit == known.pull.head:
            newest[one.name, one.source] = one
    names = known.policy.checks or (known.required.checks if known.policy.has_ci else None)
    wanted = [one for one in newest.values() if names is None or one.name in names]
    missing = set(names or ()) - {one.name for one in wanted}
    return bool(missing) or any(one.state is not CheckState.PASSED for one in wanted)


@given(any_facts)
def test_nothing_is_merged_unless_all_of_it_holds(known: Facts) -> None:
    step = deliver(known)

    if isinstance(step, Merge) or (isinstance(step, Done) and known.pull.state is PullState.OPEN):
        assert known.pull.head == known.ours
        assert known.pull.is_mergeable
        assert not _is_red(known)
        assert known.policy.checks or known.checks or known.required.checks == () or not known.policy.has_ci
        assert not any(review.verdict is Verdict.OBJECTS for review in known.reviews)
    if isinstance(step, Merge):
        assert known.policy.merge is not MergeMethod.OFF
        assert not known.pull.is_draft


@given(any_facts, runs)
def test_results_of_other_commits_change_nothing(known: Facts, more: tuple[CheckRun, ...]) -> None:
    elsewhere = tuple(replace(run, commit="d" * 40) for run in more)

    assert deliver(replace(known, checks=(*known.checks, *elsewhere))) == deliver(known)


@given(any_facts)
def test_the_order_of_the_answers_does_not_matter(known: Facts) -> None:
    assume(len({(one.name, one.at, one.id) for one in known.checks}) == len(known.checks))

    assert deliver(replace(known, checks=known.checks[::-1])) == deliver(known)
