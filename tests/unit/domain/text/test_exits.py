from __future__ import annotations

import pytest

from ralph.domain.text.exits import ended_words, exit_words


@pytest.mark.parametrize(
    ("code", "words", "ended"),
    [
        (0, "exit code 0", "exited with code 0"),
        (3, "exit code 3", "exited with code 3"),
        (-15, "SIGTERM", "was ended by SIGTERM"),
        (-200, "signal 200", "was ended by signal 200"),
    ],
)
def test_a_signal_is_named(code: int, words: str, ended: str) -> None:
    assert exit_words(code) == words
    assert ended_words(code) == ended
