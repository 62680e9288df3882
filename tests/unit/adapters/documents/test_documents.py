"""YAML and JSON as values with lines, whatever the file does."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ralph.adapters.documents.task_file import (
    LARGEST,
    BadDocument,
    as_json,
    as_yaml,
    read_file,
    read_json,
    read_text,
)
from ralph.adapters.documents.yaml_document import read_yaml
from ralph.domain.tasks.entry import read_entries
from ralph.domain.text.reader import KeyPath
from ralph.errors import UsageError

DATA = Path(__file__).parents[3] / "data" / "documents"
PLAIN = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Zl", "Zp"]), max_size=20)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.floats(allow_nan=False, allow_infinity=False)
    | PLAIN,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(PLAIN, inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
@example({"<<": [{"a": 1}]})  # in quotes, as JSON writes it, it merges nothing
def test_json_means_the_same_when_it_is_read_as_yaml(value: object) -> None:
    text = json.dumps({"value": value}, ensure_ascii=False)
    assert read_json(text).value == {"value": value}
    assert read_yaml(text).value == {"value": value}


@given(st.text())
def test_whatever_the_text_only_bad_document_is_raised(text: str) -> None:
    for is_json in (True, False):
        with contextlib.suppress(BadDocument):
            read_text(text, is_json=is_json)


YAML = """\
# tasks
- id: A
  list:
    - one
    - two: 2
- id: B
  text: |
    first
    second
  after: x
"""
JSON = """\
[
  {"id": "A",
   "list": ["one",
            {"two": 2}]},
  {"id": "B", "text": "[{,:\\"\\n",
   "after": "x"}
]
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [((), 2), ((0,), 2), ((0, "list"), 3), ((0, "list", 1), 5), ((0, "list", 1, "two"), 5), ((1, "text"), 7),
     ((1, "after"), 10), ((1, "missing"), 6), ((5, "x"), 2)],
)  # fmt: skip
def test_every_value_of_yaml_knows_its_line(path: KeyPath, line: int) -> None:
    assert read_yaml(YAML).line_of(path) == line


@pytest.mark.parametrize(
    ("path", "line"),
    [((), 1), ((0,), 2), ((0, "list"), 3), ((0, "list", 1), 4), ((0, "list", 1, "two"), 4), ((1, "text"), 5),
     ((1, "after"), 6), ((1, "missing"), 5), ((5, "x"), 1)],
)  # fmt: skip
def test_every_value_of_json_knows_its_line(path: KeyPath, line: int) -> None:
    document = read_json(JSON)
    assert document.value == json.loads(JSON)
    assert document.line_of(path) == line


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"), ("on", "on"), ("010", "010"), ("1:30", "1:30"), ("2026-01-01", "2026-01-01"), ("1_000", "1_000"),
        ("0x10", "0x10"), ("3", 3), ("-3", -3), ("3.5", 3.5), ("1e3", 1000.0), ("~", None), ("null", None),
        ("TRUE", True), ("'true'", "true"), (".inf", ".inf"), (".nan", ".nan"), ("9" * 30, "9" * 30),
        ("!!str 3", "3"), ("!!int 3", 3),
    ],
)  # fmt: skip
def test_plain_words_mean_what_they_look_like(text: str, value: object) -> None:
    found = read_yaml(f"- {text}\n").value
    assert found == [value]
    assert isinstance(found, list)
    assert type(found[0]) is type(value)


def test_defaults_can_be_shared_by_merging() -> None:
    document = read_yaml("a: &d\n  x: 1\n  y: 1\nb:\n  <<: *d\n  y: 2\nc:\n  <<: [{z: 3}, *d]\n")
    assert document.value == {"a": {"x": 1, "y": 1}, "b": {"x": 1, "y": 2}, "c": {"z": 3, "x": 1, "y": 1}}
    assert document.line_of(("b", "x")) == 2


@pytest.mark.parametrize("read", [read_yaml, read_json])
def test_a_key_that_appears_twice_is_a_problem(read: object) -> None:
    assert callable(read)
    document = read('{"a": {"b": 1,\n"c": 2,\n"b": 3}}')
    (problem,) = document.problems
    assert problem.path == ("a", "b")
    assert problem.message == "appears twice, first on line 1"


def _bomb() -> str:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    for before, name in zip("abcdefghij", "bcdefghijk", strict=True):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]")
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", None, "empty"),
        ("# nothing\n", None, "empty"),
        (_bomb(), 6, "more than 2,000,000 values"),
        ("a: " + "[" * 100_000, 1, "nested deeper than 64 levels"),
        ("- " * 100_000, 1, "nested deeper than 64 levels"),
        ("&a [*a]", 1, "*a: no complete &a comes before it"),
        ("x: *nobody", 1, "*nobody: no complete &nobody comes before it"),
        ("a:\n\t- b", 2, "tabs cannot indent"),
        ("a: b: c", 1, "a text with a colon needs quotes"),
        ("a: 1\n---\nb: 2", 2, "a second document"),
        ("a: !!python/object:os.system x", 1, "not allowed"),
        ("a: !custom {b: 1}", 1, "not allowed"),
        ("? [a]\n: b", 1, "cannot be a key"),
        ("a: 'x", 1, "found unexpected end of stream"),
        ("a: \x07", None, "not allowed"),
        ("<<: 3", 1, "<< takes a mapping"),
    ],
)
def test_bad_yaml_is_refused_with_its_line(text: str, line: int | None, said: str) -> None:
    with pytest.raises(BadDocument) as caught:
        read_text(text)
    assert said in str(caught.value)
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('{\n"a": }', 2, "column 6: expected a value, found }"),
        ('{"a": NaN}', 1, "column 7: NaN is not JSON"),
        ('{"a": 1e999}', 1, "column 7: the number 1e999 is too large"),
        ('{"a":' * 100 + "1" + "}" * 100, 1, "nested deeper than 64 levels"),
        ('{"a":' * 100_000, 1, "nested deeper than 64 levels"),
        ('{"a": ' + "9" * 5000 + "}", 1, f"the number {'9' * 40}… is too large"),
    ],
)
def test_bad_json_is_refused_with_its_line(text: str, line: int | None, said: str) -> None:
    with pytest.raises(BadDocument) as caught:
        read_text(text, is_json=True)
    assert said in str(caught.value)
    assert caught.value.line == line


def test_text_in_brackets_is_json_if_it_can_be_and_yaml_otherwise() -> None:
    assert read_text('{"a":\t1}').value == {"a": 1}
    assert read_text("{a: 1}").value == {"a": 1}
    with pytest.raises(BadDocument, match="expected a comma or }"):
        read_text('{"a": 1\n"b": 2')


def test_a_file_that_is_missing_a_folder_or_too_large_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file"):
        read_file(str(tmp_path / "none.yaml"))
    with pytest.raises(UsageError, match="cannot read"):
        read_file(str(tmp_path))
    (tmp_path / "large.yaml").write_bytes(b"#" * (LARGEST + 1))
    with pytest.raises(BadDocument, match="larger than 20 MB"):
        read_file(str(tmp_path / "large.yaml"))
    (tmp_path / "latin.yaml").write_bytes(b"a: 1\nb: \xe4\n")
    with pytest.raises(BadDocument, match="not UTF-8") as caught:
        read_file(str(tmp_path / "latin.yaml"))
    assert caught.value.line == 2


@pytest.mark.parametrize(
    "text", ["\n```yaml\n- a: 1\n- b: 2\n```\n", '\n```json\n[{"a": 1},\n{"b": 2}]\n```']
)
def test_a_code_fence_around_everything_is_no_part_of_it(text: str) -> None:
    document = read_text(text)
    assert document.value == [{"a": 1}, {"b": 2}]
    assert document.line_of((1, "b")) == 4


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "bom.json").write_bytes(b"\xef\xbb\xbf[1]")
    assert read_file(str(tmp_path / "bom.json")).value == [1]


@pytest.mark.parametrize("name", ["task_list.yaml", "single_task.yaml"])
def test_both_shapes_are_read_and_come_back_from_an_export(name: str) -> None:
    entries = read_entries(read_file(str(DATA / name)).value)
    assert entries.problems == []
    tasks = [task for _, task in entries.tasks]
    for text in (as_yaml(tasks), as_json(tasks)):
        again = read_entries(read_text(text).value)
        assert again.problems == []
        assert [task for _, task in again.tasks] == tasks


def test_an_export_is_written_as_a_person_would() -> None:
    ((_, task),) = read_entries(read_file(str(DATA / "single_task.yaml")).value).tasks
    text = as_yaml([task])
    assert "description: |-\n    Visitors find products by name.\n    Nothing else is searched.\n" in text
    assert "status" not in text
