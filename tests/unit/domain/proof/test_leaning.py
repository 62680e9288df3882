"""What tests lean on outside of their folders is found by who names it."""

from __future__ import annotations

import pytest

from ralph.domain.proof.leaning import data_of_tests, helpers_in, loaded_by

PATHS = frozenset(
    ("data/cases.csv", "docs/a.md", "shop.py", "tests/test_shop.py", "support/plug.py", "support/setup.ts", "web/setup.js", "lib/check.go")
)  # fmt: skip


@pytest.mark.parametrize(
    ("quoted", "expected"),
    [
        ('"data/cases.csv"', {"data/cases.csv"}),
        ("'../data/cases.csv'", {"data/cases.csv"}),
        ("'data/none.csv'", set()),
        ("'docs/a.md'", set()),  # prose
        ("'support/plug.py'", set()),  # code: it may be what is tested
    ],
)
def test_data_is_what_a_test_names(quoted: str, expected: set[str]) -> None:
    assert data_of_tests([("tests/test_shop.py", quoted)], PATHS) == expected


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("conftest.py", 'pytest_plugins = ["support.plug"]\n', {"support/plug.py"}),
        ("pyproject.toml", '[tool.pytest.ini_options]\naddopts = "-q -p support.plug"\n', {"support/plug.py"}),
        ("web/package.json", '{"jest": {"setupFiles": ["<rootDir>/setup.js"]}}', {"web/setup.js"}),
        ("vitest.config.ts", "export default { test: {\n  setupFiles: [\n    './support/setup',\n  ] } }", {"support/setup.ts"}),
        ("pyproject.toml", '[project]\nname = "shop"\n', set()),
    ],
)  # fmt: skip
def test_settings_name_what_is_loaded(file: str, text: str, expected: set[str]) -> None:
    assert loaded_by({file: text}, PATHS) == expected


def test_who_uses_a_test_framework_helps_tests_unless_the_whole_project_does() -> None:
    assert helpers_in([("lib/check.go", '"testing"')], PATHS) == {"lib/check.go"}
    assert helpers_in([("lib/check.go", '"testing"')], {"lib/check.go", "lib/check_test.go"}) == frozenset()
