"""Taking an echo of the prompt out of an agent's plain output.

A prompt names the tag that means "done". A program that repeats its prompt must not be believed for that, so
blocks of lines that equal the prompt are removed. White space and quoting (``> ``) do not matter, nor do empty
lines. Quoted fragments cannot be told from the agent's own words.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

_QUOTING = re.compile(r"^[\s>]+")
_SPARE_CHARS = 1_000
_SPARE_BLANKS = 100


def normalized(line: str) -> str:
    """A line without quoting and with single blanks."""
    return " ".join(_QUOTING.sub("", line).split())


class EchoFilter:
    """Lines in, the lines that are no echo out. Holds back at most one prompt's worth of lines.

    Knuth-Morris-Pratt over the prompt's non-empty lines: every line is looked at once, and an echo that begins
    inside a false start is found too.
    """

    def __init__(self, prompt: str) -> None:
        self._prompt = [line for line in map(normalized, prompt.splitlines()) if line]
        self._borders = _borders(self._prompt)
        # A longer line cannot be one of the prompt's, whatever blanks are in it; this bounds what is held.
        self._longest = 2 * max(map(len, prompt.splitlines()), default=0) + _SPARE_CHARS
        self._most_blanks = prompt.count("\n") + _SPARE_BLANKS
        self._held: deque[str] = deque()
        self._is_blank: deque[bool] = deque()
        self._blanks = 0
        self._matched = 0

    def feed(self, line: str) -> Iterator[str]:
        """The lines that are now known to be no part of an echo, this one perhaps among them."""
        if not self._prompt:
            yield line
            return
        key = None if len(line) > self._longest else normalized(line)
        if key == "":
            if not self._matched:
                yield line
            elif self._blanks >= self._most_blanks:
                yield from self.flush()
                yield line
            else:
                self._hold(line, is_blank=True)
            return
        while self._matched and key != self._prompt[self._matched]:
            border = self._borders[self._matched - 1]
            yield from self._release(self._matched - border)
            self._matched = border
        if key != self._prompt[0] and not self._matched:
            yield line
            return
        self._hold(line, is_blank=False)
        self._matched += 1
        if self._matched == len(self._prompt):
            self._forget()

    def flush(self) -> Iterator[str]:
        """The output is over, or what was held is too long: it was no echo."""
        held = list(self._held)
        self._forget()
        yield from held

    def _hold(self, line: str, *, is_blank: bool) -> None:
        self._held.append(line)
        self._is_blank.append(is_blank)
        self._blanks += is_blank

    def _release(self, count: int) -> Iterator[str]:
        """The first ``count`` lines held that are not blank, and the blank ones behind each."""
        while self._held and (count or self._is_blank[0]):
            is_blank = self._is_blank.popleft()
            self._blanks -= is_blank
            count -= not is_blank
            yield self._held.popleft()

    def _forget(self) -> None:
        self._held.clear()
        self._is_blank.clear()
        self._blanks = self._matched = 0


def _borders(lines: list[str]) -> list[int]:
    """For each prefix of the prompt, the length of its longest proper prefix that is also its end."""
    borders = [0] * len(lines)
    length = 0
    for position in range(1, len(lines)):
        while length and lines[position] != lines[length]:
            length = borders[length - 1]
        if lines[position] == lines[length]:
            length += 1
        borders[position] = length
    return borders
