"""What a planter is given, a project's files and words that nobody can guess, and what it makes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Protocol

from ralph.values import dataclass

_CONSONANTS = "bdfgklmnprstvz"
_VOWELS = "aeiou"
SYLLABLES = 7


@dataclass(frozen=True, slots=True)
class Words:
    """Words made of a secret, the same ones for the same secret: nobody can guess a test's name or what it says."""

    nonce: str

    def word(self, *purpose: str) -> str:
        """Letters only, so that it is a name in every language and looks like any other."""
        digest = sha256("\0".join((self.nonce, *purpose)).encode()).digest()
        pairs = zip(digest[:SYLLABLES], digest[SYLLABLES:], strict=False)
        return "".join(
            _CONSONANTS[one % len(_CONSONANTS)] + _VOWELS[two % len(_VOWELS)] for one, two in pairs
        )


@dataclass(frozen=True, slots=True)
class Planted:
    """One failing test: the file that holds it, ``content`` being all of that file.

    ``place`` is the same for every secret: the file that was there, or the folder of a new one.
    """

    runner: str
    place: str
    path: str
    content: str
    token: str


@dataclass(frozen=True, slots=True)
class Ground:
    """The files of a project's own; ``read`` answers None for what is no text."""

    paths: frozenset[str]
    read: Callable[[str], str | None]
    words: Words

    def texts(self, *endings: str) -> Iterator[tuple[str, str]]:
        """Each file with one of these endings, and what it says."""
        for path in sorted(self.paths):
            if path.endswith(endings) and (text := self.read(path)) is not None:
                yield path, text

    def above(self, path: str, name: str) -> str:
        """What the nearest file ``name`` in the folder of ``path``, or in one above it, says; empty if there is none."""
        folder = path
        while folder:
            folder = folder.rpartition("/")[0]
            found = f"{folder}/{name}" if folder else name
            if found in self.paths:
                return self.read(found) or ""
        return ""


class Planter(Protocol):
    def __call__(self, ground: Ground) -> Iterator[Planted]: ...


def beside(path: str, name: str) -> str:
    """A file called ``name`` in the folder of ``path``."""
    folder, slash, _ = path.rpartition("/")
    return f"{folder}{slash}{name}"


def name_of(path: str) -> str:
    return path.rpartition("/")[2]


def new_place(path: str) -> str:
    """Where a new file is planted, whatever its name: the folder of ``path``, and the kind of file."""
    return beside(path, f"*.{name_of(path).rpartition('.')[2]}")
