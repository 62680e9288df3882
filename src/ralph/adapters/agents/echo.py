"""Taking an echo of the prompt out of an agent's plain output.

A prompt names the tag that means "done". A program that repeats its prompt has not claimed anything, so a
repetition of a sent text is removed. Only letters are compared, in order: an echo that was wrapped, indented,
quoted, put in a box, given line numbers, or written as a JSON string is still one. A quoted fragment cannot be told
from the agent's own words.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable

from ralph.patterns import pattern

# No possessive quantifiers or atomic groups: early releases of Python 3.11 match them wrongly, and an echo that is not
# recognised is a false "done". Each pattern is linear without them: no two parts of it can match the same character.

# A word's letters, except that of a written-out line break or tab: ``\n`` stands for white space in a JSON string.
_WORD: re.Pattern[str] = pattern(r"(?:(?<!\\)[^\W\d_]|(?<=\\)[^\W\d_nrt])[^\W\d_]*")
_BETWEEN = r"[\W\d_]*"
_ESCAPED_BLANK = r"(?<=\\)[nrt]"
# The first character behind an echo that does not close its last word. A "<" opens a tag of the agent's own.
_AFTER_CLOSING: re.Pattern[str] = pattern(r"(?<!\\)[^\W_]|(?<=\\)[^\W_nrt]|[\s<]")
_LETTER_OR_END_OF_LINE: re.Pattern[str] = pattern(r"[^\W\d_]|[\n<]")
_OPENING_LETTERS = 8
_SPARE_CHARS = 64 * 1024


def echo_filters(texts: Iterable[str]) -> tuple[EchoFilter, ...]:
    """One filter for each different text that could claim something when repeated, to be passed in this order.

    A text without a closing tag claims nothing. Longest first: a text may be a part of another, and taken out of
    the longer one's echo it would leave an unrecognisable rest.
    """
    different = map(EchoFilter, dict.fromkeys(texts))  # a prompt without secrets is shown as it was sent
    filters = {filter_.letters: filter_ for filter_ in different if filter_.is_needed}
    return tuple(sorted(filters.values(), key=lambda filter_: len(filter_.letters), reverse=True))


class EchoFilter:
    """Text in, in pieces; the same without echoes out. Holds back no more than might be one.

    Knuth-Morris-Pratt over the letters: every letter is looked at once, and an echo that begins inside a false
    start is found too. An echo begins with its first word unbroken; text without that word costs one search.
    """

    def __init__(self, text: str) -> None:
        words = _WORD.findall(text) if "</" in text else []
        self.letters = "".join(words)
        self._first = words[0] if words else ""
        self._opening: re.Pattern[str] | None = None
        self._borders: list[int] = []
        # However much white space and decoration an echo is spread over: this bounds what is held.
        self._most_held = 4 * len(text) + _SPARE_CHARS
        # Places count from any beginning while something is held, else from that of the current piece.
        self._matched: deque[int] = deque()  # the place of each letter matched so far
        self._seen = 0
        self._held_from = 0
        self._held: list[str] = []
        self.found = 0  # echoes so far
        self._is_at_line_start = True  # what was passed on so far ends with a newline

    @property
    def is_needed(self) -> bool:
        return bool(self.letters)

    def feed(self, text: str) -> str:
        """The text that is now known to be no part of an echo."""
        if not self._matched and self._first not in text:
            self._is_at_line_start = text[-1:] == "\n"
            return text
        return self._search(text)

    def flush(self) -> str:
        """The output is over: what is held is half an echo at most, and kept."""
        held = "".join(self._held)
        self._matched.clear()
        self._held.clear()
        return held

    def _prepare(self) -> re.Pattern[str]:
        """What only output with the first word in it needs; gives the pattern of how an echo opens.

        A few more letters than the first word, or the end of the piece: most false starts end there, cheaply. Behind
        a written-out line break it looks no further.
        """
        self._borders = _borders(self.letters)
        rest = ""
        for letter in reversed(self.letters[len(self._first) :][:_OPENING_LETTERS]):
            rest = f"{_BETWEEN}(?:{letter}{rest}|{_ESCAPED_BLANK}|\\Z)"
        not_escaped = f"(?<!\\\\{self._first})" if self._first[0] in "nrt" else ""
        self._opening = re.compile(self._first + not_escaped + rest)
        return self._opening

    def _search(self, text: str) -> str:
        opening = self._opening or self._prepare()
        matched = self._matched
        start = self._seen = self._seen if matched else 0
        kept: list[str] = []
        kept_to = hold_from = self._held_from if matched else start
        position = 0
        wordless_from = -1 if matched else 0  # since here this line has no letter; -1: it has
        while True:
            if not matched:
                hit = opening.search(text, position)
                if not hit:
                    break
                newline = text.rfind("\n", position, hit.start())
                if newline >= 0:
                    wordless_from = newline + 1
                position = hit.start()
                # A quote mark or bullet before the echo goes with it.
                is_wordless = wordless_from >= 0 and not _WORD.search(text, wordless_from, position)
                hold_from = start + (wordless_from if is_wordless else position)
                wordless_from = -1
            for word in _WORD.finditer(text, position):
                place = start + word.start()
                first = matched[0] if matched else place
                position = word.start() + self._take(word[0], place)
                if matched and matched[0] != first:
                    hold_from = matched[0]
                if len(matched) == len(self.letters):
                    matched.clear()
                    self.found += 1
                    self._keep(kept, self._cut(kept_to, hold_from, text))
                    wordless_from = position = self._end_of_echo(text, position)
                    kept_to = start + position
                if not matched:
                    break
            else:
                break
        end = start + len(text)
        if end - hold_from > self._most_held:
            matched.clear()
        if not matched:
            hold_from = end
        self._keep(kept, self._cut(kept_to, hold_from, text))
        if matched and self._held and hold_from == self._held_from:
            self._held.append(text)
        else:
            self._held = [self._cut(hold_from, end, text)] if matched else []
        self._held_from = hold_from
        self._seen = end
        return "".join(kept)

    def _take(self, word: str, place: int) -> int:
        """Match on; how many letters were looked at when the match was complete, lost, or the word over."""
        letters, matched = self.letters, self._matched
        if letters.startswith(word, len(matched)):
            matched.extend(range(place, place + len(word)))
            return len(word)
        for index, letter in enumerate(word):
            while matched and letters[len(matched)] != letter:
                for _ in range(len(matched) - self._borders[len(matched) - 1]):
                    matched.popleft()
            if letters[len(matched)] != letter:
                return index + 1
            matched.append(place + index)
            if len(matched) == len(letters):
                return index + 1
        return len(word)

    def _end_of_echo(self, text: str, position: int) -> int:
        """Behind the marks that close its last word; behind the line, if there is no more on it."""
        behind = _AFTER_CLOSING.search(text, position)
        position = behind.start() if behind else len(text)
        rest = _LETTER_OR_END_OF_LINE.search(text, position) if self._is_at_line_start else None
        return rest.end() if rest and rest[0] == "\n" else position

    def _keep(self, kept: list[str], piece: str) -> None:
        if piece:
            kept.append(piece)
            self._is_at_line_start = piece.endswith("\n")

    def _cut(self, from_: int, to: int, text: str) -> str:
        """What is between two places of the output, in what was held or in ``text`` behind it."""
        if from_ >= self._seen:
            return text[from_ - self._seen : to - self._seen]
        if from_ >= to:
            return ""
        held = "".join(self._held)
        begin = from_ - self._held_from
        return held[begin : to - self._held_from] + (text[: to - self._seen] if to > self._seen else "")


def _borders(letters: str) -> list[int]:
    """For each prefix, the length of its longest proper prefix that is also its end."""
    borders = [0] * len(letters)
    length = 0
    for position in range(1, len(letters)):
        while length and letters[position] != letters[length]:
            length = borders[length - 1]
        if letters[position] == letters[length]:
            length += 1
        borders[position] = length
    return borders
