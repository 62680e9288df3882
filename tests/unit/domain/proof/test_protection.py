"""Which files prove the work, by path and by the commands that verify it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.proof.build_files import changed_sections
from ralph.domain.proof.makefiles import FIRST, rules_of, targets_in
from ralph.domain.proof.protection import Guard, Protection, decides_the_same, matches
from ralph.domain.proof.scripts import scripts_in

PROVEN = Protection.of([("pytest -q", "."), ("scripts/verify.sh", "."), ("make test", ".")])
NOTHING_RUN = Protection.of([("test -f x", ".")])


@pytest.mark.parametrize(
    ("path", "guard"),
    [
        ("tests/test_a.py", Guard.TESTS),
        ("src/pkg/test_a.py", Guard.TESTS),
        ("src/a.test.ts", Guard.TESTS),
        ("sum_test.go", Guard.TESTS),
        ("tests/data/expected.json", Guard.TESTS),
        ("conftest.py", Guard.TESTS),
        ("src/testing.py", None),
        ("src/contest.py", None),
        ("docs/specs/api.md", None),
        ("pytest.ini", Guard.RUNNER),
        ("frontend/jest.config.js", Guard.RUNNER),
        ("pyproject.toml", Guard.SECTIONS),
        ("web/package.json", Guard.SECTIONS),
        ("Makefile", Guard.SECTIONS),
        ("scripts/verify.sh", Guard.KEPT),
        ("scripts/other.sh", None),
        (".github/workflows/ci.yml", Guard.KEPT),
        (".ralph/settings.json", Guard.SECTIONS),
        (".ralph/roles/coder.md", Guard.WHOLE),
        (".ralph/runs/1/request.json", None),
        (".gitattributes", Guard.WHOLE),
        ("deep/sitecustomize.py", Guard.WHOLE),
        ("pytest.py", Guard.NOT_MADE),
        ("src/argparse.py", Guard.NOT_MADE),
        ("shop/argparse.py", None),
        ("shop.egg-info/entry_points.txt", Guard.WHOLE),
        ("x/more.pth", Guard.WHOLE),
        (".npmrc", Guard.RUNNER),
        ("babel.config.js", Guard.RUNNER),
        ("pom.xml", Guard.SECTIONS),
        ("app/build.gradle.kts", Guard.SECTIONS),
        ("tests", Guard.TESTS),
        ("tests/unittest/__init__.py", Guard.TESTS),
        ("README.md", None),
        ("src/main.py", None),
        ("tests/target/test_a.py", Guard.TESTS),
        ("tests/venv/test_a.py", Guard.TESTS),
        ("node_modules/a/test/a.test.js", None),
        ("t/slug.t", Guard.TESTS),
        ("testutil/asserts.go", Guard.TESTS),
        ("support/assertions.py", Guard.TESTS),
        ("fixtures/slugs.json", Guard.TESTS),
        ("fixtures/views.py", None),
        ("golden/a.txt", Guard.TESTS),
        ("src/lib.rs", Guard.INNER),
        ("go.mod", Guard.SECTIONS),
    ],
)
def test_paths_are_guarded_by_what_they_are(path: str, guard: Guard | None) -> None:
    assert PROVEN.guard(path) is guard


def test_tests_are_free_where_no_verification_runs_them() -> None:
    assert NOTHING_RUN.guard("tests/test_a.py") is None
    assert NOTHING_RUN.guard("Makefile") is None
    assert NOTHING_RUN.guard(".ralph/settings.json") is Guard.SECTIONS


def test_the_users_patterns_add_and_take_away() -> None:
    own = Protection.of([("pytest", ".")], protect=["docs/", "*.lock"], may_change=["tests/data/**"])

    assert own.guard("docs/a/b.md") is Guard.WHOLE
    assert own.guard("web/yarn.lock") is Guard.WHOLE
    assert own.guard("tests/data/x.json") is None
    assert own.guard("tests/test_x.py") is Guard.TESTS


FILES = {
    "check.sh": ". ./local.env\nfor one in $(cat suite.txt); do python -m unittest $one; done\n",
    "suite.txt": "tests.test_a\n",
    "Makefile": "-include local.conf\ntest:\n\tpytest\n",
    "plug.py": "",
    "ci/suite.ini": "",
    "setup.mjs": "",
    "status.txt": "",
}


@pytest.mark.parametrize(
    ("command", "path", "guard"),
    [
        ("sh check.sh", "local.env", Guard.KEPT),  # nobody has made it yet
        ("sh check.sh", "suite.txt", Guard.TESTS),
        ("make test", "local.conf", Guard.KEPT),
        ("pytest -p plug -c ci/suite.ini", "plug.py", Guard.TESTS),
        ("pytest -p plug -c ci/suite.ini", "ci/suite.ini", Guard.KEPT),
        ("node --import ./setup.mjs --test", "setup.mjs", Guard.TESTS),
        ("NODE_OPTIONS=--import=./setup.mjs npm test", "setup.mjs", Guard.TESTS),
        ("PATH=$PWD/bin:$PATH pytest", "bin/python", Guard.KEPT),
        ("python -m doctest shop.py", "shop.py", Guard.INNER),
        ("pytest", "shop.py", None),
        ("grep -q ok status.txt", "status.txt", None),  # that may be the work
    ],
)
def test_what_commands_load_and_read_is_guarded(command: str, path: str, guard: Guard | None) -> None:
    protection = replace(Protection.of([(command, ".")]), tests=True)
    assert protection.following(FILES.get).guard(path) is guard


def test_examples_are_tests_wherever_a_command_runs_them() -> None:
    protection = Protection.of([("python -m doctest shop.py", ".")]).following(FILES.get)
    assert protection.guard("shop.py") is Guard.INNER


@pytest.mark.parametrize(
    ("path", "before", "after", "is_same"),
    [
        ("Cargo.toml", '[features]\ndefault = ["a"]\na = []\n', "[features]\ndefault = []\na = []\n", False),
        ("Cargo.toml", '[features]\ndefault = ["a"]\n', '[features]\ndefault = ["a", "b"]\n', True),
        ("Cargo.toml", "[package]\n", '[package]\n[patch.crates-io]\nx = { path = "x" }\n', False),
        ("go.mod", "require a.org/x v1.0.0\n", "require a.org/x v1.0.0\nreplace a.org/x => ./x\n", False),
        (
            "go.mod",
            "require (\n\ta.org/x v1.0.0\n)\n",
            "require (\n\ta.org/x v1.2.0\n\ta.org/y v1.0.0\n)\n",
            True,
        ),
        ("go.mod", "require a.org/x v1.0.0\n", "require a.org/y v1.0.0\nreplace a.org/y => ./y\n", True),
        (".ralph/settings.json", "{}", '{"workspace": {"setup": "cp fake .venv/bin/pytest"}}', False),
        (".ralph/settings.json", "{}", '{"maximumIterations": 3}', True),
    ],
)
def test_what_takes_the_place_of_a_dependency_decides(
    path: str, before: str, after: str, is_same: bool
) -> None:
    assert (changed_sections(path, before, after) == []) is is_same


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.py", "a/b/c.py", True),
        ("tests", "tests/a.py", True),
        ("tests/", "tests/a/b.py", True),
        ("tests", "src/tests/a.py", True),
        ("/tests", "tests/a.py", True),
        ("src/tests", "tests/a.py", False),
        ("tests/**", "tests/a/b.py", True),
        ("tests/**", "src/tests/a.py", False),
        ("**/data/*.json", "a/b/data/x.json", True),
        ("**/data/*.json", "data/x.json", True),
        ("data/*.json", "data/deep/x.json", False),
        ("test_?.py", "test_1.py", True),
        ("test_?.py", "test_12.py", False),
        ("[ab].txt", "b.txt", True),
        ("[!ab].txt", "b.txt", False),
        ("**", "anything/at/all", True),
        ("a.py", "xa.py", False),
        ("a.py", "a_py", False),
        ("./docs", "docs/x", True),
    ],
)
def test_patterns_are_read_as_in_gitignore(pattern: str, path: str, expected: bool) -> None:
    assert matches(path, pattern) is expected


@given(st.text(max_size=30), st.text(max_size=30))
def test_no_pattern_breaks_it(pattern: str, path: str) -> None:
    assert matches(path, pattern) in (True, False)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("./check.sh", {"check.sh"}),
        ("sh ci/verify.sh --fast", {"ci/verify.sh"}),
        ("python scripts/check_api.py && echo ok", {"scripts/check_api.py"}),
        ("X=1 ./run-tests && (bash e2e.sh)", {"run-tests", "e2e.sh"}),
        ("cd web && ./check.sh", {"web/check.sh"}),
        ("if ! tools/gate; then exit 1; fi", {"tools/gate"}),
        ("timeout 60 ./check.sh", {"check.sh"}),
        ("./gradlew test", {"gradlew"}),
        # What is being worked on stays free.
        ("python main.py --help | grep usage", set()),
        ("./app --version", set()),
        ("grep -q 'jwt' src/auth/middleware.py && test -f src/auth/check.py", set()),
        ("python -m check", set()),
        ("sh -c 'exit 0'", set()),
        ("/usr/bin/check.sh", set()),
        ("../check.sh", set()),
        ("echo 'unclosed", set()),
        ("", set()),
        ("sh -n hello.sh && bash -n ./build.sh; node --check scripts/a.js", set()),
        ("sh -n hello.sh; sh hello.sh", {"hello.sh"}),
    ],
)
def test_scripts_that_verify_are_found_in_commands(command: str, expected: set[str]) -> None:
    assert scripts_in(command) == expected


def test_scripts_are_looked_for_from_the_working_folder() -> None:
    assert scripts_in("./check.sh", "backend") == {"backend/check.sh"}


@given(st.text(max_size=100))
def test_no_command_breaks_it(command: str) -> None:
    assert all(isinstance(script, str) for script in scripts_in(command))
    assert isinstance(targets_in(command), frozenset)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("make test", {"test"}),
        ("make -j 4 lint test", {"lint", "test"}),
        ("make -C sub check V=1", {"check"}),
        ("make", {FIRST}),
        ("cd x && make check | tee log", {"check"}),
        ("cmake --build .", set()),
        ("pytest", set()),
    ],
)
def test_targets_are_found_in_commands(command: str, expected: set[str]) -> None:
    assert targets_in(command) == expected


MAKEFILE = """PYTEST = python -m pytest
CC = gcc

all: test

test: lint main.o
\t$(PYTEST) -q

lint:
\truff check .

main.o: main.c
\t$(CC) -c main.c
"""


@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        ("ruff check .", "true", False),
        ("$(PYTEST) -q", "-$(PYTEST) -q", False),
        ("PYTEST = python -m pytest", "PYTEST = true", False),
        ("test: lint main.o", "test: main.o", False),
        ("CC = gcc", "CC = clang", True),
        ("$(CC) -c main.c", "$(CC) -O2 -c main.c", True),
        ("all: test", "all: test\n\nclean:\n\trm -f *.o", True),
        ("all: test", ".IGNORE:\n\nall: test", False),
        ("all: test", "SHELL = /bin/true\nall: test", False),
        ("all: test", "include other.mk\nall: test", False),
        ("lint:\n\truff check .\n", "lint:\n\truff check .\n\ntest:\n\ttrue\n", False),
    ],
)
def test_only_what_decides_about_a_target_is_kept(old: str, new: str, is_same: bool) -> None:
    assert old in MAKEFILE
    changed = MAKEFILE.replace(old, new)
    assert (rules_of(MAKEFILE, ["test"]) == rules_of(changed, ["test"])) is is_same


@pytest.mark.parametrize(
    ("path", "before", "after", "is_same"),
    [
        ("pytest.ini", "[pytest]\n", "[pytest]\n", True),
        ("pytest.ini", "[pytest]\n", "[pytest]\n\n", False),
        ("../../pyproject.toml", "[project]\nname = 'a'\n", "[project]\nname = 'b'\n", True),
        ("../../pyproject.toml", "", "[tool.pytest.ini_options]\naddopts = '-k no'\n", False),
    ],
)
def test_only_what_decides_a_check_makes_a_difference(
    path: str, before: str, after: str, is_same: bool
) -> None:
    assert decides_the_same(path, before.encode(), after.encode()) is is_same
