"""Secrets that are given to a name that says so: ``password: …``, ``"client_secret": "…"``, ``api_key = …``, ``?token=…``.

The end of the name decides: ``max_tokens`` counts them, ``token_type`` describes one, ``primary_key`` opens nothing.
"""

from __future__ import annotations

import re

from ralph.domain.text.secret_names import MASK
from ralph.domain.text.secret_values import is_made_up, is_password
from ralph.patterns import pattern

# A key is a secret only if its name says what it opens.
_OPENINGS = (
    "access account admin api app application auth client consumer deploy encrypt encryption hmac license master private"
    " secret service session shared signing storage subscription webhook"
)
OPENING = tuple(_OPENINGS.split())
_LONGEST_OPENING = 14
_NAME = r"(?P<password>passw(?:or)?d|passphrase|pwd|(?<=[A-Za-z0-9][_-])pass)|token|secret|credentials?|(?P<key>key)"
_TYPE = r":[ \t]{0,4}[A-Za-z][\w.|?\[\]]{0,40}[ \t]{0,4}="  # password: str = "…"
_SEPARATOR = rf"(?:{_TYPE}|:=|=>|=(?![=~>])|:(?![:=/])|>(?=[^<>\s]{{1,200}}</))"
_VALUE = (  # closed as it was opened, also inside of JSON; cut off; without quotes
    r"(?:(?P<open>[A-Za-z]{0,2}(?P<mark>[\"'`]))(?P<quoted>(?:(?!(?P=mark))[^\\\r\n]|\\[\"'\\/u]){1,1000})(?=(?P=mark))"
    r"|(?P<escaped>[A-Za-z]{0,2}\\{1,6}(?P<sign>[\"'`]))(?P<inner>(?:(?!(?P=sign))[^\\\r\n]){1,1000})(?=\\)"
    r"|(?P<opened>[A-Za-z]{0,2}\\{0,6}[\"'`])(?P<rest>[^\s\"'`\\]{1,4000})"
    r"|(?P<bare>[^\s\"'`\\,;&|)}\]<>][^\s\"'`\\,;&|)}\]<>]{0,4000}))"
)
_GIVEN = pattern(
    rf"(?i)(?P<before>(?:{_NAME})[_-]?\d{{0,3}}(?:\\{{0,6}}[\"'`])?\]?[ \t]{{0,20}}{_SEPARATOR}[ \t]{{0,20}}){_VALUE}"
)
_NETRC = pattern(r"(?P<before>\blogin[ \t]{1,8}\S{1,200}[ \t]{1,8}password[ \t]{1,8})(?P<bare>[^\s\"'\\]+)")
# Each takes one letter, so that words that share some are both found.
_ENDS = pattern("t(?=oken)|s(?=ecret)|p(?=ass|wd)|c(?=redential)|k(?=ey)")


def mask_assignments(text: str) -> str:
    """The pattern is tried only where one of the words is: that is many times as fast, and nearly every text has none."""
    lower = text.lower()
    if len(lower) != len(text):  # a few letters of other languages become two
        lower = "".join(one if not one.isascii() else one.lower() for one in text)
    places = [found.start() for found in _ENDS.finditer(lower)]
    if not places:
        return text
    if "login" in lower and "password" in lower:
        masked = _NETRC.sub(lambda found: found["before"] + MASK, text)
        if masked != text:
            return mask_assignments(masked)
    shown: list[str] = []
    end = 0
    for place in places:
        if place >= end and (found := _GIVEN.match(text, place)):
            masked = _replace(found)
            if masked == found[0]:  # a name inside of what is no secret may be given one itself
                continue
            shown += (text[end:place], masked)
            end = found.end()
    return "".join((*shown, text[end:])) if shown else text


def _replace(found: re.Match[str]) -> str:
    if found["key"] and not _opens_something(found):
        return found[0]
    bare = found["bare"]
    value = bare or found["quoted"] or found["inner"] or found["rest"]
    is_one = is_password if found["password"] else is_made_up
    if not is_one(value, quoted=bare is None):
        return found[0]
    return found["before"] + (found["open"] or found["escaped"] or found["opened"] or "") + MASK


def _opens_something(found: re.Match[str]) -> bool:
    before = found.string[max(0, found.start() - _LONGEST_OPENING) : found.start()]
    return before.lower().rstrip("_-.").endswith(OPENING)
