"""Whether a test command tested anything, by the words of real runners."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.proof.tests_ran import (
    failures_in,
    names_runner,
    nothing_was_tested,
    ran_no_test,
    runs_tests,
)

SOMETHING = {
    "pytest": ("pytest", "....   [100%]\n4 passed in 0.12s\n"),
    "pytest, loud": ("pytest", "===== 3 passed, 1 skipped, 2 warnings in 61.20s (0:01:01) ====="),
    "pytest, colors": (
        "pytest",
        "\x1b[32m==== \x1b[32m\x1b[1m1 passed\x1b[0m\x1b[32m in 0.00s\x1b[0m\x1b[32m ====\x1b[0m",
    ),
    "pytest, very quiet": ("pytest -qq", "..s.                        [100%]\n"),
    "pytest, a plugin's words": ("pytest", "Results (0.05s):\n       2 passed\n       1 skipped\n"),
    "unittest": ("python -m unittest", "..\n-----\nRan 2 tests in 0.001s\n\nOK\n"),
    "unittest, some skipped": ("python -m unittest", "Ran 3 tests in 0.1s\n\nOK (skipped=2)\n"),
    "jest": ("npx jest", "Test Suites: 1 passed, 1 total\nTests:       1 skipped, 3 passed, 4 total\n"),
    "vitest": ("vitest run", " Test Files  1 passed (1)\n      Tests  3 passed | 1 skipped (4)\n"),
    "mocha": ("mocha", "\n  3 passing (5ms)\n  1 pending\n"),
    "node": ("node --test", "# tests 2\n# suites 0\n# pass 2\n# fail 0\n# cancelled 0\n# skipped 0\n"),
    "node, spec": ("node --test", "\u2139 tests 1\n\u2139 suites 0\n\u2139 pass 1\n\u2139 fail 0\n"),
    "go": ("go test ./...", "?   \tx/cmd\t[no test files]\nok  \tx/sum\t0.003s\n"),
    "go, cached": ("go test ./...", "ok  \tx/sum\t(cached)\n"),
    "go, with -json": ("go test -json", '{"Action":"pass","Package":"x","Test":"TestA","Elapsed":0}\n'),
    "cargo": (
        "cargo test",
        "test result: ok. 1 passed; 0 failed; 0 ignored;\n\n   Doc-tests c\n\ntest result: ok. 0 passed; 0 failed;\n",
    ),
    "nextest": ("cargo nextest run", "     Summary [   0.005s] 3 tests run: 3 passed, 0 skipped\n"),
    "a wrapper": ("make test", "pytest -q\n4 passed in 0.12s\n"),
    "two runners, one idle": ("make test", "no tests ran in 0.01s\nRan 2 tests in 0.1s\n\nOK\n"),
    "no test runner": ("grep -q x file", ""),
    "no test runner at all": ("ruff check .", "All checks passed!"),
    "its words went elsewhere": ("pytest > log.txt", ""),
    "a file's name": ("test -f pytest", ""),
}
NOTHING = {
    "pytest": ("pytest -k x", "\nno tests ran in 0.00s\n"),
    "pytest, deselected": ("pytest", "==== 4 deselected in 0.01s ===="),
    "pytest, all skipped": ("pytest", "ss [100%]\n2 skipped in 0.53s\n"),
    "pytest, all expected to fail": ("pytest", "2 xfailed in 0.03s\n"),
    "pytest, only collected": ("pytest --co -q", "test_a.py::test_a\n\n1 test collected in 0.01s\n"),
    "pytest, very quiet": ("pytest -qq", "ss                        [100%]\n"),
    "pytest, ended by what it tests": ("pytest", ""),
    "python -m": ("cd sub && python3 -m pytest tests", "something else\n"),
    "unittest": ("python -m unittest", "\n-----\nRan 0 tests in 0.000s\n\nOK\n"),
    "unittest, newer": ("python -m unittest", "Ran 0 tests in 0.000s\n\nNO TESTS RAN\n"),
    "unittest, all skipped": ("python -m unittest", "ss\nRan 2 tests in 0.000s\n\nOK (skipped=2)\n"),
    "unittest, all may fail": (
        "python -m unittest",
        "Ran 2 tests in 0.000s\n\nOK (skipped=1, expected failures=1)\n",
    ),
    "jest": ("jest --passWithNoTests", "No tests found, exiting with code 0\n"),
    "jest, all skipped": ("jest", "Tests:       3 skipped, 3 total\n"),
    "vitest": ("vitest run --passWithNoTests", "No test files found, exiting with code 0\n"),
    "vitest, all skipped": ("vitest run", "      Tests  2 skipped (2)\n"),
    "mocha": ("mocha", "\n  0 passing (1ms)\n"),
    "node": ("node --test", "# tests 0\n# suites 0\n# pass 0\n# fail 0\n# skipped 0\n# todo 0\n"),
    "node, skipped": ("node --test", "# tests 2\n# suites 0\n# pass 0\n# fail 0\n# skipped 1\n# todo 1\n"),
    "go": ("go test ./...", "?   \tx\t[no test files]\n"),
    "go, nothing chosen": ("go test -run X ./...", "ok  \tx\t0.002s [no tests to run]\n"),
    "go, all skipped": ("go test -v", "=== RUN TestA\n--- SKIP: TestA (0.00s)\nPASS\nok  \tx\t0.002s\n"),
    "cargo": ("cargo test", "test result: ok. 0 passed; 0 failed; 3 ignored; 0 measured; 0 filtered out\n"),
    "a wrapper": ("npm test --silent", "Tests:       0 total\n"),
    "tox": ("tox -e py", "py: commands[0]> pytest\n======= no tests ran in 0.01s =======\n  py: OK\n"),
}
FAILURES = {
    "pytest": "1 failed, 3 passed in 0.1s\n",
    "pytest, errors": "==== 2 passed, 1 error in 0.1s ====\n",
    "unittest": "Ran 3 tests in 0.1s\n\nFAILED (failures=1)\n",
    "jest": "Tests:       1 failed, 2 passed, 3 total\n",
    "vitest": "      Tests  1 failed | 2 passed (3)\n",
    "node": "# tests 2\n# suites 0\n# pass 1\n# fail 1\n",
    "go": "--- FAIL: TestA (0.00s)\nFAIL\nFAIL\tx\t0.002s\n",
    "cargo": "test result: FAILED. 1 passed; 1 failed; 0 ignored;\n",
}


@pytest.mark.parametrize(("command", "output"), SOMETHING.values(), ids=SOMETHING.keys())
def test_what_tested_something_is_believed(command: str, output: str) -> None:
    assert nothing_was_tested(command, output) == ""
    assert failures_in(output) == ""


@pytest.mark.parametrize(("command", "output"), NOTHING.values(), ids=NOTHING.keys())
def test_what_tested_nothing_is_not_believed(command: str, output: str) -> None:
    assert nothing_was_tested(command, output)


@pytest.mark.parametrize("output", FAILURES.values(), ids=FAILURES.keys())
def test_failures_are_read_from_the_closing_lines(output: str) -> None:
    assert "1 test failed" in failures_in(output)


def test_only_the_last_closing_line_of_a_runner_tells_of_failures() -> None:
    assert failures_in("1 failed in 0.1s\n3 passed in 0.1s\n") == ""


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("pytest", True),
        (".venv/bin/python -m pytest -q", True),
        ("uv run pytest", True),
        ("X=1 python -m unittest", True),
        ("npm run test:unit", True),
        ("yarn test", True),
        ("make check", True),
        ("tox", True),
        ("sh ci/run-tests.sh", True),
        ("./run_tests.sh", True),
        ("cargo test", True),
        ("go test ./...", True),
        ("test -f x && test -d y", False),
        ("grep -r pytest docs", False),
        ("ruff check src", False),
        ("python main.py", False),
        ("npm run build", False),
        ("", False),
    ],
)
def test_commands_that_run_tests_are_known(command: str, expected: bool) -> None:
    assert runs_tests(command) is expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("pytest", True),
        ("cd api && .venv/bin/python -m pytest -q", True),
        ("python3 -B -m unittest discover", True),
        ("npx vitest run", True),
        ("node --test", True),
        ("go test ./...", True),
        ("cargo nextest run", True),
        ("make test", False),
        ("npm test", False),
        ("sh ci/run-tests.sh", False),
        ("grep -r pytest docs", False),
        ("go build ./...", False),
        ("", False),
    ],
)
def test_a_command_names_a_runner_or_a_wrapper(command: str, expected: bool) -> None:
    assert names_runner(command) is expected


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("no tests ran in 0.01s\n", True),
        ("Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", True),
        ("No test files found, exiting with code 0\n", True),
        ("?   \tx\t[no test files]\n", True),
        ("4 passed in 0.12s\n", False),
        ("1 failed in 0.12s\n", False),
        ("1 error in 0.12s\n", False),
        ("no tests ran in 0.01s\nRan 2 tests in 0.1s\n\nOK\n", False),
        ("ModuleNotFoundError: No module named 'tests'\n", False),
        ("", False),
    ],
)
def test_only_a_runner_that_says_so_ran_no_test(output: str, expected: bool) -> None:
    assert ran_no_test(output) is expected


@given(st.text(max_size=300), st.text(max_size=2000))
def test_no_output_ever_breaks_it(command: str, output: str) -> None:
    assert isinstance(nothing_was_tested(command, output), str)
    assert isinstance(failures_in(output), str)


@given(st.integers(1, 10_000), st.integers(0, 50), st.text(alphabet="abc \n", max_size=200))
def test_a_single_passed_test_is_enough(passed: int, skipped: int, noise: str) -> None:
    assert nothing_was_tested("pytest", f"{noise}\n{passed} passed, {skipped} skipped in 1.00s\n") == ""
