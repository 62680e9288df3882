"""What fresh eyes are shown of changed tests: all of it, or they are not asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.proof.comparison import FileState, Finding
from ralph.domain.proof.tests_review import (
    DIFF_CHARS,
    QUESTIONS,
    Change,
    changes_of,
    portions_of,
    question,
    read_answer,
)

TEST = (
    b"import shop\n\n\ndef test_a():\n    assert shop.a() == 1\n\n\ndef test_b():\n    assert shop.b() == 2\n"
)
RENAMED = TEST.replace(b"shop", b"store", 2)


@given(st.lists(st.integers(0, DIFF_CHARS + 10_000), max_size=20))
def test_every_change_is_shown_whole_or_named_as_too_large(sizes: list[int]) -> None:
    changes = [Change(f"tests/{number}", "x" * size) for number, size in enumerate(sizes)]
    portions, too_much = portions_of(changes)

    shown = [change for portion in portions for change in portion]
    assert sorted([*(change.path for change in shown), *too_much]) == sorted(one.path for one in changes)
    assert len(portions) <= QUESTIONS
    for portion in portions:
        assert sum(len(change.diff) for change in portion) <= DIFF_CHARS
        asked = question("Do it.", [], portion, tag="tests-1")
        assert all(change.path in asked and change.diff in asked for change in portion)


@pytest.mark.parametrize("size", [DIFF_CHARS + 1, DIFF_CHARS * (QUESTIONS + 1)])
def test_one_change_that_is_too_large_fits_into_no_question(size: int) -> None:
    assert portions_of([Change("tests/a", "x" * size)]) == ((), ("tests/a",))


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ({"tests/test_store.py": RENAMED}, "tests/test_store.py"),
        ({"tests/test_new.py": b"def test_c():\n    assert 3\n", "tests/test_store.py": TEST}, "tests/test_store.py"),
        ({"tests/test_new.py": b"def test_c():\n    assert 3\n"}, ""),
        ({"tests/store.py": RENAMED}, ""),
        ({"store.py": RENAMED}, ""),
        ({}, ""),
    ],
    ids=["changed", "the likelier one", "something else", "no longer found by its name", "no test", "gone"],
)  # fmt: skip
def test_what_a_deleted_test_became_is_shown(new: dict[str, bytes], expected: str) -> None:
    states = [FileState("tests/test_shop.py", TEST, None), *(FileState(path, None, text) for path, text in new.items())]  # fmt: skip
    (change,) = changes_of(["tests/test_shop.py"], states)

    assert change.new_path == expected
    assert ("-    assert shop.b() == 2" in change.diff) == (not expected)


@pytest.mark.parametrize("end", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\r", "\x00", "\u202e"])
def test_nothing_hides_behind_a_character_that_shows_nothing(end: str) -> None:
    before, after = "a = 1  # why\nassert a\n", f"a = 1  # why{end}assert a\n"
    (change,) = changes_of(["t.py"], [FileState("t.py", before.encode(), after.encode())])

    assert "-assert a" in change.diff.split("\n")
    assert end not in change.diff


LINES = st.lists(st.sampled_from(["", "a", "b", "    assert f(1) == 2", "-", "+++", "@@"]), max_size=30)


@given(LINES, LINES)
def test_a_diff_has_everything_that_differs(before: list[str], after: list[str]) -> None:
    assert_is_diff(["begin", *before, "end"], ["begin", *after, "end"])


@pytest.mark.parametrize("different", [100, 120])
@pytest.mark.parametrize("changed", [3, 50])
def test_large_files_of_the_same_few_lines_are_not_compared_for_minutes(different: int, changed: int) -> None:
    before = [f"row {number % different}" for number in range(20_000)]
    after = [line if number % changed else f"other {number}" for number, line in enumerate(before)]
    assert_is_diff(before, after)


def test_one_change_of_a_large_file_is_a_small_diff() -> None:
    before = [f"    assert row({number % 100})" for number in range(20_000)]
    after = [*before[:9_000], "    assert True", *before[9_001:]]
    assert assert_is_diff(before, after) < 20


def assert_is_diff(before: list[str], after: list[str]) -> int:
    """What is taken away and added makes one of the other. Returns its number of lines."""
    state = FileState("tests/a.txt", "\n".join(before).encode(), "\n".join(after).encode())
    (change,) = changes_of([state.path], [state])
    made, place = list[str](), 0
    _, _, *lines = change.diff.split("\n")
    for line in lines:
        if line.startswith("@@ -"):
            start = int(line.split()[1].partition(",")[0][1:]) - 1
            made += before[place:start]
            place = start
        elif line[0] == "+":
            made.append(line[1:])
        else:
            assert before[place] == line[1:]
            made += [line[1:]] if line[0] == " " else []
            place += 1
    assert made + before[place:] == after
    return len(lines)


def test_an_escape_sequence_hides_no_lines() -> None:
    (change,) = changes_of(["t.py"], [FileState("t.py", b"", b"# \x1b]0;\nassert True\n# \x07\n")])

    assert "+assert True" in change.diff


def test_a_file_that_differs_by_its_mode_only_is_asked_about_too() -> None:
    (change,) = changes_of(["tests/run.sh", "tests/run.sh"], [])

    assert change.path == "tests/run.sh"
    assert "its mode" in change.diff


def test_what_is_no_text_is_named_with_its_size() -> None:
    (change,) = changes_of(["tests/a.png"], [FileState("tests/a.png", b"\xff" * 10, None)])

    assert change.diff == "tests/a.png: not a text; 10 bytes became nothing"


def test_a_question_names_what_was_found_and_what_a_test_became() -> None:
    asked = question(
        "Rename it.",
        [Finding("tests/a.py", "was deleted"), Finding("tests/b.py", "is not asked about here")],
        [Change("tests/a.py", "-x", "tests/c.py")],
        tag="tests-1",
    )

    assert '- "tests/a.py": was deleted; it may have become "tests/c.py"' in asked
    assert "tests/b.py" not in asked


@pytest.mark.parametrize(
    ("contents", "demanded"),
    [
        (['{"a": {"demanded": true, "why": "x"}}'], True),
        (['{"a": {"demanded": false}}'], False),
        (['{"a": {"demanded": true}}', '{"a": {"demanded": false}}'], False),
        (['{"a": {"demanded": 1}}'], False),
        (['{"b": {"demanded": true}}'], False),
        (["[]"], None),
        (["yes"], None),
        ([], None),
    ],
)
def test_only_a_clear_yes_is_one(contents: list[str], demanded: bool | None) -> None:
    said = read_answer(contents, ["a"])

    assert (None if said is None else said["a"].demanded) is demanded
