"""What is put back before new code meets the checks as they were, and what a task may demand to leave as it is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.proof.old_proof import OldProofPlan, plan_old_proof
from ralph.domain.proof.protection import Protection
from ralph.domain.proof.required_command import CommandVerdict, RequiredCommand
from ralph.domain.proof.tree import Entry, Tree

COMMAND = "pytest && sh ci/check.sh"
BASE = {"shop.py": "1", "tests/test_shop.py": "1", "tests/names.txt": "1", "ci/check.sh": "1", "pyproject.toml": "1"}  # fmt: skip
PROTECTION = Protection.of([(COMMAND, ".")])


def tree_of(files: dict[str, str]) -> Tree:
    return Tree({path: Entry("100644", content) for path, content in files.items() if content})


def plan_of(
    files: dict[str, str],
    base: dict[str, str] = BASE,
    *,
    protection: Protection = PROTECTION,
    command: str = COMMAND,
    allowed: tuple[str, ...] = (),
) -> OldProofPlan:
    required = [RequiredCommand(command=command)]
    return plan_old_proof(
        tree_of(files), tree_of(base), protection, required, is_allowed=lambda path: path in allowed
    )


@pytest.mark.parametrize(
    ("changes", "put_back", "disputes"),
    [
        ({}, [], []),
        ({"shop.py": "2", "pyproject.toml": "2"}, [], []),
        ({"tests/names.txt": "2"}, ["tests/names.txt"], [["tests/names.txt"]]),
        ({"tests/names.txt": ""}, ["tests/names.txt"], [["tests/names.txt"]]),
        ({"tests/new.py": "1"}, ["tests/new.py"], [["tests/new.py"]]),
        ({"ci/check.sh": "2", "pytest.ini": "1"}, ["ci/check.sh", "pytest.ini"], []),
        (
            {"tests/names.txt": "2", "tests/new.py": "1", "pytest.ini": "1"},
            ["pytest.ini", "tests/names.txt", "tests/new.py"],
            [["tests/names.txt"], ["tests/names.txt", "tests/new.py"]],
        ),
    ],
    ids=["nothing", "code", "a test", "a deleted test", "a new test", "scripts and runner", "all of these"],
)
def test_what_decides_the_checks_is_put_back_and_only_tests_are_disputed(
    changes: dict[str, str], put_back: list[str], disputes: list[list[str]]
) -> None:
    plan = plan_of({**BASE, **changes})

    assert list(plan.put_back) == put_back
    assert [[one.path for one in found] for found in plan.disputes] == disputes
    assert all(one.is_test and one.what for found in plan.disputes for one in found)
    assert plan.kept == ()


def test_what_somebody_allowed_stays_as_it_is() -> None:
    changed = {**BASE, "tests/test_shop.py": "2", "tests/names.txt": "2", "ci/check.sh": "2"}
    users = replace(PROTECTION, may_change=("ci/*.sh",))
    plan = plan_of(changed, protection=users, allowed=("tests/names.txt",))

    assert plan.put_back == ("tests/test_shop.py",)
    assert plan.kept == ("ci/check.sh", "tests/names.txt")


def test_free_tests_stay_as_they_are() -> None:
    free = replace(PROTECTION, tests_are_free=True)
    plan = plan_of({**BASE, "tests/test_shop.py": "2", "tests/new.py": "1"}, protection=free)

    assert (plan.put_back, plan.disputes) == ((), ())
    assert plan.kept == ("tests/new.py", "tests/test_shop.py")


def test_a_new_test_that_a_command_names_is_not_left_out() -> None:
    changed = {**BASE, "tests/test_new.py": "1", "tests/test_more.py": "1"}

    assert plan_of(changed, command="pytest tests/test_new.py").put_back == ("tests/test_more.py",)


@pytest.mark.parametrize(
    ("base", "changes", "expected"),
    [
        ({"shop.py": "1"}, {"tests/test_shop.py": "1"}, True),
        ({"shop.py": "1"}, {"tests/test_shop.py": "1", "pytest.ini": "1"}, False),
        (BASE, {"tests/new.py": "1"}, False),
    ],
    ids=["the first tests", "with settings of the runner", "more tests"],
)
def test_there_is_no_old_proof_where_there_were_no_tests(
    base: dict[str, str], changes: dict[str, str], expected: bool
) -> None:
    assert plan_of({**base, **changes}, base).is_first is expected


@pytest.mark.parametrize(
    ("changes", "output", "expected"),
    [
        ({"tests/new.py": "1"}, "no tests ran in 0.01s", True),
        ({"tests/new.py": "1"}, "1 failed in 0.01s", False),
        ({"tests/new.py": "1"}, "Segmentation fault", False),
        ({"tests/test_shop.py": ""}, "no tests ran in 0.01s", False),
    ],
)
def test_only_a_runner_without_new_tests_is_excused_for_running_none(
    changes: dict[str, str], output: str, expected: bool
) -> None:
    plan = plan_of({**BASE, **changes})

    assert plan.excuses(CommandVerdict(passed=False, excerpt=output)) is expected


PATHS = st.sampled_from([*BASE, "tests/new.py", "pytest.ini", "conftest.py", "lib/a.py", "Makefile", "tool/test.py"])  # fmt: skip
FILES = st.dictionaries(PATHS, st.sampled_from(["1", "2"]))


@given(FILES, FILES, st.sets(PATHS))
def test_nothing_is_both_put_back_and_kept_and_a_concession_leaves_the_rest(
    before: dict[str, str], after: dict[str, str], allowed: set[str]
) -> None:
    plan = plan_of(after, before, allowed=tuple(allowed))
    differing = tree_of(after).differing(tree_of(before))

    assert set(plan.put_back).isdisjoint(plan.kept)
    assert differing.issuperset({*plan.put_back, *plan.kept})
    assert allowed.isdisjoint(plan.put_back)
    for found in plan.disputes:
        conceded = {one.path for one in found}
        again = plan_of(after, before, allowed=(*allowed, *conceded))
        assert set(again.put_back) == set(plan.put_back) - conceded
