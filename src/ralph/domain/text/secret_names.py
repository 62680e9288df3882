"""Which names of variables, keys and flags suggest a secret. Whole words only: KEYBOARD and AUTHOR do not."""

from __future__ import annotations

import re
from enum import IntEnum

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
_FLAG_VALUE = re.compile(r"(?P<flag>--?(?P<name>[A-Za-z][\w-]*))(?P<gap>[= ]\s*)(?P<value>\S.*)", re.DOTALL)
_FLAG = re.compile(r"--?(?P<name>[A-Za-z][\w-]*)")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")


def secrecy(name: str) -> Secrecy:
    """``GITHUB_TOKEN``, ``dbPassword`` and ``--api-key`` alike."""
    words = (word.lower() for word in _WORD.findall(name))
    return max((_SECRECY_OF.get(word, Secrecy.NONE) for word in words), default=Secrecy.NONE)


def looks_secret(name: str) -> bool:
    """Worth hiding whatever its value is."""
    return secrecy(name) >= Secrecy.LIKELY


def redact(value: object, *, name: str = "") -> object:
    """The same JSON value with secret-looking strings replaced."""
    if isinstance(value, dict):
        return {key: redact(item, name=key) for key, item in value.items()}
    if isinstance(value, list):
        return _redact_list(value)
    if isinstance(value, str) and value:
        return MASK if looks_secret(name) else _redact_flag(value)
    return value


def _redact_list(items: list[object]) -> list[object]:
    """A value may be the entry after its flag: ``["--api-key", "…"]``."""
    shown: list[object] = []
    after_secret_flag = False
    for item in items:
        is_value = after_secret_flag and isinstance(item, str) and not item.startswith("-")
        shown.append(MASK if is_value else redact(item))
        flag = _FLAG.fullmatch(item) if isinstance(item, str) else None
        after_secret_flag = flag is not None and looks_secret(flag["name"])
    return shown


def _redact_flag(text: str) -> str:
    match = _FLAG_VALUE.fullmatch(text)
    if match and looks_secret(match["name"]):
        return match["flag"] + match["gap"] + MASK
    return text
