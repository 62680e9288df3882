"""Which names of variables, keys and flags suggest a secret. Whole words only: KEYBOARD and AUTHOR do not."""

from __future__ import annotations

import re
from enum import IntEnum

from ralph.patterns import pattern

MASK = "[redacted]"


class Secrecy(IntEnum):
    """How surely a name means a secret."""

    NONE = 0
    POSSIBLE = 1  #: could also be a number or a path: MAX_TOKENS, PWD
    LIKELY = 2  #: could also be a mode or a plain word: AUTH_MODE=required
    SURE = 3


_WORDS_OF = {
    Secrecy.SURE: "apikey bearer cookie credential credentials passphrase passwd password secret secrets token",
    Secrecy.LIKELY: "auth authorization key pat",
    Secrecy.POSSIBLE: "keys pwd tokens",
}
_SECRECY_OF = {word: secrecy for secrecy, words in _WORDS_OF.items() for word in words.split()}
_ENDINGS = ("password", "passwd", "passphrase", "apikey")
_NUMBER = pattern(r"[+-]?[\d.,:_]+(?:e[+-]?\d+)?[a-z%]?", re.IGNORECASE)
_PATH = pattern(r"(?:(?:~|\.{1,2})(?:/[\w.@:+~ -]*)+|(?:/[\w.@:+~ -]+){2,}/?|/[\w.-]{1,20}|[A-Za-z]:[\\/].*)")
_PLAIN_URL = pattern(r"[a-z][a-z0-9+.-]*://[^@?#\s]*", re.IGNORECASE)
_WORD = pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")


def secrecy(name: str) -> Secrecy:
    """``GITHUB_TOKEN``, ``dbPassword`` and ``--api-key`` alike."""
    words = (word.lower() for word in _WORD.findall(name))
    return max(map(_secrecy_of_word, words), default=Secrecy.NONE)


def _secrecy_of_word(word: str) -> Secrecy:
    """``PGPASSWORD`` has no gap between its words."""
    return Secrecy.SURE if word.endswith(_ENDINGS) else _SECRECY_OF.get(word, Secrecy.NONE)


def looks_secret(name: str) -> bool:
    """Worth hiding whatever its value is."""
    return secrecy(name) >= Secrecy.LIKELY


def is_secret(name: str, value: str) -> bool:
    """Whether the name says so, and the value is not evidently something else."""
    promised = secrecy(name)
    if promised is Secrecy.NONE or is_plain(value):
        return False
    return promised is Secrecy.SURE or not _is_word(value)


def is_plain(value: str) -> bool:
    return (
        not value
        or value.lower() in {"true", "false", "yes", "no", "on", "off", "none", "null"}
        or any(pattern.fullmatch(value) for pattern in (_NUMBER, _PATH, _PLAIN_URL))
    )


def _is_word(value: str) -> bool:
    return value.isalpha() and (value.islower() or value.isupper() or value.istitle())
