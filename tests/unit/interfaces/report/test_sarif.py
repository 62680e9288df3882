"""SARIF 2.1.0 as code scanning takes it: the parts that ralph uses, strictly."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

import jsonschema
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.review.finding import Finding, Place, Review, Severity, identify
from ralph.interfaces.report.sarif import sarif_of

LEVEL = {"enum": ["none", "note", "warning", "error"]}


def shape(required: str, optional: str = "", **properties: Any) -> dict[str, Any]:
    """An object with these keys and no others."""
    names = [*required.split(), *optional.split()]
    return {
        "type": "object",
        "required": required.split(),
        "additionalProperties": False,
        "properties": {name: properties.get(name, {}) for name in names},
    }


def many(items: dict[str, Any], least: int = 0) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least, "uniqueItems": True}


TEXT = {"type": "string", "minLength": 1}
MESSAGE = shape("text", text=TEXT)
LINE = {"type": "integer", "minimum": 1}
URI = {"type": "string", "pattern": r"^(?!/)(?![A-Za-z][A-Za-z0-9+.-]*:)[A-Za-z0-9._~/%-]+$"}
PLACE = shape(
    "artifactLocation",
    "region",
    artifactLocation=shape("uri uriBaseId", uri=URI, uriBaseId=TEXT),
    region=shape("startLine endLine", startLine=LINE, endLine=LINE),
)
RULE = shape(
    "id name shortDescription fullDescription defaultConfiguration properties",
    id=TEXT,
    name={"type": "string", "pattern": "^[A-Za-z]+$"},
    shortDescription=MESSAGE,
    fullDescription=MESSAGE,
    defaultConfiguration=shape("level", level=LEVEL),
    properties=shape("tags", tags=many(TEXT, 1)),
)
RESULT = shape(
    "ruleId ruleIndex level message locations partialFingerprints",
    ruleId=TEXT,
    ruleIndex={"type": "integer", "minimum": 0},
    level=LEVEL,
    message=MESSAGE,
    locations={**many(shape("physicalLocation", physicalLocation=PLACE), 1), "maxItems": 1},
    partialFingerprints=shape("primaryLocationLineHash", primaryLocationLineHash=TEXT),
)
NOTIFICATION = shape(
    "level message associatedRule", level=LEVEL, message=MESSAGE, associatedRule=shape("id index")
)
RUN = shape(
    "tool automationDetails columnKind invocations results properties",
    tool=shape("driver", driver=shape("name version rules", name=TEXT, version=TEXT, rules=many(RULE, 4))),
    automationDetails=shape("id", id=TEXT),
    columnKind={"const": "unicodeCodePoints"},
    invocations=many(
        shape(
            "executionSuccessful",
            "toolExecutionNotifications",
            executionSuccessful={"const": True},
            toolExecutionNotifications={"type": "array", "items": NOTIFICATION},
        ),
        1,
    ),
    results={"type": "array", "items": RESULT},
    properties=shape("commit base"),
)
SARIF = shape("$schema version runs", version={"const": "2.1.0"}, runs={**many(RUN, 1), "maxItems": 1})

VALIDATOR = jsonschema.Draft202012Validator(SARIF)

NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8).filter(
    lambda name: name.strip("/.")
)


@st.composite
def findings(draw: st.DrawFn) -> Finding:
    place = draw(st.sampled_from(Place))
    line = draw(st.integers(1, 9)) if place is Place.LINE else draw(st.integers(0, 9))
    return Finding(
        severity=draw(st.sampled_from(Severity)),
        title=draw(NAMES),
        explanation=draw(NAMES),
        suggestion=draw(st.just("") | NAMES),
        file="" if place is Place.NONE else draw(NAMES).lstrip("/"),
        line=0 if place is Place.NONE else line,
        end_line=line + draw(st.integers(0, 2)) if line else 0,
        place=place,
    )


@given(st.lists(findings(), max_size=6))
def test_every_review_is_valid_and_nothing_is_lost(found: list[Finding]) -> None:
    named = identify((one, [f"line {number}" for number in range(20)]) for one in found)
    review = Review(what="w", commit="c0ffee", base="ba5e", base_name="main", findings=named)

    document = json.loads(json.dumps(sarif_of(review, version="1.2")))

    VALIDATOR.validate(document)
    (run,) = document["runs"]
    told = run["invocations"][0].get("toolExecutionNotifications", [])
    assert len(run["results"]) + len(told) == len(found)
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert rules[result["ruleIndex"]]["defaultConfiguration"]["level"] == result["level"]
    places = [one["locations"][0]["physicalLocation"] for one in run["results"]]
    kept = [one for one in named if one.place in (Place.LINE, Place.FILE)]
    assert [unquote(place["artifactLocation"]["uri"]) for place in places] == [one.file for one in kept]
    assert ["region" in place for place in places] == [one.place is Place.LINE for one in kept]
    prints = [one["partialFingerprints"]["primaryLocationLineHash"] for one in run["results"]]
    assert len(set(prints)) == len(prints)
