"""progress.txt in a prompt: the patterns whole, the newest entries."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.plan.prompt import ENTRIES_CHARS, PATTERNS_CHARS, newest_progress

HEAD = "# Ralph Progress Log\nStarted: 2030-01-01\n\n## Codebase Patterns\n- use bun\n"


def test_a_short_log_is_there_whole() -> None:
    assert newest_progress(f"{HEAD}\n---\n\n## Iteration 1\n- did it\n---\n") == (
        f"{HEAD.strip()}\n\n---\n\n## Iteration 1\n- did it\n---"
    )


def test_of_a_long_log_the_patterns_and_the_newest_entries_stay() -> None:
    entries = "\n".join(f"## Iteration {n}\n{'x' * 1000}\n---" for n in range(100))

    bounded = newest_progress(f"{HEAD}\n---\n{entries}")

    assert bounded.startswith(HEAD.strip())
    assert "## Iteration 99" in bounded
    assert "## Iteration 0\n" not in bounded
    assert "[95 earlier entries left out]" in bounded
    assert len(bounded) < ENTRIES_CHARS + 500


def test_an_entry_that_is_too_long_by_itself_keeps_its_end() -> None:
    bounded = newest_progress(f"{HEAD}---\n## Iteration 1\n{'x' * 50_000} the end")
    assert bounded.endswith("the end")
    assert len(bounded) < ENTRIES_CHARS + 500


def test_a_log_without_a_line_or_without_anything_is_borne() -> None:
    assert newest_progress("") == ""
    assert newest_progress("just words") == "just words"


@given(st.text(alphabet="#-\n ax", max_size=200), st.integers(1, 50))
def test_whatever_is_in_it_the_result_is_bounded(text: str, limit: int) -> None:
    assert len(newest_progress(text * 50, entries_chars=limit)) <= PATTERNS_CHARS + limit + 100
