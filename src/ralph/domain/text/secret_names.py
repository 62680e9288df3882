"""Which names of variables, keys and flags promise a secret. Whole words only: KEYBOARD and AUTHOR are none."""

from __future__ import annotations

import re
from enum import IntEnum

MASK = "[redacted]"


class Secrecy(IntEnum):
    """How surely a name stands for a secret."""

    NONE = 0
    POSSIBLE = 1  #: may as well be a number or a place: MAX_TOKENS, PWD
    LIKELY = 2  #: may as well be a mode or a plain word: AUTH_MODE=required
    SURE = 3


_WORDS_OF = {
    Secrecy.SURE: "apikey bearer cookie credential credentials passphrase passwd password secret secrets token",
    Secrecy.LIKELY: "auth authorization key pat",
    Secrecy.POSSIBLE: "keys pwd tokens",
}
_SECRECY_OF = {word: secrecy for secrecy, words in _WORDS_OF.items() for word in words.split()}
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")


def secrecy(name: str) -> Secrecy:
    """``GITHUB_TOKEN``, ``dbPassword`` and ``--api-key`` alike."""
    words = (word.lower() for word in _WORD.findall(name))
    return max((_SECRECY_OF.get(word, Secrecy.NONE) for word in words), default=Secrecy.NONE)


def looks_secret(name: str) -> bool:
    """Worth hiding even if nothing is known about the value."""
    return secrecy(name) >= Secrecy.LIKELY
