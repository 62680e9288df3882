"""tasks.json: what is read, everything that is found wrong with it, and what survives writing it back."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.plan_documents import document_in, story_json, tasks_document, tasks_json

from ralph.domain.plan.document import (
    LARGEST_CHARS,
    TasksDocument,
    problems,
    problems_of_text,
    read_document,
)
from ralph.domain.plan.story import Review


def found(document: Any) -> list[str]:
    return [str(problem) for problem in problems_of_text(json.dumps(document))]


def without(value: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key != name}


def test_a_sound_document_is_read_with_its_stories() -> None:
    document = document_in(
        json.dumps(
            tasks_json(
                story_json("A", reviewStatus="needs_review", reviewCount=2, dependsOn=["B"]),
                story_json("B", priority=0.5),
                verifyCommands=["make test"],
            )
        )
    )

    assert [story.id for story in document.stories] == ["A", "B"]
    assert document.story("A").review is Review.NEEDED
    assert document.story("A").depends_on == ("B",)
    assert document.verify_commands == ("make test",)
    assert (document.project, document.branch_name, document.description) == ("search", "ralph/search", "")
    assert problems(document) == ()


def test_unknown_fields_and_the_order_of_all_survive() -> None:
    raw = {"x": {"y": [1, None]}, **tasks_json({"estimate": "2d", **story_json("A"), "zeta": 1.5})}
    document = document_in(json.dumps(raw))

    changed = document.with_story(replace(document.story("A"), passes=True, notes="did it"))

    assert json.loads(document.text()) == raw
    assert list(json.loads(document.text())) == list(raw)
    entry = json.loads(changed.text())["userStories"][0]
    assert list(entry) == list(raw["userStories"][0])
    assert entry == {**raw["userStories"][0], "passes": True, "notes": "did it"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not valid JSON: line 1, column 1: it is empty"),
        ("{", "not valid JSON: line 1, column 2: expected a name in double quotes, but the text ends here"),
        ("[]", "must be an object, not an array"),
        ("null", "must be an object, not null"),
        ('{"a": 1, "a": 2}', "not valid JSON: line 1: 'a' appears twice in one object"),
        ('{"a": NaN}', "not valid JSON: line 1, column 7: NaN is not JSON"),
        ('{"a": 1e999}', "not valid JSON: line 1, column 7: the number 1e999 is too large"),
        ('{"a": ' + "9" * 5000 + "}", f"not valid JSON: line 1, column 7: the number {'9' * 40}… is too large"),
        ("[" * 200_000, "not valid JSON: line 1, column 65: nested deeper than 64 levels"),
        ("{}" + " " * LARGEST_CHARS, "the file is larger than 20 million characters"),
    ],
)  # fmt: skip
def test_text_that_is_no_document_has_one_problem_that_says_so(text: str, message: str) -> None:
    (problem,) = problems_of_text(text)[:1]
    assert message in str(problem)


@pytest.mark.parametrize("name", ["project", "branchName", "description", "userStories"])
def test_each_required_top_level_field_is_missed(name: str) -> None:
    assert f"{name} is missing" in found(without(tasks_json(), name))


@pytest.mark.parametrize(
    "name",
    ["id", "title", "passes", "priority", "acceptanceCriteria", "reviewStatus", "reviewCount", "reviewFeedback"],
)  # fmt: skip
def test_each_required_field_of_a_story_is_missed(name: str) -> None:
    (problem,) = found(tasks_json(without(story_json("A"), name)))
    assert problem == f"{'userStories[0]' if name == 'id' else 'A'}: {name} is missing"


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("id", 1, "userStories[0]: id must be a string, not a number"),
        ("id", " ", "userStories[0]: id must be a short line of visible text"),
        ("id", "a\nb", "userStories[0]: id must be a short line of visible text"),
        ("id", "x" * 201, "userStories[0]: id must be a short line of visible text"),
        ("title", None, "A: title must be a string, not null"),
        ("passes", 1, "A: passes must be true or false, not a number"),
        ("passes", "true", "A: passes must be true or false, not a string"),
        ("priority", "1", "A: priority must be a number, not a string"),
        ("priority", True, "A: priority must be a number, not true"),
        ("acceptanceCriteria", [], "A: acceptanceCriteria must not be empty"),
        ("acceptanceCriteria", "x", "A: acceptanceCriteria must be an array, not a string"),
        ("acceptanceCriteria", ["x", ""], 'A: acceptanceCriteria[1] must be a string that is not empty, not ""'),
        ("reviewStatus", "done", 'A: reviewStatus must be null or one of "needs_review", "changes_requested", "approved", not "done"'),
        ("reviewStatus", ["approved"], 'A: reviewStatus must be null or one of "needs_review", "changes_requested", "approved", not ["approved"]'),
        ("reviewCount", -1, "A: reviewCount must not be negative, but is -1"),
        ("reviewCount", 1.5, "A: reviewCount must be a whole number, not a number"),
        ("reviewCount", True, "A: reviewCount must be a whole number, not true"),
        ("reviewFeedback", None, "A: reviewFeedback must be a string, not null"),
        ("notes", 3, "A: notes must be a string, not a number"),
        ("dependsOn", "B", "A: dependsOn must be an array, not a string"),
        ("dependsOn", ["B"], "A: dependsOn names 'B', which is not a story"),
        ("dependsOn", ["A"], "A: dependsOn goes in a circle: A → A"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named_with_its_story(field: str, value: object, message: str) -> None:
    assert message in found(tasks_json(story_json("A", **{field: value})))


def test_every_problem_is_listed_not_only_the_first() -> None:
    listed = found(
        tasks_json(
            story_json("A", dependsOn=["B"]),
            story_json("B", dependsOn=["C"]),
            story_json("C", dependsOn=["A", "nobody"]),
            story_json("D", title=7),
            story_json("D", passes="no"),
            "not a story",  # type: ignore[arg-type]
            verifyCommands=["ok", 5],
        )
    )

    assert listed == [
        "verifyCommands[1] must be a string that is not empty, not 5",
        "D: title must be a string, not a number",
        "D: passes must be true or false, not a string",
        "userStories[5]: must be an object, not a string",
        "D: id appears 2 times; ids must be unique",
        "C: dependsOn names 'nobody', which is not a story",
        "A: dependsOn goes in a circle: A → B → C → A",
    ]


def test_a_story_that_passes_without_notes_is_a_problem_but_can_be_read() -> None:
    document = document_in(json.dumps(tasks_json(story_json("A", passes=True, reviewStatus="approved"))))

    assert [str(problem) for problem in problems(document)] == [
        "A: passes is true but notes is empty; write down what was done"
    ]


def test_ten_thousand_stories_that_depend_on_each_other_are_read() -> None:
    chain = [story_json(f"S{n}", dependsOn=[f"S{n - 1}"] if n else []) for n in range(10_000)]

    assert problems(tasks_document(*chain)) == ()
    chain[0]["dependsOn"] = ["S9999"]
    (problem,) = problems(tasks_document(*chain))
    assert "goes in a circle" in problem.message


def test_what_a_problem_quotes_is_bounded() -> None:
    (problem,) = found(tasks_json(story_json("A", dependsOn=["x" * 100_000])))
    assert len(problem) < 1000


def test_half_characters_can_be_written() -> None:
    document = document_in(json.dumps(tasks_json(story_json("A", notes="\ud800"))))

    assert document_in(document.text().encode().decode()) == document


def test_deep_nesting_in_a_field_of_ones_own_is_refused() -> None:
    nested: object = 0
    for _ in range(70):
        nested = [nested]

    (problem,) = found(tasks_json(extra=nested))
    assert problem.endswith("nested deeper than 64 levels")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "title", "x"]), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(
    st.dictionaries(st.sampled_from(list(tasks_json())), JSON),
    st.dictionaries(st.sampled_from(list(story_json())), JSON),
)
def test_whatever_stands_in_it_reading_never_raises(top: dict[str, Any], story: dict[str, Any]) -> None:
    for value in (top, tasks_json({**story_json(), **story}), tasks_json(story)):
        read = read_document(json.dumps(value))
        if isinstance(read, TasksDocument):
            assert document_in(read.text()) == read
            assert all(story.id for story in read.stories)
        else:
            assert read


@given(st.text(max_size=30))
def test_no_text_makes_reading_raise(text: str) -> None:
    assert read_document(text) is not None
