"""Reads values that people wrote, key by key, and collects all problems before reporting any."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from ralph.values import dataclass

KeyPath = tuple[str | int, ...]
"""``("tasks", 1, "completion", "outcome")``: where in the document."""

LARGEST_NUMBER = 1_000_000_000
LONGEST_PLACE = 200
LONGEST_MESSAGE = 500


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong (``message``) and what to do about it (``hint``).

    ``path`` is empty for the whole document; ``where`` is the file, the flag or the line, if known.
    """

    path: KeyPath
    message: str
    hint: str = ""
    where: str = ""

    @property
    def key(self) -> str:
        return spell(self.path)

    def __str__(self) -> str:
        """Bounded: an agent may have written what it quotes."""
        message = self.message
        if len(message) > LONGEST_MESSAGE:
            message = f"{message[:LONGEST_MESSAGE]} …"
        text = ": ".join(part for part in (self.where, self.key[:LONGEST_PLACE], message) if part)
        return f"{text}; {self.hint}" if self.hint else text


def spell(path: KeyPath) -> str:
    """``tasks[1].completion.outcome``."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


class Reader:
    """Reads one mapping; notes problems and returns defaults instead. ``seen``: the keys that were asked for."""

    __slots__ = ("path", "problems", "seen", "value")

    def __init__(self, value: Mapping[str, object], path: KeyPath, problems: list[Problem]) -> None:
        self.value = value
        self.path = path
        self.problems = problems
        self.seen: set[str] = set()

    def wrong(self, key: str | None, message: str, hint: str = "") -> None:
        self.problems.append(Problem(self.path if key is None else (*self.path, key), message, hint))

    def has(self, key: str) -> bool:
        return self.value.get(key) is not None

    def text(self, key: str, *, one_line: bool = False) -> str:
        """Trimmed; empty if missing."""
        found = self._take(key)
        if found is None:
            return ""
        if not isinstance(found, str):
            self.wrong(key, f"expected text, found {kind_of(found)}", _how_to_fix(found))
            return ""
        return self._check_text(key, found, one_line=one_line)

    def texts(self, key: str) -> tuple[str, ...]:
        found = self._take(key)
        if found is None:
            return ()
        if not isinstance(found, list):
            self.wrong(key, f"expected a list, found {kind_of(found)}", 'one entry a line, each after "- "')
            return ()
        texts: list[str] = []
        for index, entry in enumerate(found):
            if isinstance(entry, str):
                if text := self._check_text((key, index), entry):
                    texts.append(text)
                else:
                    self.problems.append(Problem((*self.path, key, index), "is empty"))
            else:
                at = (*self.path, key, index)
                message = f"expected text, found {kind_of(entry)}"
                self.problems.append(Problem(at, message, _how_to_fix(entry)))
        return tuple(texts)

    def whole(self, key: str, *, least: int, most: int = LARGEST_NUMBER) -> int | None:
        found = self._take(key)
        if found is None:
            return None
        if not isinstance(found, int) or isinstance(found, bool):
            self.wrong(key, f"expected a whole number, found {kind_of(found)}")
            return None
        if not least <= found <= most:
            limits = f"at least {least}" if found < least else f"at most {most}"
            self.wrong(key, f"expected a whole number of {limits}, found {found}")
            return None
        return found

    def amount(self, key: str) -> float | None:
        """A number above zero."""
        found = self._take(key)
        if found is None:
            return None
        if not isinstance(found, int | float) or isinstance(found, bool):
            self.wrong(key, f"expected a number, found {kind_of(found)}")
            return None
        if not 0 < found <= LARGEST_NUMBER or math.isnan(found):
            self.wrong(key, f"expected a number above 0, found {found:g}")
            return None
        return found

    def flag(self, key: str) -> bool | None:
        found = self._take(key)
        if found is None or isinstance(found, bool):
            return found
        self.wrong(key, f"expected true or false, found {kind_of(found)}")
        return None

    def inside(self, key: str) -> Reader | None:
        """The mapping under ``key``; None if there is none."""
        found = self._take(key)
        if found is None:
            return None
        if not isinstance(found, Mapping):
            self.wrong(key, f"expected a mapping, found {kind_of(found)}")
            return None
        return Reader(found, (*self.path, key), self.problems)

    def allow(self, *keys: str) -> None:
        """Known keys that are read elsewhere."""
        self.seen.update(keys)

    def refuse_others(self, what: str) -> None:
        """Any key that was not asked for is probably a typo."""
        for key in self.value:
            if key not in self.seen:
                self.wrong(key, f"unknown {what}", closest(key, self.seen))

    def _take(self, key: str) -> object:
        self.seen.add(key)
        return self.value.get(key)

    def _check_text(self, key: str | KeyPath, text: str, *, one_line: bool = False) -> str:
        path = (*self.path, *((key,) if isinstance(key, str) else key))
        text = text.strip()
        if any("\ud800" <= character <= "\udfff" or character == "\0" for character in text):
            self.problems.append(Problem(path, "contains characters that are not text"))
            return "?"
        if one_line and "\n" in text:
            self.problems.append(Problem(path, "expected one line, found several"))
        return text


def kind_of(value: object) -> str:
    """In words, with the value if it is short: ``the number 3``, ``a list``."""
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case int() | float():
            return f"the number {value}" if len(str(value)) <= 20 else "a number"
        case str():
            return f"{value!r}" if len(value) <= 40 else "text"
        case Mapping():
            return "a mapping"
        case _:
            return "a list"


def closest(word: str, known: Collection[str]) -> str:
    """A hint: the known word that was probably meant, otherwise all of them."""
    near = nearest(word, known)
    return f"did you mean {near}?" if near else f"known: {', '.join(sorted(known))}"


def nearest(word: str, known: Collection[str]) -> str:
    """The known word that was probably meant, ignoring case; empty if none is similar."""
    import difflib

    by_lower = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), list(by_lower), n=1)
    return by_lower[close[0]] if close else ""


def _how_to_fix(value: object) -> str:
    if isinstance(value, Mapping):
        return "a colon turns a line into a mapping: put the line in quotes"
    return "" if isinstance(value, list) else "put it in quotes"
