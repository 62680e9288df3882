"""The JSON Schema, and that it agrees with what is really read."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralph.config.kinds import Reading
from ralph.config.reference import reference
from ralph.config.schema import SETTINGS, Settings, iterations_of, json_schema
from ralph.domain.text.reader import Problem

VALIDATOR = jsonschema.Draft202012Validator(json_schema())

WHOLE: dict[str, Any] = {
    "$schema": "x",
    "maximumIterations": 10,
    "completionResponse": "DONE",
    "outputTruncateChars": 5000,
    "streamAgentOutput": True,
    "includeIterationCountInPrompt": False,
    "agent": {
        "command": "claude",
        "flags": ["--model opus"],
        "adapter": None,
        "timeout": 5,
        "idleTimeout": 0,
        "environment": {"A": "b"},
    },
    "guardrails": [
        {"command": "make lint", "failAction": "APPEND", "hint": "h", "timeout": 1, "keep": None, "name": ""},
        {"command": "make test", "failAction": "replace"},
    ],
    "guardrailTimeout": None,
    "truncation": {"keep": "both"},
    "scm": {"command": "git", "tasks": ["commit", "push"]},
    "output": {"emoji": "auto", "color": "never", "timestamps": False, "maxLines": 10, "maxChars": 1000},
    "limits": {"maxAttempts": 4, "keepFree": {"5h": 15, "week": 25}},
    "profiles": {"promise": {"maximumIterations": 1}},
}


def is_read(document: object) -> bool:
    findings: list[Problem] = []
    SETTINGS.read(document, Reading(lambda _: "", findings, findings))
    return not findings


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, item in items for found in paths(item, (*path, key)))]


def with_value(document: Any, path: tuple[Any, ...], value: object) -> Any:
    if not path:
        return value
    result = copy.deepcopy(document)
    inner = result
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return result


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())
    assert json_schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_the_schema_describes_every_setting() -> None:
    def without_description(schema: Any) -> list[str]:
        return [
            key
            for key, inner in schema.get("properties", {}).items()
            if key != "$schema" and not inner.get("description", "").endswith((".", "`"))
        ]

    assert without_description(json_schema()) == []
    assert set(json_schema()["properties"]) == {"$schema", *(s.key for s in SETTINGS.settings)}  # type: ignore[call-overload]


def test_the_defaults_in_the_schema_are_valid_and_those_that_are_used() -> None:
    properties: Any = json_schema()["properties"]
    defaults = {key: inner["default"] for key, inner in properties.items() if "default" in inner}
    assert VALIDATOR.is_valid(defaults)
    assert SETTINGS.read(defaults, Reading(lambda _: "", [], [])) == Settings()
    assert SETTINGS.dump(Settings()) == defaults


def test_a_document_with_every_key_is_accepted_by_both() -> None:
    assert VALIDATOR.is_valid(WHOLE)
    assert is_read(WHOLE)


odd_values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.floats(-2, 3, allow_nan=False),
    st.sampled_from(
        ["", " ", "x", "head", "HEAD", "append", "APPEND ", "auto", "plain", "claude", "10", "true"]
    ),
    st.sampled_from([[], [""], ["x"], [1], [[]], {}, {"a": "b"}, {"a": 1}, {"": "x"}, {"a=b": ""}]),
    st.sampled_from([[{}], [{"command": "x"}], {"command": "x"}, {"tasks": ["x"]}, {"a": {}}]),
)


@settings(max_examples=500)
@given(st.sampled_from(paths(WHOLE)), odd_values)
def test_schema_and_reader_agree_on_any_change_of_a_value(path: tuple[Any, ...], value: object) -> None:
    document = with_value(WHOLE, path, value)
    assert VALIDATOR.is_valid(document) == is_read(document), list(VALIDATOR.iter_errors(document))


@pytest.mark.parametrize("path", [path for path in paths(WHOLE) if path], ids=str)
def test_schema_and_reader_agree_when_a_key_is_left_out(path: tuple[Any, ...]) -> None:
    document = copy.deepcopy(WHOLE)
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    assert VALIDATOR.is_valid(document) == is_read(document)


@pytest.mark.parametrize("path", [(), ("agent",), ("guardrails", 0), ("scm",), ("output",)], ids=str)
def test_schema_and_reader_agree_on_an_unknown_key(path: tuple[Any, ...]) -> None:
    document = with_value(WHOLE, (*path, "unheardOf"), 1)
    assert not VALIDATOR.is_valid(document)
    assert not is_read(document)


def test_what_is_dumped_is_read_back() -> None:
    at = Reading(lambda _: "", [], [])
    read = SETTINGS.read(WHOLE, at)
    assert SETTINGS.read(SETTINGS.dump(read), at) == read
    assert at.problems == []


def test_the_reference_in_the_docs_is_up_to_date() -> None:
    written = Path(__file__).parents[3] / "docs" / "settings.md"
    assert written.read_text(encoding="utf-8") == reference(), (
        "run: python -m ralph.config.reference > docs/settings.md"
    )


def test_the_reference_names_every_key_and_variable() -> None:
    text = reference()
    for word in (
        "`agent.idleTimeout`",
        "`RALPH_AGENT__IDLE_TIMEOUT`",
        "`guardrails.failAction`",
        "`scm.tasks`",
        "`agents.<name>.output`",
        "`RALPH_AGENTS__<NAME>__OUTPUT`",
        "`prices.<name>.cacheRead`",
        "`profiles.verified.roles.<name>.maxIterations`",
    ):
        assert word in text


@pytest.mark.parametrize(
    ("profile", "key"),
    [
        ("basic", "maximumIterations"),
        ("shipped", "maximumIterations"),
        ("promise", "profiles.promise.maximumIterations"),
        ("supervised", "profiles.supervised.maxRestarts"),
        ("verified", "profiles.verified.maximumIterations"),
        ("reviewed", "profiles.reviewed.maximumIterations"),
    ],
)
def test_one_setting_limits_the_iterations_of_a_profile(profile: str, key: str) -> None:
    given: Any = 77
    for name in reversed(key.split(".")):
        given = {name: given}
    at = Reading(lambda _: "", [], [])
    assert iterations_of(SETTINGS.read(given, at), profile) == 77
