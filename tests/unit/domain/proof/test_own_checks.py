"""Checks that the worker wrote itself: which they are, and when nobody knows what they prove."""

from __future__ import annotations

import pytest

from ralph.domain.proof.build_files import Scope, changed_sections
from ralph.domain.proof.canary import Sighting
from ralph.domain.proof.old_proof import plan_old_proof
from ralph.domain.proof.own_checks import OwnCheck, doubt_about, own_checks
from ralph.domain.proof.protection import Protection
from ralph.domain.proof.required_command import RequiredCommand
from ralph.domain.proof.tree import Entry, Tree

TESTED = {"shop.py": "", "tests/test_shop.py": ""}
MAKEFILE = "test:\n\tpytest -q\n"


def protection_of(command: str, base: dict[str, str], *may_change: str) -> Protection:
    return Protection.of([(command, ".")], may_change=may_change).following(base.get)


def tree_of(files: dict[str, str]) -> Tree:
    return Tree({path: Entry("100644", text) for path, text in files.items()})


def own_of(
    command: str, base: dict[str, str], work: dict[str, str], *may_change: str
) -> tuple[OwnCheck, ...]:
    protection = protection_of(command, base, *may_change)
    required = [RequiredCommand(command=command)]
    return own_checks(required, protection, tree_of({**base, **work}), tree_of(base))


@pytest.mark.parametrize(
    ("command", "base", "work"),
    [
        ("./check.sh", TESTED, {"check.sh": "echo"}),
        ("sh ci/run.sh -v", TESTED, {"ci/run.sh": "true"}),
        ("cd web && ./check.sh", TESTED, {"web/check.sh": "echo"}),
        ("sh tests/run.sh", TESTED, {"tests/run.sh": "true"}),
        ("make test", TESTED, {"Makefile": MAKEFILE}),
        ("make test", {**TESTED, "Makefile": "all:\n\tcc\n"}, {"Makefile": "all:\n\tcc\ntest:\n\ttrue\n"}),
        ("make check", {**TESTED, "Makefile": MAKEFILE}, {"Makefile": f"{MAKEFILE}check: test\n"}),
        ("make", {**TESTED, "Makefile": "X = 1\n"}, {"Makefile": "X = 1\nall:\n\ttrue\n"}),
        ("make -C web test", {**TESTED, "Makefile": MAKEFILE}, {"web/Makefile": "test:\n\ttrue\n"}),
        ("make -f ci.mk test", {**TESTED, "Makefile": MAKEFILE}, {"ci.mk": "test:\n\ttrue\n"}),
        ("npm test", TESTED, {"package.json": '{"scripts": {"test": "true"}}'}),
        ("npm --prefix web test", TESTED, {"web/package.json": '{"scripts": {"test": "true"}}'}),
        ("npm run lint", {**TESTED, "package.json": "{}"}, {"package.json": '{"scripts": {"lint": "true"}}'}),
        ("yarn check", {**TESTED, "package.json": "{}"}, {"package.json": '{"scripts": {"check": ":"}}'}),
    ],
)
def test_what_a_command_asks_for_and_was_not_there_is_the_workers_own(
    command: str, base: dict[str, str], work: dict[str, str]
) -> None:
    (own,) = own_of(command, base, work)
    assert own.files == own.in_doubt == tuple(work)


@pytest.mark.parametrize(
    ("command", "base", "work"),
    [
        ("pytest", TESTED, {"tests/test_more.py": "new"}),
        ("./check.sh", {**TESTED, "check.sh": "pytest"}, {"check.sh": "true"}),
        ("make test", {**TESTED, "Makefile": MAKEFILE}, {"Makefile": f"{MAKEFILE}lint:\n\truff\n"}),
        (
            "make test",
            {**TESTED, "Makefile": "include ci.mk\n"},
            {"Makefile": "include ci.mk\ntest:\n\ttrue\n"},
        ),
        (
            "make test",
            {**TESTED, "Makefile": "%:\n\tpytest\n"},
            {"Makefile": "%:\n\tpytest\ntest:\n\ttrue\n"},
        ),
        ("npm ci", {**TESTED, "package.json": "{}"}, {"package.json": '{"dependencies": {"a": "1"}}'}),
        ("npm install", {**TESTED, "package.json": "{}"}, {"package.json": '{"dependencies": {"a": "1"}}'}),
        ("test -f hello.txt", TESTED, {"hello.txt": "hi"}),
        ("python hello.py", TESTED, {"hello.py": "print()"}),
    ],
)
def test_what_was_there_and_the_work_itself_are_not(
    command: str, base: dict[str, str], work: dict[str, str]
) -> None:
    assert own_of(command, base, work) == ()


@pytest.mark.parametrize(
    ("command", "base"),
    [
        ("pytest", {"shop.py": ""}),
        ("pytest tests/test_new.py", TESTED),
        ("python tests/test_new.py", TESTED),
    ],
)
def test_first_tests_are_the_workers_own_but_in_no_doubt(command: str, base: dict[str, str]) -> None:
    (own,) = own_of(command, base, {"tests/test_new.py": "new"})
    assert (own.files, own.in_doubt) == (("tests/test_new.py",), ())


def test_what_the_user_allowed_is_the_workers_own_but_in_no_doubt() -> None:
    (own,) = own_of("./check.sh", TESTED, {"check.sh": "true"}, "check.sh")
    assert (own.files, own.in_doubt) == (("check.sh",), ())


def test_the_old_proof_does_not_miss_what_could_not_be_there() -> None:
    base = {**TESTED, "Makefile": MAKEFILE}
    work = {**base, "Makefile": f"{MAKEFILE}check: test\n", "tests/test_shop.py": "changed"}
    required = [RequiredCommand(command="make check")]
    plan = plan_old_proof(
        tree_of(work), tree_of(base), protection_of("make check", base), required, is_allowed=lambda _: False
    )
    assert (plan.put_back, plan.written) == (("tests/test_shop.py",), ("Makefile",))


@pytest.mark.parametrize(
    ("after", "changed"),
    [
        (f"{MAKEFILE}check: test\n\truff\n", []),
        (f".PHONY: check\nSRC = src\ncheck: test\n\truff $(SRC)\n{MAKEFILE}", []),
        ("test:\n\ttrue\ncheck: test\n", ["rule test"]),
        (f"SHELL = /bin/true\n{MAKEFILE}check: test\n", ["variable SHELL"]),
    ],
)
def test_a_new_target_that_a_command_asks_for_changes_no_other(after: str, changed: list[str]) -> None:
    targets = Scope(targets=frozenset(("test", "check")))
    assert changed_sections("Makefile", MAKEFILE, after, targets) == changed


@pytest.mark.parametrize(
    ("now", "doubt"),
    [
        (Sighting(failed=False), "runs no tests"),
        (Sighting(failed=False, planted=frozenset(("tests/test_shop.py",))), "does not turn red"),
        (
            Sighting(failed=True, planted=frozenset(("tests/test_shop.py",))),
            "does not run tests that were there",
        ),
        (Sighting(failed=True, planted=frozenset(("tests",))), ""),
        (Sighting(True, frozenset(("tests/test_shop.py",)), frozenset(("tests/test_shop.py",))), ""),
    ],
)
def test_a_check_must_show_every_test_that_was_there(now: Sighting, doubt: str) -> None:
    own = OwnCheck(RequiredCommand(command="make test"), ("Makefile",), ("Makefile",))
    said = doubt_about(own, now, tree_of(TESTED))
    assert doubt in said
    assert bool(doubt) == bool(said)
