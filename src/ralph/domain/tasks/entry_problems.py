"""What is wrong with tasks that somebody wrote, as values: all of it is gathered before anything is said."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

KeyPath = tuple[str | int, ...]
"""``("tasks", 1, "completion", "outcome")``: where in the document."""

LARGEST_NUMBER = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Problem:
    """``path`` is empty if the whole document is meant."""

    path: KeyPath
    message: str
    hint: str = ""

    def __str__(self) -> str:
        text = ": ".join(part for part in (spell(self.path), self.message) if part)
        return f"{text} ({self.hint})" if self.hint else text


def spell(path: KeyPath) -> str:
    """``tasks[1].completion.outcome``."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


@dataclass(slots=True)
class Reader:
    """Reads one mapping of a document, key by key; notes what is wrong and gives a default instead."""

    value: Mapping[str, object]
    path: KeyPath
    problems: list[Problem]
    seen: set[str] = field(default_factory=set)

    def wrong(self, key: str | None, message: str, hint: str = "") -> None:
        self.problems.append(Problem(self.path if key is None else (*self.path, key), message, hint))

    def has(self, key: str) -> bool:
        return self.value.get(key) is not None

    def text(self, key: str, *, one_line: bool = False) -> str:
        """Trimmed; empty if it is not there."""
        found = self._take(key)
        if found is None:
            return ""
        if not isinstance(found, str):
            self.wrong(key, f"expected text, found {kind_of(found)}", _how_to_mend(found))
            return ""
        return self._checked(key, found, one_line=one_line)

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
                if text := self._checked((key, index), entry):
                    texts.append(text)
                else:
                    self.problems.append(Problem((*self.path, key, index), "is empty"))
            else:
                at = (*self.path, key, index)
                message = f"expected text, found {kind_of(entry)}"
                self.problems.append(Problem(at, message, _how_to_mend(entry)))
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
        """Known, though nobody has read it here."""
        self.seen.update(keys)

    def refuse_others(self, what: str) -> None:
        """Every key that nobody asked for is a typing error until proven otherwise."""
        for key in self.value:
            if key not in self.seen:
                self.wrong(key, f"unknown {what}", closest(key, self.seen))

    def _take(self, key: str) -> object:
        self.seen.add(key)
        return self.value.get(key)

    def _checked(self, key: str | KeyPath, text: str, *, one_line: bool = False) -> str:
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
    """A hint: the known word that was probably meant, else all of them."""
    near = difflib.get_close_matches(word, known, n=1)
    return f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(known))}"


def _how_to_mend(value: object) -> str:
    if isinstance(value, Mapping):
        return "a colon makes a mapping of a line: put the line in quotes"
    return "" if isinstance(value, list) else "put it in quotes"
