"""Whether a value could be a secret, or is evidently something else: code, a type, a number, a placeholder, prose.

Agents print code, diffs and logs all day, and these must stay readable: ``token = next(tokens)`` holds no secret.
"""

from __future__ import annotations

import re

from ralph.domain.text.secret_names import MASK, is_plain
from ralph.patterns import pattern

_REFERENCE = pattern(r"(?s)\$.*|\{.*\}|<.*|%\w+%?|\*+|[xX]+|\.{3}.*|….*|!\w.*|@\w+\(.*")
_TEMPLATE = pattern(r"\$\{|\$\(|\{\{|\{[\w.\[\]()!:'\"]*\}|%\(|%s|<[a-z][\w -]*>", re.IGNORECASE)
_CALL = pattern(r"[\[({&*]|[A-Za-z_$][\w.$]*(?:[(\[{<?!]|->|::)")
_DOTTED = pattern(r"[A-Za-z_$][A-Za-z_$]*\d{0,3}(?:\??\.[A-Za-z_$][A-Za-z_$]*\d{0,3})+")
_FILE = pattern(r"[\w./-]*\w\.[a-z]{2,5}")
_TYPE = pattern(
    r"[a-z]{1,5}(?:8|16|32|64|128|256|512)|v?\d+(?:\.\d+)+[\w.-]{0,12}|0x[0-9a-f]+", re.IGNORECASE
)
_CAMEL = pattern(r"[a-z]*(?:[A-Z][a-z]+)*")
_NAME = pattern(r"_*[A-Za-z]+\d{0,3}(?:_[A-Za-z]*\d{0,3})*")
"""As people name variables: made-up passwords have figures anywhere, and one in a thousand has ``key`` or ``pwd`` in it."""
_SECRET_WORD = pattern(r"pass|token|secret|key|pwd|cred|auth", re.IGNORECASE)
_SPECIAL = pattern(r"[@!#%^~+=/]")
_KINDS = "any bool boolean bytes char float hidden input int integer number object optional required str string text"
_STAND_INS = "changeme dummy example insert placeholder redacted replace sample todo your yours"
_MEANINGLESS = frozenset(f"{_KINDS} nil none null undefined".split())
_STAND_IN_WORDS = frozenset(_STAND_INS.split())
SHORTEST_MADE_UP = 6


def is_reference(value: str) -> bool:
    """It says where a secret is, or that there is one: ``$TOKEN``, ``<your-key>``, ``xxx``; or it is masked already."""
    return not value or MASK in value or _REFERENCE.fullmatch(value) is not None or _is_stand_in(value)


def is_code(value: str) -> bool:
    """An expression, such as a call or an attribute."""
    return bool(_CALL.match(value) or _DOTTED.fullmatch(value))


def is_password(value: str, *, quoted: bool) -> bool:
    """What a person may have chosen. Without quotes a plain word is more likely a type or a variable."""
    if _is_something_else(value, quoted=quoted):
        return False
    if quoted:
        return len(value) > 1 and (_has_figures(value) or not _SECRET_WORD.search(value))
    return _has_figures(value) or _SPECIAL.search(value) is not None


def is_made_up(value: str, *, quoted: bool) -> bool:
    """What a program generated: letters and figures, or letters in a mixture that nobody writes."""
    if len(value) < SHORTEST_MADE_UP or _is_something_else(value, quoted=quoted):
        return False
    return _has_figures(value) or (
        quoted and len(value) >= 2 * SHORTEST_MADE_UP and not _CAMEL.fullmatch(value) and _is_mixed(value)
    )


def _is_something_else(value: str, *, quoted: bool) -> bool:
    if is_reference(value) or is_plain(value) or value.lower() in _MEANINGLESS:
        return True
    if not value.isascii() and not _has_figures(value):
        return True  # prose of another language
    if _TYPE.fullmatch(value) or _FILE.fullmatch(value) or _TEMPLATE.search(value):
        return True
    if quoted:
        return any(map(str.isspace, value)) and not any(map(_has_figures, value.split()))
    return is_code(value) or (_NAME.fullmatch(value) is not None and _SECRET_WORD.search(value) is not None)


def _is_stand_in(value: str) -> bool:
    words = re.split(r"[^A-Za-z0-9]+", value.lower().strip("[]()"))
    return all(word.isalpha() or not word for word in words) and not _STAND_IN_WORDS.isdisjoint(words)


def _has_figures(value: str) -> bool:
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def _is_mixed(value: str) -> bool:
    return re.fullmatch(r"[A-Za-z+/=_-]+", value) is not None and not value.islower() and not value.isupper()
