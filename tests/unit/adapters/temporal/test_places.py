from __future__ import annotations

from ralph.adapters.temporal.places import KEEP, REST, TRUSTED, Places


def test_no_more_than_slots() -> None:
    places = Places(2)
    assert places.take("a", 0.0)
    assert places.has_free(0.0)
    assert places.take("b", 0.0)
    assert not places.has_free(0.0)
    assert not places.take("c", 0.0)
    assert places.taken == 2
    places.leave("a", 0.0, comes_back=False)
    assert places.take("c", 0.0)


def test_a_place_is_kept_for_the_job_that_comes_back_but_not_for_long() -> None:
    places = Places(1)
    assert places.take("a", 0.0)
    places.leave("a", 1.0, comes_back=True)
    assert not places.has_free(1.5)
    assert not places.take("b", 1.5)
    assert places.take("a", 1.5)
    places.leave("a", 2.0, comes_back=True)
    assert places.take("b", 2.0 + KEEP)
    assert not places.take("a", 2.0 + KEEP)


def test_a_worker_that_leaves_takes_nobody() -> None:
    places = Places(1)
    places.is_closed = True
    assert not places.has_free(0.0)
    assert not places.take("a", 0.0)


def test_a_machine_that_can_do_nothing_leaves_the_others_their_turn() -> None:
    places = Places(2)
    places.count(0.0, well=False)
    assert not places.has_free(REST - 0.1)
    assert places.take("its own", 1.0)
    assert places.has_free(REST)
    places.count(100.0, well=True)
    places.count(101.0, well=False)
    assert places.has_free(101.0), "it is the job's fault"
    places.count(100.0 + TRUSTED, well=False)
    assert not places.has_free(100.0 + TRUSTED)
