"""What failed, found in outputs that the runners really printed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.proof.failures.search import REST, find_failures
from ralph.domain.text.excerpt import TRUNCATION_MARK

DATA = Path(__file__).parents[3] / "data" / "failures"
HEADLINES = {
    "pytest": (
        "ERROR test_p.py::test_fix - RuntimeError: no database",
        "FAILED test_p.py::test_sum - AssertionError: assert {'a': 1, 'b': [1, 2]} == ...",
    ),
    "pytest_collect": ("ERROR test_c.py", "ModuleNotFoundError: No module named 'absent'"),
    "unittest": (
        "ERROR: test_other (test_cart.Cart.test_other): KeyError: 'missing'",
        "FAIL: test_sum (test_cart.Cart.test_sum): AssertionError: -1 != 3",
    ),
    "node_tap": ("adds: Expected values to be strictly equal:; expected: 3", "sums: 'x is not a function'"),
    "node_spec": (
        (
            "adds: AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:;"
            " at TestContext.<anonymous> (/project/cart.test.js:2:29)"
        ),
        "sums: TypeError [Error]: x is not a function; at TestContext.<anonymous> (/project/cart.test.js:4:61)",
    ),
    "jest": (
        "● cart \u203a adds: Expected: 3; Received: -1",
        "● throws: TypeError: x is not a function; at Object.<anonymous> (sum.test.js:3:30)",
    ),
    "jest_suite": (
        "● Test suite failed to run",
        "Cannot find module './absent' from 'none.test.js'",
        "at Resolver._throwModNotFoundError (node_modules/jest-resolve/build/index.js:1031:11)",
        "at Object.require (none.test.js:1:11)",
    ),
    "vitest": (
        "v/sum.test.mjs > cart > adds: AssertionError: expected -1 to be 3 // Object.is equality; - 3",
        "v/sum.test.mjs > throws: TypeError: x is not a function; v/sum.test.mjs:4:30",
    ),
    "vitest_suite": (
        "v/none.test.mjs [ v/none.test.mjs ]",
        "Error: Cannot find module './absent.mjs' imported from /project/v/none.test.mjs",
        "v/none.test.mjs:1:1",
    ),
    "go": (
        "TestAdd: cart_test.go:9: Add(1, 2) = -1, want 3",
        "TestTable: cart_test.go:14: hello; cart_test.go:14: no cart",
    ),
    "go_v": (
        "TestAdd: cart_test.go:9: Add(1, 2) = -1, want 3",
        "TestTable: cart_test.go:14: hello; cart_test.go:14: no cart",
    ),
    "go_build": ("example.com/cart", "./broken.go:3:28: undefined: missing"),
    "cargo": ("tests::gives_up: no cart", "tests::adds: assertion `left == right` failed; left: -1"),
    "rustc": ("error[E0425]: cannot find value `missing` in this scope", "src/lib.rs:1:45"),
}


@pytest.mark.parametrize("runner", sorted(path.stem for path in DATA.iterdir()))
def test_what_failed_comes_first(runner: str) -> None:
    noise = "".join(f"compiling {number}\n" for number in range(500))
    output = (DATA / f"{runner}.txt").read_text()

    found = find_failures(noise + output + "Done.\n")

    assert found is not None
    assert found.headlines(5) == HEADLINES[runner]
    told = found.excerpt(6_000)
    first, _, rest = told.partition(REST)
    assert "compiling" not in first
    assert rest.startswith("\ncompiling 0\n")
    assert rest.endswith("Done.")
    assert TRUNCATION_MARK in rest
    assert all(line in first for one in found.failures for line in (one.title, *one.why))


def test_many_failures_are_counted_and_cut() -> None:
    output = (
        "".join(f"--- FAIL: Test{number} (0.00s)\n    a_test.go:1: no\n" for number in range(9)) + "FAIL\n"
    )
    found = find_failures(output)
    assert found is not None
    assert found.headlines(3) == ("Test0: a_test.go:1: no", "Test1: a_test.go:1: no", "... and 7 more")
    assert found.excerpt(60).startswith("--- FAIL: Test0 (0.00s)\n    a_test.go:1: no\n")


@pytest.mark.parametrize(
    "output",
    [
        "",
        "FAIL: lint\n",
        "error: could not compile\n",
        "3 failed\n",
        "# tests 3\n# fail 0\n",
        "not ok\n",
        "● hm\n",
    ],
)
def test_what_no_known_runner_says_is_left_alone(output: str) -> None:
    assert find_failures(output) is None


PIECES = [
    "=== FAILURES ===",
    "___ t ___",
    "E  x",
    "not ok 1 - a",
    "...",
    "--- FAIL: T",
    "failures:",
    "---- t stdout ----",
]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=5)), st.integers(1, 200))
def test_whatever_was_printed_the_excerpt_is_bounded(lines: list[str], limit: int) -> None:
    found = find_failures("\n".join(lines))
    if found is not None:
        assert len(found.excerpt(limit)) <= limit + 2 * len(TRUNCATION_MARK) + len(REST) + 6
        assert len(found.headlines(5)) <= 5
