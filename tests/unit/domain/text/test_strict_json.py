"""JSON that somebody wrote: what is wrong with it is said in the same words on every Python."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.text.strict_json import DEEPEST, BadJson, parse_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1, column 1: it is empty"),
        (" \n ", "line 1, column 1: it is empty"),
        ("{", "line 1, column 2: expected a name in double quotes, but the text ends here"),
        ('{"a": 1,\n}', "line 1, column 8: remove this comma: } follows it"),
        ("[1,]", "line 1, column 3: remove this comma: ] follows it"),
        ('{"a": }', "line 1, column 7: expected a value, found }"),
        ("[,1]", "line 1, column 2: expected a value, found ,"),
        ('{"a" 1}', "line 1, column 6: expected a colon after the name, found 1"),
        ("{'a': 1}", "line 1, column 2: expected a name in double quotes, found '"),
        ("{a: 1}", "line 1, column 2: expected a name in double quotes, found a"),
        ('{"a": 1\n "b": 2}', 'line 2, column 2: expected a comma or }, found "'),
        ("[1 2]", "line 1, column 4: expected a comma or ], found 2"),
        ("[1}", "line 1, column 3: expected a comma or ], found }"),
        ("[1", "line 1, column 3: expected a comma or ], but the text ends here"),
        ("[1] x", "line 1, column 5: more text after the end of the JSON"),
        ("01", "line 1, column 2: more text after the end of the JSON"),
        ('"abc', "line 1, column 1: this text has no closing quote"),
        ('"a\nb"', "line 1, column 1: this text has no closing quote on its line: write \\n for a line break"),
        ('"a\tb"', "line 1, column 3: '\\t' cannot be part of a text: write \\u0009"),
        ('"C:\\q"', "line 1, column 4: \\q is not an escape in JSON: write \\\\ for a backslash"),
        ('"\\u12"', "line 1, column 2: \\u is not an escape in JSON: write \\\\ for a backslash"),
        ("{ // mine\n}", "line 1, column 3: JSON has no comments: remove this one"),
        ("[NaN]", "line 1, column 2: NaN is not JSON"),
        ("[-Infinity]", "line 1, column 2: -Infinity is not JSON"),
        ("[1e999]", "line 1, column 2: the number 1e999 is too large"),
        ("True", "line 1, column 1: expected a value, found T"),
        ("[" * 100_000, "line 1, column 65: nested deeper than 64 levels"),
        ("[" * 65 + "]" * 65, "line 1, column 65: nested deeper than 64 levels"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(text: str, said: str) -> None:
    with pytest.raises(BadJson) as caught:
        parse_json(text)
    assert str(caught.value) == said


def test_nesting_up_to_the_limit_is_read() -> None:
    assert parse_json("[" * DEEPEST + "]" * DEEPEST).line_of(()) == 1


@given(VALUES, st.sampled_from([None, 2]))
def test_whatever_is_json_is_read_and_every_value_of_it_has_a_line(value: object, indent: int | None) -> None:
    read = parse_json(json.dumps(value, indent=indent))
    assert read.value == value
    assert read.repeated == ()
    assert read.line_of(()) == 1
    assert read.line_of((0, "nowhere")) >= 1


@given(st.text(alphabet='{}[],:"\\ \n\ttrufalsn0123456789.eE+-/\x01u'))
def test_no_text_is_judged_otherwise_than_python_judges_it(text: str) -> None:
    try:
        expected = json.loads(text, parse_constant=float)
    except ValueError:
        with pytest.raises(BadJson, match=r"^line \d+, column \d+: "):
            parse_json(text)
    else:
        if "e" not in text.lower():  # 1e999 is too large for us
            assert parse_json(text).value == expected


def test_keys_that_appear_twice_are_told_and_the_last_counts() -> None:
    read = parse_json('{"a": 1, "a": 2,\n"b": [{"c": 1,\n"c": 3}]}')
    assert read.value == {"a": 2, "b": [{"c": 3}]}
    assert [(one.path, one.line, one.first_line) for one in read.repeated] == [
        (("a",), 1, 1),
        (("b", 0, "c"), 3, 2),
    ]


def test_a_byte_order_mark_is_not_part_of_the_text() -> None:
    assert parse_json("\ufeff{}").value == {}
