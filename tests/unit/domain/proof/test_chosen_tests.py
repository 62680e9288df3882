"""Which commands run only some tests."""

from __future__ import annotations

import pytest

from ralph.domain.proof.chosen_tests import chooses_tests


@pytest.mark.parametrize(
    "command",
    [
        "pytest -q tests -k add",
        "pytest -k 'add or sub'",
        "pytest tests/test_calc.py::test_add",
        "python -m pytest -m 'not slow'",
        "python3 -m pytest -m slow tests",
        "pytest --deselect tests/test_a.py::test_b",
        "pytest --lf",
        "python -m unittest -k add",
        "python -m unittest tests.test_shop.ShopTest",
        "python -m unittest tests.test_shop.ShopTest.test_total",
        "npx jest -t adds",
        "vitest run --testNamePattern adds",
        "mocha --grep adds",
        "node --test --test-name-pattern=adds",
        "go test ./... -run TestAdd",
        "go test -run=TestAdd ./...",
        "cargo test adds",
        "cargo test --lib parser::adds",
        "cargo test -- --skip slow",
    ],
)
def test_some_tests(command: str) -> None:
    assert chooses_tests(command)


@pytest.mark.parametrize(
    "command",
    [
        "pytest",
        "pytest -q",
        "pytest -q tests/test_calc.py",
        "python -m pytest -q",
        "python3 -m coverage run -m pytest",
        "python -m unittest",
        "python -m unittest discover -s tests",
        "python3 -m unittest tests.test_shop",
        "npx jest --coverage",
        "vitest run",
        "node --test",
        "node --test tests/",
        "go test ./...",
        "go test -race -count=1 ./...",
        "cargo test",
        "cargo test --workspace",
        "make test",
    ],
)
def test_all_tests(command: str) -> None:
    assert not chooses_tests(command)
