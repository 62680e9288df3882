"""Criteria and specs as values: their fields, there and back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.tasks.completion import CompletionCriteria, TaskCompletionSpec, VerificationMethod

CRITERIA = st.builds(
    CompletionCriteria,
    promise=st.text(),
    description=st.text(),
    verification_method=st.sampled_from([*VerificationMethod, "", "mine.checks:Custom"]),
    verification_config=st.dictionaries(st.text(), st.text() | st.integers() | st.booleans()),
    max_iterations=st.none() | st.integers(min_value=1),
)
SPECS = st.builds(
    TaskCompletionSpec,
    st.text(),
    st.lists(st.text()),
    st.dictionaries(st.sampled_from(["coder", "reviewer", "tester", "qa", "security-reviewer"]), CRITERIA),
)


@given(SPECS)
def test_a_spec_survives_its_way_through_json(spec: TaskCompletionSpec) -> None:
    assert TaskCompletionSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec


def test_criteria_are_written_with_the_documented_keys() -> None:
    criteria = CompletionCriteria(
        "AUTH_IMPLEMENTED", "done and committed", VerificationMethod.EXTERNAL, {"command": "make"}, 15
    )
    assert criteria.to_dict() == {
        "promise": "AUTH_IMPLEMENTED",
        "description": "done and committed",
        "verification_method": "external",
        "verification_config": {"command": "make"},
        "max_iterations": 15,
    }


def test_a_spec_is_written_with_the_roles_it_has() -> None:
    spec = TaskCompletionSpec("works", ["a", "b"], {"qa": CompletionCriteria("QA_OK")})
    assert list(spec.to_dict()) == ["outcome", "acceptance_criteria", "qa"]
    assert spec.criteria == {"qa": CompletionCriteria("QA_OK")}


def test_criteria_of_any_role_are_kept_and_empty_ones_are_none() -> None:
    spec = TaskCompletionSpec.from_dict(
        {"outcome": "o", "acceptance_criteria": ["a"], "security": {"promise": "SAFE"}, "coder": None}
    )
    assert spec.criteria == {"security": CompletionCriteria("SAFE")}


@pytest.mark.parametrize("name", list(VerificationMethod))
def test_a_methods_name_becomes_the_method(name: str) -> None:
    method = CompletionCriteria(verification_method=str(name)).verification_method
    assert isinstance(method, VerificationMethod)


def test_a_custom_method_stays_a_name() -> None:
    assert CompletionCriteria(verification_method="mine:Check").verification_method == "mine:Check"
