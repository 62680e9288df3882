"""Lines that the typed decoder refuses."""

from __future__ import annotations

import json

from hypothesis import example, given
from hypothesis import strategies as st

from ralph.adapters.agents.json_lines import repair

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
LINES = st.tuples(
    st.text(" \t\n\r\v\f\u00a0\ufeff", max_size=2), VALUES.map(json.dumps), st.binary(max_size=2)
).map(lambda parts: parts[0].encode() + parts[1].encode() + parts[2])


@given(st.binary(max_size=20) | LINES)
@example(b' \t{"a": "\xff"}')
@example(b'\xef\xbb\xbf{"a": 1}')
@example(b'\xa0{"a": 1}')
@example(b'{"a": "\\ud800"}')
@example(b"[{}]")
@example(b"")
def test_what_the_standard_library_reads_as_an_object_can_be_repaired_and_nothing_else(line: bytes) -> None:
    try:
        value = json.loads(line.decode("utf-8", "replace"))
    except ValueError:
        value = None
    clean = repair(line)
    assert (clean is not None) is isinstance(value, dict)
    if clean is not None:
        assert isinstance(json.loads(clean), dict)
