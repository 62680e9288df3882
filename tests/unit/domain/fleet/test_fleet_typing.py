"""What people type for the fleet: addresses, names, times; and what a job that they waited for exits with."""

from __future__ import annotations

import pytest
from tests.fleet.world.memory_fleet import job

from ralph.domain.fleet.address import is_allowed, refusal_of, short_name
from ralph.domain.fleet.cron import refusal_of_cron
from ralph.domain.fleet.exits import common_exit_code, exit_code_of
from ralph.domain.fleet.job_names import refusal_of_labels, refusal_of_name
from ralph.domain.fleet.shift import ShiftEnd


@pytest.mark.parametrize(
    "address",
    [
        "https://host/octo/shop.git",
        "https://host:8443/octo/shop",
        "ssh://git@host/octo/shop.git",
        "ssh://git@host:2222/octo/shop.git",
        "git@host:octo/shop.git",
        "host:shop.git",
        "/srv/git/shop.git",
        "file:///srv/git/shop.git",
    ],
)
def test_addresses_that_every_machine_understands(address: str) -> None:
    assert refusal_of(address) is None


@pytest.mark.parametrize(
    ("address", "word"),
    [
        ("https://me:hunter2@host/x.git", "login"),
        ("https://hunter2@host/x.git", "login"),
        ("ssh://me:hunter2@host/x.git", "login"),
        ("https://host/x.git?token=hunter2", "more than a path"),
        ("./shop.git", "relative path"),
        ("shop.git", "relative path"),
        ("../shop", "relative path"),
        ("/srv/git/../other/shop.git", "`..`"),
        ("https://host/octo/%2e%2e/shop.git", "`..`"),
        ("host:octo/../shop.git", "`..`"),
        ("host:shop.git?token=hunter2", "more than a path"),
        ("host:shop.git#hunter2", "more than a path"),
        ("ssh://-oProxyCommand=hunter2/x.git", "names no host"),
        ("ssh://-oProxyCommand=hunter2@host/x.git", "names no host"),
        ("me@-oProxyCommand=hunter2:x.git", "names no host"),
        ("http://host/x.git", "http://"),
        ("git://host/x.git", "git://"),
        ("ext::sh -c hunter2", "name::address"),
        ("https:///x.git", "names no host"),
        ("https://[host/x.git", "not one"),
        ("file://shop.git", "whole path"),
        ("--upload-pack=x", "dash"),
        ("", "empty"),
        (" /srv/x.git", "spaces"),
    ],
)
def test_an_address_is_refused_and_not_repeated(address: str, word: str) -> None:
    refusal = refusal_of(address)

    assert refusal is not None
    assert word in refusal.message
    assert "hunter2" not in "".join(refusal)


@pytest.mark.parametrize(
    ("patterns", "allowed"),
    [
        ((), True),
        (("https://host/octo/*",), True),
        (("git@host:octo/*", "https://host/*"), True),
        (("https://host/other/*",), False),
        (("https://host/octo",), False),
    ],
)
def test_an_owner_says_which_repositories_jobs_may_be_about(patterns: tuple[str, ...], allowed: bool) -> None:
    assert is_allowed("https://host/octo/shop.git", patterns) is allowed


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://host/octo/Shop.git", "shop"),
        ("git@host:octo/my_shop.git", "my-shop"),
        ("host:shop.git/", "shop"),
        ("/srv/git/???", "job"),
    ],
)
def test_jobs_are_named_after_their_repository(address: str, name: str) -> None:
    assert short_name(address) == name
    assert refusal_of_name(f"{name}-1") is None


@pytest.mark.parametrize(
    "name", ["", "a/b", "a b", "-a", "a.", "a..b", "a.lock", "ä", "a" * 121, "a\n", "@{u}"]
)
def test_a_name_that_no_branch_can_have_is_refused(name: str) -> None:
    assert refusal_of_name(name) is not None


def test_labels() -> None:
    assert refusal_of_labels(("gpu", "linux-6.1")) is None
    assert refusal_of_labels(("g+u",)) is not None
    assert refusal_of_labels(tuple("abcdef")) is not None


@pytest.mark.parametrize(
    "cron", ["0 3 * * *", "*/15 * * * 1-5", "0 0 1,15 jan-mar MON", "5-59/10 8-18 * * 0,7", "@daily"]
)
def test_times(cron: str) -> None:
    assert refusal_of_cron(cron) is None


@pytest.mark.parametrize(
    "cron",
    [
        *(
            "",
            "daily",
            "@reboot",
            "* * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * * 13 *",
            "* * * * 8",
        ),
        *(
            "5-1 * * * *",
            "*/0 * * * *",
            "1, * * * *",
            "a * * * *",
            "* * * * * *",
            "-1 * * * *",
            "1-2-3 * * * *",
        ),
    ],
)
def test_a_time_that_is_none_is_refused(cron: str) -> None:
    assert refusal_of_cron(cron) is not None


@pytest.mark.parametrize(
    ("outcome", "code"),
    [("completed", 0), ("exhausted", 1), ("failed", 4), ("waiting", 5), ("cancelled", 130)],
)
def test_a_job_exits_as_its_run_would_have(outcome: str, code: int) -> None:
    assert exit_code_of(job("a", outcome=outcome)) == code


def test_the_runs_own_exit_code_counts_first() -> None:
    assert exit_code_of(job("a", outcome="failed", end=ShiftEnd(exit_code=2))) == 2
    assert exit_code_of(job("a", problem="terminated by somebody")) == 4


def test_several_jobs() -> None:
    done, limit, failed = (job(name, outcome=name) for name in ("completed", "exhausted", "failed"))

    assert common_exit_code([done, done]) == 0
    assert common_exit_code([done, failed]) == 4
    assert common_exit_code([done, limit, failed]) == 1
