"""Laying settings over each other, and where every value comes from."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.config.sources import DEFAULT, Layer, Origin, deep_merge, stack
from ralph.domain.text.reader import KeyPath

scalars = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.text("ab", max_size=2))
leaves = st.one_of(scalars, st.lists(scalars, max_size=2))
objects: st.SearchStrategy[dict[str, Any]] = st.recursive(
    st.dictionaries(st.sampled_from("abc"), leaves, max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), st.one_of(leaves, inner), max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("base", "local", "merged"),
    [
        pytest.param(
            {"agent": {"command": "claude", "flags": ["--model opus"]}},
            {"agent": {"flags": ["--verbose"]}},
            {"agent": {"command": "claude", "flags": ["--verbose"]}},
            id="a whole example",
        ),
        pytest.param({"a": 1}, {"a": 2}, {"a": 2}, id="a scalar overrides"),
        pytest.param({"a": True}, {"a": False}, {"a": False}, id="false overrides"),
        pytest.param({"a": "x"}, {"a": ""}, {"a": ""}, id="an empty string overrides"),
        pytest.param({"a": [1, 2]}, {"a": [3]}, {"a": [3]}, id="a list replaces"),
        pytest.param({"a": [1, 2]}, {"a": []}, {"a": []}, id="an empty list replaces"),
        pytest.param({"a": [{"b": 1}]}, {"a": [{"c": 2}]}, {"a": [{"c": 2}]}, id="lists never merge inside"),
        pytest.param({"a": {"b": 1}}, {"a": {"c": 2}}, {"a": {"b": 1, "c": 2}}, id="objects merge"),
        pytest.param(
            {"a": {"b": {"c": 1, "d": 2}}},
            {"a": {"b": {"c": 3}}},
            {"a": {"b": {"c": 3, "d": 2}}},
            id="at any depth",
        ),
        pytest.param({"a": {"b": 1}}, {"a": {}}, {"a": {"b": 1}}, id="an empty object takes nothing away"),
        pytest.param({"scm": {"command": "git"}}, {"scm": None}, {"scm": None}, id="null overrides"),
        pytest.param({"scm": None}, {"scm": {"command": "git"}}, {"scm": {"command": "git"}}, id="and back"),
        pytest.param({"a": 1}, {}, {"a": 1}, id="nothing changes nothing"),
    ],
)
def test_local_settings_are_laid_over_the_base(
    base: dict[str, Any], local: dict[str, Any], merged: dict[str, Any]
) -> None:
    assert deep_merge(base, local) == merged


@given(objects)
def test_an_empty_layer_is_neutral(one: dict[str, Any]) -> None:
    assert deep_merge(one, {}) == one
    assert deep_merge({}, one) == one


@given(objects)
def test_laying_the_same_over_itself_changes_nothing(one: dict[str, Any]) -> None:
    assert deep_merge(one, one) == one


@given(objects, objects)
def test_merging_twice_is_merging_once(one: dict[str, Any], two: dict[str, Any]) -> None:
    merged = deep_merge(one, two)
    assert deep_merge(merged, two) == merged


@given(objects, objects)
def test_every_value_of_the_upper_layer_survives(one: dict[str, Any], two: dict[str, Any]) -> None:
    merged = deep_merge(one, two)
    for path, value in leaves_of(two):
        assert at(merged, path) == value


@given(objects, objects)
def test_a_key_of_the_base_is_kept_unless_the_upper_layer_has_it(
    one: dict[str, Any], two: dict[str, Any]
) -> None:
    merged = deep_merge(one, two)
    assert set(merged) == set(one) | set(two)
    for key in set(one) - set(two):
        assert merged[key] == one[key]


@given(objects, objects)
def test_merging_leaves_its_arguments_alone(one: dict[str, Any], two: dict[str, Any]) -> None:
    before = copy.deepcopy((one, two))
    deep_merge(one, two)
    assert (one, two) == before


@given(st.lists(objects, max_size=4))
def test_every_value_knows_the_last_layer_that_gave_it(layers: list[dict[str, Any]]) -> None:
    merged = stack(Layer(Origin(str(number)), values) for number, values in enumerate(layers))
    expected: dict[str, Any] = {}
    for values in layers:
        expected = deep_merge(expected, values)
    assert merged.values == expected
    for path, value in leaves_of(expected):
        origin = merged.origin(path)
        givers = [str(number) for number, values in enumerate(layers) if reaches(values, path)]
        assert origin.label == givers[-1]
        assert at(layers[int(origin.label)], path) == value
    # No origin is left over for what was replaced.
    assert all(reaches(expected, path) for path in merged.origins)


def test_what_nobody_set_is_the_default() -> None:
    merged = stack([Layer(Origin("file"), {"agent": {"command": "claude"}})])
    assert merged.origin(("agent", "command")) == Origin("file")
    assert merged.origin(("agent", "timeout")) == DEFAULT
    assert merged.origin(("limits",)) == DEFAULT


def test_what_stands_in_a_list_comes_from_the_lists_origin() -> None:
    merged = stack([Layer(Origin("file"), {"guardrails": [{"command": "x"}]})])
    assert merged.origin(("guardrails", 0, "command")) == Origin("file")


def test_what_is_missing_belongs_where_its_object_was_touched_last() -> None:
    merged = stack([Layer(Origin("base"), {"scm": {}}), Layer(Origin("local"), {"scm": {"tasks": []}})])
    assert merged.origin_of_missing(("scm", "command")) == Origin("local")


def leaves_of(values: Mapping[str, Any], path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from leaves_of(value, (*path, key))
        else:
            yield (*path, key), value


def at(values: Any, path: KeyPath) -> Any:
    for key in path:
        values = values[key]
    return values


def reaches(values: Any, path: KeyPath) -> bool:
    for key in path:
        if not isinstance(values, Mapping) or key not in values:
            return False
        values = values[key]
    return True
