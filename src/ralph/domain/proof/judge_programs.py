"""The words of an agent's command line that are its program: whoever judges must stay what it was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ralph.domain.proof.file_names import is_code
from ralph.patterns import pattern

_INTERPRETERS = pattern(
    r"(?:.*/)?(?:(?:ba|da|z|k|fi)?sh|python[\d.]*|node|ruby|perl|php|deno|bun|uv|npx|tsx|env|timeout|nice|nohup)"
)
_SUFFIX = pattern(r"[^/]\.\w+$")


def words_that_run(argv: Sequence[str]) -> Iterator[str]:
    """The program, and arguments that may be scripts (``python3 ./agent.py``, ``timeout 600 ./agent``): not files that it
    reads or writes, such as its log."""
    if not argv:
        return
    program, *arguments = argv
    yield program
    plain = [word for word in arguments if not word.startswith("-")]
    first = plain[0] if plain and _INTERPRETERS.fullmatch(program) else ""
    for word in plain:
        if word == first or is_code(word) or ("/" in word and not _SUFFIX.search(word)):
            yield word
