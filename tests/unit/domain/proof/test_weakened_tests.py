"""Tests may be added; what they tested before, they must still test."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.proof.comparison import FileState, findings, summary, tell_agent
from ralph.domain.proof.protection import Protection
from ralph.domain.proof.weakened_tests import weaknesses, without_comments

PYTHON = '''"""Tests."""

import pytest
from shop import cart

LIMIT = 3


@pytest.fixture
def full():
    return cart(LIMIT)


def test_sum(full):
    assert full.sum() == 3


class TestCart:
    size = 2

    def test_size(self):
        assert cart(self.size).size == 2
'''
JAVASCRIPT = """import { sum } from './sum'

describe('sum', () => {
  it('adds', () => {
    expect(sum(1, 2)).toBe(3)
  })
})
"""
EXTENDED = {
    "nothing": ("", ""),
    "a new test": ("LIMIT = 3\n", "LIMIT = 3\n\n\ndef test_new():\n    assert True\n"),
    "a new import": ("import pytest\n", "import os\nimport pytest\n"),
    "a name more": ("from shop import cart", "from shop import cart, till"),
    "imports in another order": (
        "import pytest\nfrom shop import cart\n",
        "from shop import cart\nimport pytest\n",
    ),
    "a comment": ("    return cart(LIMIT)\n", "    # full\n    return cart(LIMIT)\n"),
    "another format": ("assert full.sum() == 3", "assert (\n        full.sum() == 3\n    )"),
    "a new method": ("    size = 2\n", "    size = 2\n\n    def test_more(self):\n        pass\n"),
    "a new constant": ("LIMIT = 3\n", "LIMIT = 3\nMORE = 4\n"),
    "a new fixture": ("LIMIT = 3\n", "LIMIT = 3\n\n\n@pytest.fixture\ndef empty():\n    return cart(0)\n"),
    "a main block": ("LIMIT = 3\n", "LIMIT = 3\nif __name__ == '__main__':\n    pytest.main()\n"),
}
WEAKENED = {
    "a changed assertion": ("== 3", ">= 0"),
    "a removed assertion": ("    assert full.sum() == 3\n", "    pass\n"),
    "an early return": ("    assert full.sum() == 3\n", "    return\n    assert full.sum() == 3\n"),
    "a skip": ("def test_sum", "@pytest.mark.skip\ndef test_sum"),
    "an expected failure": ("def test_sum", "@pytest.mark.xfail\ndef test_sum"),
    "another name": ("def test_sum", "def check_sum"),
    "a changed fixture": ("    return cart(LIMIT)\n", "    return fake()\n"),
    "a changed constant": ("LIMIT = 3\n", "LIMIT = 0\n"),
    "a constant again": ("LIMIT = 3\n", "LIMIT = 3\nLIMIT = 0\n"),
    "a mark for all": ("LIMIT = 3\n", "LIMIT = 3\npytestmark = pytest.mark.skip\n"),
    "a skip of the module": ("LIMIT = 3\n", "pytest.skip(allow_module_level=True)\nLIMIT = 3\n"),
    "an exit": ("LIMIT = 3\n", "LIMIT = 3\nimport sys\nsys.exit(0)\n"),
    "an end": ("LIMIT = 3\n", "LIMIT = 3\nraise SystemExit\n"),
    "another import": ("from shop import cart", "from fake import cart"),
    "a renamed import": ("from shop import cart", "from shop import cart\nfrom fake import cart as cart"),
    "a star": ("from shop import cart", "from shop import cart\nfrom fake import *"),
    "a removed class": ("class TestCart:", "class Cart:"),
    "a class that is not collected": ("    size = 2\n", "    size = 2\n    __test__ = False\n"),
    "a changed member": ("    size = 2\n", "    size = 0\n"),
    "a set-up": ("    size = 2\n", "    size = 2\n\n    def setup_method(self):\n        pytest.skip()\n"),
    "a hook": ("LIMIT = 3\n", "LIMIT = 3\n\n\ndef setup_module():\n    pytest.skip()\n"),
    "a fixture for all": (
        "LIMIT = 3\n",
        "LIMIT = 3\n\n\n@pytest.fixture(autouse=True)\ndef none():\n    pytest.skip()\n",
    ),
    "a deletion": ("LIMIT = 3\n", "LIMIT = 3\ndel cart\n"),
}


@pytest.mark.parametrize(("old", "new"), EXTENDED.values(), ids=EXTENDED.keys())
def test_python_tests_may_be_extended(old: str, new: str) -> None:
    assert old in PYTHON
    assert weaknesses("tests/test_cart.py", PYTHON, PYTHON.replace(old, new, 1)) == []


@pytest.mark.parametrize(("old", "new"), WEAKENED.values(), ids=WEAKENED.keys())
def test_python_tests_may_not_be_weakened(old: str, new: str) -> None:
    assert old in PYTHON
    assert weaknesses("tests/test_cart.py", PYTHON, PYTHON.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "is_kept"),
    [
        ("  it('adds'", "  it('more', () => {\n    expect(sum()).toBe(0)\n  })\n  it('adds'", True),
        ("{ sum }", "{ sum, difference }", True),
        ("toBe(3)", "toBeDefined()", False),
        ("    expect(sum(1, 2)).toBe(3)\n", "", False),
        ("it('adds'", "it.skip('adds'", False),
        ("  it('adds'", "  it.only('x', () => {})\n  it('adds'", False),
        ("    expect(sum", "    return\n    expect(sum", False),
        ("    expect(sum(1, 2)).toBe(3)\n", "    /*\n    expect(sum(1, 2)).toBe(3)\n    */\n", False),
        ("    expect(sum(1, 2)).toBe(3)\n", "    // expect(sum(1, 2)).toBe(3)\n", False),
        ("from './sum'", "from './fake'", False),
    ],
)
def test_other_tests_are_compared_by_their_lines(old: str, new: str, is_kept: bool) -> None:
    assert old in JAVASCRIPT
    found = weaknesses("src/sum.test.js", JAVASCRIPT, JAVASCRIPT.replace(old, new, 1))
    assert (found == []) is is_kept


def test_python_that_cannot_be_read_is_compared_by_its_lines() -> None:
    assert weaknesses("tests/test_a.py", "def test_a(:\n  x\n", "def test_a(:\n  x\n  y\n") == []
    assert weaknesses("tests/test_a.py", "def test_a(:\n  x\n", "def test_a(:\n  y\n")


NAMES = st.lists(st.sampled_from([f"test_{letter}" for letter in "abcdefgh"]), unique=True, max_size=6)


@given(NAMES, NAMES, st.randoms())
def test_adding_tests_is_never_held_against_anybody(old: list[str], new: list[str], chance: object) -> None:
    def module(names: list[str]) -> str:
        return "".join(f"def {name}():\n    assert {name!r}\n\n" for name in names)

    both = [*old, *(name for name in new if name not in old)]
    chance.shuffle(both)  # type: ignore[attr-defined]
    assert weaknesses("tests/test_x.py", module(old), module(both)) == []
    lost = weaknesses("tests/test_x.py", module(both), module(old))
    assert bool(lost) is (len(both) > len(old))


@given(st.text(max_size=500))
def test_comments_are_taken_out_of_anything(text: str) -> None:
    assert len(without_comments(text)) <= len(text)


@given(st.text(max_size=300))
def test_a_file_that_did_not_change_was_not_weakened(text: str) -> None:
    assert weaknesses("tests/test_a.js", text, text) == []
    assert weaknesses("tests/test_a.py", text, text) == []


# --- files ---

PROTECTION = Protection.of([("pytest", "."), ("./check.sh", ".")])


def found(path: str, before: str | None, after: str | None, *, had_tests: bool = True) -> str:
    state = FileState(
        path, None if before is None else before.encode(), None if after is None else after.encode()
    )
    return "; ".join(
        one.what for one in findings(PROTECTION, [state], known=["tests/test_x.py"] if had_tests else [])
    )


@pytest.mark.parametrize(
    ("path", "before", "after", "expected"),
    [
        ("tests/test_a.py", "x = 1\n", None, "was deleted, or moved away"),
        ("tests/test_a.py", None, "import os\n", ""),
        ("tests/data/a.txt", "1\n2\n", "1\n2\n3\n", ""),
        ("tests/data/a.txt", "1\n2\n", "1\n3\n", "a line was changed, moved or removed: 2"),
        ("tests/data/a.bin", "\0a", "\0b", "was changed"),
        ("tests/test_a.py", "x = 1\r\n", "x = 1\n", ""),
        ("check.sh", "exit 1\n", "exit 0\n", "was changed"),
        ("check.sh", None, "exit 0\n", ""),
        ("pytest.ini", None, "[pytest]\n", "was added"),
        ("conftest.py", None, "def pytest_configure():\n    pass\n", "pytest_configure would run around"),
        ("conftest.py", None, "import pytest\n\n@pytest.fixture\ndef x():\n    return 1\n", ""),
        (
            "pyproject.toml",
            "[tool.pytest.ini_options]\naddopts = '-q'\n",
            "[tool.pytest.ini_options]\naddopts = '--co'\n",
            "decides what is verified, and was changed: tool.pytest",
        ),
        ("pyproject.toml", "[project]\nname = 'a'\n", "[project]\nname = 'b'\n", ""),
        ("pyproject.toml", "[project]\n", "not toml at all [", "it can no longer be read"),
        ("package.json", '{"scripts": {"test": "jest"}}', '{"scripts": {"test": "true"}}', "scripts test"),
        ("package.json", '{"scripts": {"test": "jest"}}', '{"scripts": {"test": "jest", "x": "y"}}', ""),
        (
            "package.json",
            '{"scripts": {"test": "jest"}}',
            '{"scripts": {"test": "jest", "pretest": "y"}}',
            "scripts pretest",
        ),
        ("package.json", '{"scripts": {"test": "jest"}}', None, "scripts test"),
        ("package.json", None, '{"scripts": {"test": "jest"}}', ""),
        ("setup.cfg", "[tool:pytest]\naddopts = -q\n", "[tool:pytest]\naddopts = --co\n", "tool:pytest"),
        ("setup.cfg", "[metadata]\nname = a\n", "[metadata]\nname = b\n", ""),
        ("Cargo.toml", "[lib]\ntest = true\n", "[lib]\ntest = false\n", "lib"),
        ("Cargo.toml", "[dependencies]\n", "[dependencies]\nx = '1'\n", ""),
        ("README.md", "a", None, ""),
    ],
)
def test_what_became_of_a_file_is_judged_by_its_kind(
    path: str, before: str | None, after: str | None, expected: str
) -> None:
    what = found(path, before, after)
    assert (expected in what) if expected else not what


def test_where_there_were_no_tests_their_settings_may_be_made() -> None:
    assert found("pytest.ini", None, "[pytest]\n", had_tests=False) == ""
    assert found("pyproject.toml", None, "[tool.pytest.ini_options]\n", had_tests=False) == ""
    assert found("sitecustomize.py", None, "import os\n", had_tests=False) == "was added"


def test_what_is_told_says_how_to_undo_it() -> None:
    state = FileState("tests/test_a.py", b"x = 1\n", None)
    text = tell_agent(findings(PROTECTION, [state], known=[]), "0123456789abcdef")

    assert "- tests/test_a.py: was deleted, or moved away" in text
    assert "git checkout 0123456789ab -- FILE" in text
    assert "mayChange" in text


def test_the_summary_names_the_files_once() -> None:
    states = [FileState(f"tests/test_{name}.py", b"x = 1\n", None) for name in "ab"]
    assert summary(findings(PROTECTION, states, known=[]), []) == (
        "changed what proves the work: tests/test_a.py, tests/test_b.py"
    )
    assert summary((), ["tests/test_c.py", "README.md"]) == "1 test file added or extended"
    assert summary((), []) == "what proves the work is unchanged"


def test_a_large_file_that_changed_wholly_is_compared_in_no_time() -> None:
    """Quadratic, this would take longer than a test may."""
    before, after = ("\n".join(f"{word} {number}" for number in range(150_000)) for word in ("old", "new"))
    assert len(weaknesses("tests/data.json", before, after)) == 3
