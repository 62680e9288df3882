"""What a machine's owner allows jobs: nothing that a repository or a flag asks for makes it more."""

from __future__ import annotations

import pytest

from ralph.domain.fleet.allowance import allowed_kind, is_demanding, is_own_commit, places_outside


@pytest.mark.parametrize(
    ("demanded", "asked", "got"),
    [
        ("strongest", None, "strongest"),
        ("strongest", "none", "strongest"),
        ("strongest", "auto", "strongest"),
        ("strongest", "bwrap", "strongest"),
        ("strongest", "sbx", "sbx"),
        ("bwrap", None, "bwrap"),
        ("bwrap", "none", "bwrap"),
        ("bwrap", "auto", "bwrap"),
        ("bwrap", "strongest", "bwrap"),
        ("bwrap", "srt", "bwrap"),
        ("bwrap", "container", "bwrap"),
        ("bwrap", "sbx", "sbx"),
        ("container", "bwrap", "bwrap"),
        ("none", "bwrap", "bwrap"),
        ("none", None, None),
        ("none", "none", "none"),
    ],
)
def test_the_sandbox_is_at_least_what_the_owner_demands(
    demanded: str, asked: str | None, got: str | None
) -> None:
    assert allowed_kind(demanded, asked) == got


def test_only_none_demands_nothing() -> None:
    assert not is_demanding("none")
    assert is_demanding("auto")
    assert is_demanding("strongest")


@pytest.mark.parametrize(
    ("command", "tasks", "is_own"),
    [
        ("git", ["add -A", "commit"], True),
        ("git", ["commit"], True),
        ("git", ["commit", "push"], False),
        ("git", ["-c alias.x=!sh x"], False),
        ("git -c core.pager=sh", ["commit"], False),
        ("./git", ["commit"], False),
        ("sh", ["add"], False),
        ("git", ["commit --exec=sh"], False),
    ],
)
def test_version_control_outside_the_sandbox_only_commits(
    command: str, tasks: list[str], is_own: bool
) -> None:
    assert is_own_commit(command, tasks) is is_own


def test_places_beyond_the_clone_are_named() -> None:
    allowed = ["/seats/a"]
    assert places_outside(["/seats/a", "/seats/a/x"], allowed) == []
    assert places_outside(["/seats/ab", "/home/me/.ssh/id", "/"], allowed) == [
        "/seats/ab",
        "/home/me/.ssh/id",
        "/",
    ]
