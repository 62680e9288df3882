"""Rules that read what an agent wrote take a moment, whatever it is: nothing else of ralph runs meanwhile."""

from __future__ import annotations

import pytest

from ralph.domain.proof.build_files import changed_sections
from ralph.domain.proof.canary import plan_canaries
from ralph.domain.proof.inner_tests import inner_weaknesses
from ralph.domain.proof.protection import Protection
from ralph.domain.proof.tests_review import read_answer
from ralph.domain.proof.weakened_tests import weaknesses

RUST = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn sums() { assert_eq!(sum(), 3); }\n}\n"
TIMES = 40_000


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "unit", ["\n", " ", "/*", '\\"', "'\\", "#[a]\n", "#[test]\n", "x::", "///", "// assert ", "a => ", "{"]
)
def test_repeated_text_is_read_once(unit: str) -> None:
    hostile = unit * TIMES
    assert not inner_weaknesses("lib.rs", RUST, RUST + hostile)
    assert not weaknesses("a.test.js", "expect(1)\n", "expect(1)\n" + hostile)
    assert not changed_sections("go.mod", "module a\n", "module a\n" + hostile)


@pytest.mark.parametrize(
    ("name", "before", "hostile"),
    [
        ("pyproject.toml", "", f"a = {'[' * 5_000}"),
        ("Cargo.toml", "", f"a = {'{b = ' * 5_000}"),
        ("package.json", "{}", "[" * 100_000),
        ("package.json", "{}", '{"a":' * 100_000),
    ],
)
def test_text_that_is_nested_without_end_cannot_be_read(name: str, before: str, hostile: str) -> None:
    assert changed_sections(name, before, hostile) == ["it can no longer be read"]
    assert changed_sections(name, hostile, before) == ["all of it (it could not be read)"]


def test_nested_json_is_no_answer_and_names_no_runner() -> None:
    nested = "[" * 100_000
    files = {"a.test.js": "test('a', () => {})\n", "package.json": nested}
    assert read_answer([nested], ["a.test.js"]) is None
    assert plan_canaries(files, files.get, "abcd")
    protection = Protection.of([("npm test", "")])
    assert protection.following(files.get).scripts == protection.scripts
