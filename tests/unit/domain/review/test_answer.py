"""A reviewer's answer: read strictly, and what cannot be read is never "no findings"."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.review.answer import MOST_FINDINGS, read_answer, why_no_block
from ralph.domain.review.document import document_of, review_of
from ralph.domain.review.finding import Finding, Place, Review, Severity, count_words, identify, locate

FINDING: dict[str, Any] = {"severity": "low", "title": "t", "explanation": "e"}


def said(*findings: object) -> list[str]:
    return [json.dumps({"findings": findings})]


def test_a_full_finding() -> None:
    given_ = {**FINDING, "file": "./src//a.py", "line": 3, "endLine": 5, "suggestion": "s"}

    answer = read_answer(said(given_))

    assert not answer.problems
    assert answer.findings == (
        Finding(
            severity=Severity.LOW,
            title="t",
            explanation="e",
            suggestion="s",
            file="src/a.py",
            line=3,
            end_line=5,
        ),
    )


@pytest.mark.parametrize(
    "content", ['{"findings": []}', '```json\n{"findings": []}\n```', '```\n{"findings": []}\n```']
)
def test_nothing_found_must_be_said(content: str) -> None:
    assert read_answer(["garbage", content]).problems == ()


@pytest.mark.parametrize(
    ("contents", "wrong"),
    [
        ([], "is missing"),
        ([""], "it is empty"),
        (["[]"], "expected an object"),
        (["{}"], "findings: expected a list, it is missing"),
        (['{"findings": null}'], "expected a list"),
        (['{"findings": [], "findings": []}'], "appears twice"),
        (['{"findings": [], "verdict": "fine"}'], "verdict: unknown key"),
        (['{"findings": []} and more'], "more text after the end"),
        (['{"findings": []}', "no"], "not JSON"),
        (said("x"), "findings[0]: expected an object"),
        (said({**FINDING, "severity": "High"}), "did you mean high?"),
        (said({**FINDING, "severity": ""}), "findings[0].severity"),
        (said({**FINDING, "title": ""}), "findings[0].title: is missing"),
        (said({**FINDING, "title": "a\nb"}), "expected one line"),
        (said({**FINDING, "title": "a" * 201}), "longer than 200"),
        (said({**FINDING, "explanation": " "}), "findings[0].explanation: is missing"),
        (said({**FINDING, "line": 3}), "findings[0].file"),
        (said({**FINDING, "file": "a", "line": 0}), "at least 1"),
        (said({**FINDING, "file": "a", "line": "3"}), "expected a whole number"),
        (said({**FINDING, "file": "a", "line": 3, "endLine": 2}), "findings[0].endLine"),
        (said({**FINDING, "file": "a", "endLine": 2}), "findings[0].endLine"),
        (said({**FINDING, "file": "a\nb"}), "findings[0].file"),
        (said({**FINDING, "title": "\ud800"}), "not text"),
        (said(*[FINDING] * (MOST_FINDINGS + 1)), f"has {MOST_FINDINGS + 1} entries"),
    ],
)
def test_what_is_wrong_is_told(contents: list[str], wrong: str) -> None:
    answer = read_answer(contents)

    assert answer.findings == ()
    assert wrong in "\n".join(map(str, answer.problems))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("All is well.", "is missing"),
        ("x" * 30_000, "is missing"),
        ("<Review-1>{}", "has no end"),
        (f"<review-1>{'x' * 20_001}</review-1>", "longer than 20,000"),
        (f"{'x' * 20_001}<review-1>", "has no end"),
        (f"the beginning was left out {'x' * 20_000}</review-1>", "longer than 20,000"),
    ],
)
def test_why_there_is_no_block(text: str, why: str) -> None:
    assert why in why_no_block(text, "review-1")


def test_a_path_in_the_checkout_is_one_of_the_repository() -> None:
    found = read_answer(said({**FINDING, "file": "/runs/1/src/a.py"}), checkout="/runs/1").findings[0]
    assert found.file == "src/a.py"


@given(st.text())
def test_no_text_is_a_pass_by_accident(text: str) -> None:
    answer = read_answer([text])

    assert answer.problems or json.loads(text)["findings"] == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*FINDING, "file", "line"]), inner)
    ),
    max_leaves=8,
)


@given(st.lists(JSON, min_size=1, max_size=3))
def test_any_list_is_read_or_refused_as_a_whole(findings: list[object]) -> None:
    answer = read_answer(said(*findings))

    assert bool(answer.problems) != (len(answer.findings) == len(findings))


# --- places ---


@pytest.mark.parametrize(
    ("file", "line", "end", "lines", "place"),
    [
        ("a", 1, 2, ["x", "y"], Place.LINE),
        ("a", 2, 3, ["x", "y"], Place.FILE),
        ("a", 0, 0, ["x"], Place.FILE),
        ("a", 1, 1, [], Place.FILE),
        ("a", 1, 1, None, Place.NOT_FOUND),
        ("", 0, 0, None, Place.NONE),
    ],
)
def test_a_place_is_believed_only_if_it_is_there(
    file: str, line: int, end: int, lines: list[str] | None, place: Place
) -> None:
    finding = Finding(severity=Severity.LOW, title="t", explanation="e", file=file, line=line, end_line=end)
    assert locate(finding, lines).place is place


FINDINGS = st.builds(
    Finding,
    severity=st.sampled_from(Severity),
    title=st.text(min_size=1, max_size=5),
    explanation=st.text(max_size=5),
    file=st.sampled_from(["", "a", "b"]),
    line=st.integers(0, 3),
    end_line=st.integers(0, 3),
    suggestion=st.text(max_size=5),
)
FILES = {"a": ["x", " x", "y"], "b": ["x"]}


@given(st.lists(FINDINGS, max_size=12), st.randoms())
def test_fingerprints_differ_and_do_not_depend_on_the_order(findings: list[Finding], chance: Any) -> None:
    def named(each: list[Finding]) -> tuple[Finding, ...]:
        return identify((locate(one, FILES.get(one.file)), FILES.get(one.file)) for one in each)

    first = named(findings)
    assert len({one.fingerprint for one in first}) == len(findings)
    assert [one.severity.rank for one in first] == sorted(one.severity.rank for one in findings)
    shuffled = [*findings]
    chance.shuffle(shuffled)
    assert sorted(one.fingerprint for one in named(shuffled)) == sorted(one.fingerprint for one in first)


@given(st.lists(FINDINGS, max_size=5))
def test_what_is_kept_is_what_was_found(findings: list[Finding]) -> None:
    review = Review(what="w", commit="c", base="b", base_name="main", agent="x", findings=tuple(findings))
    assert review_of(json.loads(json.dumps(document_of(review)))) == review


def test_counts_in_words() -> None:
    one = Finding(severity=Severity.LOW, title="t", explanation="e")
    assert count_words([]) == "no findings"
    assert count_words([one, one]) == "2 findings: 2 low"
