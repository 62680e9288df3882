"""A delivery as the work on tasks sees it: real git, and a forge in memory."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.engine.delivery.delivered import Bench, run

from ralph.adapters.git import Git
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.domain.delivery.progress import Ended, Fixing
from ralph.wiring.task_delivery import TaskShipment, merge_into

MERGED = Ended("merged", is_merged=True)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Every push is red."""
    made = Bench(tmp_path)

    def check(branch: str, commit: str) -> None:
        if branch == "feature":
            made.forge.check(commit, "build", "failure")

    made.forge.on_push.append(check)
    return made


def shipment_of(bench: Bench) -> TaskShipment:
    return TaskShipment(bench.delivery(), "refs/heads/main")


def sent_back(bench: Bench, shipment: TaskShipment) -> str:
    """The commit with which a session begins."""
    tip = bench.repository.tip
    shipment.accept(tip)
    fixing = run(shipment.advance())
    assert isinstance(fixing, Fixing)
    shipment.hand_over(fixing, tip=tip)
    return tip


def test_a_fix_that_the_roles_accepted_is_still_proven_before_it_is_pushed(bench: Bench) -> None:
    first = sent_back(bench, shipment_of(bench))
    assert bench.memory.load().fixes == 0, "the first acceptance fixes nothing"
    again = shipment_of(bench)
    second = bench.repository.commit({"work.txt": "2\n"}, "Fix it")
    again.accept(second)
    again.accept(second)
    assert bench.memory.load().fixes == 1

    run(again.advance())

    assert bench.proofs == [first, second]
    assert bench.repository.remote_tip() == second


def test_a_session_that_changed_nothing_is_not_followed_by_another(bench: Bench) -> None:
    tip = sent_back(bench, shipment_of(bench))
    again = shipment_of(bench)
    again.accept(tip)
    assert bench.memory.load().futile == tip
    assert not isinstance(run(again.advance()), Fixing)


def test_only_what_was_merged_has_what_was_accepted(bench: Bench) -> None:
    """A person may merge just before a push arrives."""
    shipment = shipment_of(bench)
    first = bench.repository.tip
    second = bench.repository.commit({"work.txt": "2\n"}, "Fix it")
    main = bench.repository.git("rev-parse", "main")
    assert run(shipment.taken(first, MERGED)) == ""
    assert run(shipment.taken(main, MERGED)) == "refs/heads/main", "nothing had to be delivered"
    bench.memory.save(replace(bench.memory.load(), pushed=second, earlier=(first,)))

    assert run(shipment.taken(second, replace(MERGED, head=second))) == second
    assert run(shipment.taken(second, replace(MERGED, head=first))) == ""
    assert run(shipment.taken(first, replace(MERGED, head=first))) == first
    assert run(shipment.taken(second, replace(MERGED, head="f" * 40))) == second, "they pushed on top of ours"


def test_only_a_merge_into_what_was_accepted_counts_as_accepted_too(bench: Bench) -> None:
    repository = bench.repository
    here = Git(repository.root, PosixProcessRunner(run_id="r", base_environment=os.environ))
    accepted = repository.tip
    repository.git("checkout", "-q", "main")
    repository.commit({"theirs.txt": "1\n"}, "Theirs")
    repository.git("checkout", "-q", "feature")
    assert run(merge_into(here, accepted)) == "", "it was not merged yet"
    late = repository.commit({"late.txt": "1\n"}, "Late")
    assert run(merge_into(here, accepted)) == ""
    repository.git("merge", "-q", "--no-ff", "-m", "Merge", "main")

    assert run(merge_into(here, accepted)) == "", "what is late came with it"
    assert run(merge_into(here, "")) == ""
    assert run(merge_into(here, late)) == repository.tip
