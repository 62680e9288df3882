"""Tests inside of code may be extended, but not weakened."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.proof.inner_tests import inner_weaknesses

RUST = """/// Slugs.
///
/// assert_eq!(slug("A"), "a");
pub fn slug(text: &str) -> String {
    text.to_string() // }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces() {
        assert_eq!(slug("{ A b"), "{-a-b");
    }
}

pub const LAST: char = '{';
"""
PYTHON = '''def slug(text):
    """Slugs.

    >>> slug("A b")
    'a-b'
    """
    return text
'''


@pytest.mark.parametrize(
    ("path", "text", "old", "new", "is_weaker"),
    [
        ("a.rs", RUST, "text.to_string()", "text.to_lowercase()", False),
        ("a.rs", RUST, "LAST: char", "FIRST: char", False),
        ("a.rs", RUST, '"{-a-b"', '"{ A b"', True),
        ("a.rs", RUST, "    #[test]\n", "    #[test]\n    #[ignore]\n", True),
        ("a.rs", RUST, "    #[test]\n", "    #[test]\n    fn more() {}\n\n    #[test]\n", False),
        ("a.rs", RUST, "mod tests {", "mod tests {\n    /*", True),
        ("a.rs", RUST, '"a");', '"A");', True),
        ("a.rs", RUST, "#[cfg(test)]\n", "#[cfg(any())]\n", True),
        ("a.py", PYTHON, "return text", "return text.lower()", False),
        ("a.py", PYTHON, "'a-b'", "'A b'", True),
        ("a.py", PYTHON, '    >>> slug("A b")\n', "", True),
        ("a.py", PYTHON, "    'a-b'\n", "    'a-b'\n    >>> slug('')\n    ''\n", False),
    ],
)
def test_what_inner_tests_did_they_still_do(
    path: str, text: str, old: str, new: str, is_weaker: bool
) -> None:
    assert old in text
    assert bool(inner_weaknesses(path, text, text.replace(old, new))) is is_weaker


@given(st.text(alphabet="#[]test(){};'\"\n/ cfgmod", max_size=80))
def test_no_text_breaks_it(text: str) -> None:
    assert inner_weaknesses("a.rs", text, text) == []
