"""Which job somebody means."""

from __future__ import annotations

import pytest

from ralph.domain.fleet.job_names import jobs_meant

KNOWN = ("shop-22", "shop-21", "shop", "till-7")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("shop", ["shop"]),
        ("shop-", ["shop-22", "shop-21"]),
        ("shop-21", ["shop-21"]),
        ("ti", ["till-7"]),
        ("7", ["till-7"]),
        ("last", ["shop-22"]),
        ("nope", []),
    ],
)
def test_a_name_its_beginning_or_end_or_the_newest(given: str, meant: list[str]) -> None:
    assert jobs_meant(given, KNOWN) == meant


def test_a_job_may_be_called_last() -> None:
    assert jobs_meant("last", ("new", "last")) == ["last"]
    assert jobs_meant("last", ()) == []
