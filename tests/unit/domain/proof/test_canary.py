"""Where canaries are planted, and when a command has seen them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.proof.canary import (
    RED,
    Canary,
    Sighting,
    plan_canaries,
    probed_by,
    shows,
    sight,
    unseen,
    why_not_probed,
)
from ralph.domain.proof.required_command import RequiredCommand

FUNCTION = "def test_a():\n    assert True\n"
CASE = "import unittest\n\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        pass\n"
JUNIT = "package a;\nimport org.junit.Test;\npublic class ATest {\n    @Test public void a() { }\n}\nclass B { }\n"
GO = 'package a\n\nimport "testing"\n\nfunc TestA(t *testing.T) {\n}\n'
RUST = "#[test]\nfn a() {}\n"


def planted(files: Mapping[str, str | None], nonce: str = "secret") -> dict[str, Canary]:
    return {canary.runner: canary for canary in plan_canaries(files, files.get, nonce)}


@pytest.mark.parametrize(
    ("files", "places"),
    [
        ({"a.py": "x = 1\n"}, {}),
        ({"tests/test_a.py": "X = 1\n"}, {}),
        ({"tests/test_a.py": None}, {}),
        ({"tests/test_a.py": "def test_a(:\n"}, {}),
        ({"tests/test_a.py": FUNCTION}, {"pytest": {"tests/test_a.py", "tests/*.py of pytest"}}),
        (
            {"test_a.py": FUNCTION, "sub/test_b.py": FUNCTION},
            {"pytest": {"test_a.py", "*.py of pytest", "sub/test_b.py", "sub/*.py of pytest"}},
        ),
        ({"test_a.py": CASE}, {"unittest": {"test_a.py", "*.py of unittest"}}),
        (
            {"test_a.py": CASE, "test_b.py": FUNCTION},
            {"unittest": {"test_a.py", "*.py of unittest"}, "pytest": {"test_b.py", "*.py of pytest"}},
        ),
        ({"node_modules/p/test/a.test.js": "test('a', () => {});\n", ".venv/x/test_a.py": FUNCTION}, {}),
        ({"a.test.js": "import test from 'node:test';\n"}, {"node": {"a.test.js", "*.js of node"}}),
        (
            {"package.json": '{"devDependencies": {"jest": "1"}}', "a.test.js": "test('a', () => {});\n"},
            {"jest": {"a.test.js", "*.js of jest"}},
        ),
        (
            {
                "package.json": '{"scripts": {"test": "mocha"}, "devDependencies": {"jest": "1"}}',
                "test/a.js": "it('a', () => {});\n",
                "test/helper.js": "exports.x = 1;\n",
            },
            {"mocha": {"test/a.js", "test/*.js of mocha"}},
        ),
        (
            {"packages/a/package.json": '{"scripts": {"test": "vitest"}}', "packages/a/src/a.spec.ts": "it('a', f);\n"},
            {"vitest": {"packages/a/src/a.spec.ts", "packages/a/src/*.ts of vitest"}},
        ),
        ({"test/a.js": "import test from 'ava';\ntest('a', t => t.pass());\n"}, {}),
        ({"a_test.go": GO}, {"go test": {"a_test.go", "*.go"}}),
        ({"a_test.go": f"//go:build slow\n\n{GO}"}, {"go test": {"a_test.go"}}),
        ({"a_test.go": "package a\n"}, {}),
        (
            {"Cargo.toml": "", "tests/a.rs": RUST, "src/lib.rs": f"#[cfg(test)]\nmod tests {{\n    {RUST}}}\n"},
            {"cargo test": {"tests/a.rs", "tests/*.rs", "src/lib.rs"}},
        ),
        ({"src/test/java/a/ATest.java": JUNIT}, {"JUnit": {"src/test/java/a/ATest.java", "src/test/java/a/*.java"}}),
        (
            {"ATest.java": JUNIT.replace("public class", "public abstract class")},
            {"JUnit": {"*.java"}},
        ),
    ],
)  # fmt: skip
def test_canaries_are_planted_in_and_beside_the_tests_that_are_there(
    files: Mapping[str, str | None], places: Mapping[str, set[str]]
) -> None:
    assert {runner: set(canary.tokens) for runner, canary in planted(files).items()} == places


def test_a_file_keeps_what_it_had_and_a_program_starts_after_its_canary() -> None:
    main = "\n\nif __name__ == '__main__':\n    unittest.main()\n"
    content = planted({"test_a.py": CASE + main})["unittest"].files["test_a.py"]

    assert content.startswith(CASE.rstrip())
    assert content.endswith(main.lstrip())
    compile(content, "test_a.py", "exec")


def test_a_method_is_planted_in_the_class_that_the_file_is_named_for() -> None:
    content = planted({"ATest.java": JUNIT})["JUnit"].files["ATest.java"]

    assert content.index("@org.junit.Test") < content.index("class B")


@given(st.text(max_size=8), st.text(max_size=8))
def test_nobody_can_guess_a_token_from_another_run(one: str, two: str) -> None:
    files = {"test_a.py": FUNCTION, "test_b.py": CASE}
    tokens = [token for name in (one, two) for canary in planted(files, name).values() for token in canary.tokens.values()]  # fmt: skip

    assert len(set(tokens)) == (len(tokens) // 2 if one == two else len(tokens))


ALL = frozenset(("a", "b"))


@pytest.mark.parametrize(
    ("sighting", "passed_without", "expected"),
    [
        (Sighting(True, ALL, ALL), True, True),
        (Sighting(True, ALL), True, True),
        (Sighting(True, ALL), False, False),  # red anyway, and names none
        (Sighting(True, ALL, frozenset("a")), False, True),
        (Sighting(False, ALL, ALL), True, False),  # names them, and passes all the same
    ],
)
def test_a_command_shows_canaries_if_they_make_it_fail(
    sighting: Sighting, passed_without: bool, expected: bool
) -> None:
    assert shows(sighting, passed_without=passed_without) is expected


NAMES = Sighting(True, ALL, ALL)
SILENT = Sighting(True, ALL)
GREEN = Sighting(False, ALL)


@pytest.mark.parametrize(
    ("command", "sighting", "passes", "expected"),
    [
        ("pytest", NAMES, False, NAMES),
        ("pytest", SILENT, True, SILENT),
        ("pytest", SILENT, False, RED),  # red anyway: a runner must show one when the work is done
        ("pytest", GREEN, True, None),
        ("pytest", None, False, RED),  # nothing could be planted yet
        ("make test", NAMES, False, NAMES),
        ("make test", SILENT, True, SILENT),
        ("make test", SILENT, False, None),
        ("make test", None, False, None),
        ("ruff check .", GREEN, True, None),
    ],
)
def test_a_command_is_probed_if_it_showed_a_canary_or_runs_tests_itself(
    command: str, sighting: Sighting | None, passes: bool, expected: Sighting | None
) -> None:
    required = [RequiredCommand(command=command), RequiredCommand(command=command, working_dir="api")]
    sighted = {} if sighting is None else dict.fromkeys((each.label for each in required), sighting)
    passing = {each.label for each in required if passes}

    found = probed_by(required, sighted, passing)
    assert found == ({} if expected is None else dict.fromkeys((command, f"{command} (in api)"), expected))


@pytest.mark.parametrize(
    ("start", "now", "says"),
    [
        (Sighting(True, ALL, ALL), Sighting(True, ALL, ALL), ""),
        (Sighting(True, ALL, ALL), Sighting(False, ALL, ALL), "can no longer fail"),
        (Sighting(True, ALL, ALL), Sighting(True, ALL, frozenset("a")), "no longer runs tests that it ran at the start: b"),
        (Sighting(True, ALL, ALL), Sighting(True, frozenset("a"), frozenset("a")), ""),  # b was removed: not for us to say
        (Sighting(True, ALL, frozenset("a")), Sighting(True, ALL, frozenset("b")), "no longer runs tests that it ran at the start: a"),
        (Sighting(True, ALL, frozenset("a")), Sighting(True, ALL, frozenset("a")), ""),  # b never was named
        (Sighting(True, ALL), Sighting(True, ALL), ""),
    ],
)  # fmt: skip
def test_what_was_seen_at_the_start_must_be_seen_when_the_work_is_accepted(
    start: Sighting, now: Sighting, says: str
) -> None:
    assert says in unseen(start, now)
    assert bool(says) == bool(unseen(start, now))


@pytest.mark.parametrize(
    ("sighting", "why"),
    [
        (None, "no tests of a kind that ralph knows"),
        (Sighting(failed=False, error="Command failed: no such file"), "Command failed: no such file"),
        (Sighting(failed=True), "it fails without a planted test too: command not found"),
        (Sighting(failed=False), "it passes with a failing test planted"),
    ],
)
def test_a_command_that_cannot_be_probed_has_a_reason(sighting: Sighting | None, why: str) -> None:
    assert why_not_probed(sighting, failed_without="command not found") == why


def test_a_report_names_a_canary_by_its_token_with_or_without_a_capital() -> None:
    (canary,) = plan_canaries(["a_test.go"], {"a_test.go": GO}.get, "secret")
    token = canary.tokens["a_test.go"]

    assert sight([canary], failed=True, output=f"--- FAIL: Test{token.capitalize()}").seen == {"a_test.go"}
    assert sight([canary], failed=True, output="nothing").seen == frozenset()
