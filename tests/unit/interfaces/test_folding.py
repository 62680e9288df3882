"""Long lines on narrow terminals."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.interfaces.cli.folding import fold
from ralph.interfaces.cli.safe_stream import make_safe


@pytest.mark.parametrize(
    ("line", "folded"),
    [
        ("short", "short"),
        ("❌ Guardrail failed: make test (exit 1)", "❌ Guardrail failed: make\n   test (exit 1)"),
        ("[ERR] Guardrail failed: make test now", "[ERR] Guardrail failed:\n      make test now"),
        ("\x1b[31m⚠ one two three four five six\x1b[0m", "\x1b[31m⚠ one two three four five\n  six\x1b[0m"),
        ("   iterations: 3, cost: $5.76, time", "   iterations: 3, cost:\n   $5.76, time"),
        ("ralph: there is no such run in here", "ralph: there is no such\n       run in here"),
        ("  ⎿  one two three four five six", "  ⎿  one two three four\n     five six"),
        ("To continue: `ralph resume -m 20` now", "To continue:\n`ralph resume -m 20` now"),
        ("Note:     a prompt gets one line", "Note:     a prompt gets\n          one line"),
        ("  3m ago  merged into the branch", "  3m ago  merged into the\n          branch"),
        ("see /a/very/long/path/of/some/file here", "see\n/a/very/long/path/of/some/file\nhere"),
    ],
)
def test_a_long_line_breaks_between_words_below_its_text(line: str, folded: str) -> None:
    assert fold(line, 26) == folded


@given(st.text("ab` ✅[].\x1b", max_size=80), st.integers(1, 60))
def test_no_word_is_broken_and_none_is_lost(text: str, width: int) -> None:
    folded = fold(text, width)
    assert re.sub(r"\s", "", folded) == re.sub(r"\s", "", text)
    assert all(word in text for word in re.findall(r"`[^`\n]*`|[^\s`]+", folded))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "folds", "lines"), [(Terminal(), True, 2), (Terminal(), False, 1), (io.StringIO(), True, 1)]
)
def test_only_what_is_said_on_a_terminal_is_folded(stream: io.StringIO, folds: bool, lines: int) -> None:
    print("word " * 20, file=make_safe(stream, folds=folds))
    assert stream.getvalue().count("\n") == lines
