"""Signs of secrets: literals, of which every text that ``mask_text`` changes has one, with what must stand around them.

They are data for a fast search, which knows nothing of secrets (``adapters/processes/sign_search.py``). A text with a sign is
looked at closely, so a sign may also be found where there is no secret; but no rule may mask a text without one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ralph.domain.text.secret_assignments import OPENING
from ralph.domain.text.secret_logins import REGISTRIES
from ralph.domain.text.secret_shapes import ANCHORS

_LETTERS = (
    "abcdefghijklmnopqrstuvwxyz"  # the module ``string`` has them too, and takes half a millisecond to load
)
_DIGITS = "0123456789"

# Bytes that are taken for others, except in literals that are exact.
FOLDED = {
    **dict(zip(_LETTERS.upper(), _LETTERS, strict=True)),
    "=": ":",
    ">": ":",
    "\t": " ",
}

_FOREIGN = "".join(map(chr, range(0x80, 0x100)))  # bytes of any letter that is not ASCII
_WORD = _LETTERS + _LETTERS.upper() + _DIGITS + "_" + _FOREIGN
_NAME = _WORD + "-"
_PARAMETER = _WORD + ".%-"
_HOST = _WORD + ".:-"
_ALL = "".join(map(chr, range(0x100)))
_ADDRESS = "".join(one for one in _ALL if one not in " \t\n\r\v\f'\"<>`")
_COMMAND = "".join(one for one in _ALL if one not in "\n|;&")
_GAP = _DIGITS + "_-\\\"'`] \t" + _FOREIGN

LONGEST = 24


Find = Callable[[bytes, int], int]
"""Where the first of some signs is in a block, from the start of a line on; -1 if there is none."""


class Sign(NamedTuple):
    """``literal``, of at least 3 and at most 24 bytes, after any of ``before`` and one of ``stop``, and before any of ``after``
    and then ``then``.

    At most ``within`` bytes are passed over. More than that is taken for a sign: rules count characters, or do not count.
    """

    literal: str
    is_exact: bool = False
    before: str = ""
    stop: str = ""
    after: str = ""
    then: str = ""
    within: int = 40


_NAMES = "key token secret passw passphrase credential auth pwd pat cookie bearer".split()  # noqa: SIM905
_GIVEN = "token secret passwd password passphrase pwd pass credential credentials uthorization cookie".split()  # noqa: SIM905
_IN_ADDRESSES = ("sig", "code", *_NAMES)
_HOOKS = (
    "://hooks.slack",
    "/api/webhooks/",
    "://api.telegram.org/bot",
    "://hc-ping.com/",
    "://hooks.zapier.com/",
    "://maker.ifttt.com/",
    "://ntfy.sh/",
    "webhook.office.com/",
)
_KEY, _ADDRESS_BEGINS = "key", "://"
_PROGRAMS = {
    " -u": ("curl",),
    " --u": ("curl",),
    " -a": ("http", "redis-cli"),
    " --a": ("http",),
    "-a": ("xh ", "xh'", 'xh"', "xh\\", "xh("),
    " -p": ("sshpass", "mysql", "mariadb", "mongo", "login", "sqlcmd", "bcp", "zip"),
    " -w": ("ldap",),
}


def _of_words() -> Iterator[Sign]:
    for word in _GIVEN:
        yield Sign(word, after=_GAP, then=":")
    yield Sign("bearer", then=" ")
    yield Sign("password", after=" \t", then=" ")  # of a line in .netrc
    for word in _NAMES:
        for end in (" ", ":"):
            yield Sign(word, before=_WORD, stop="-", after=_NAME, then=end)
        yield Sign(word.upper(), is_exact=True, after=_NAME, then=":")
    for option, programs in _PROGRAMS.items():
        for program in programs:
            yield Sign(program, after=_COMMAND, then=option, within=400)


def _of_keys() -> Iterator[Sign]:
    for word in OPENING:
        yield Sign(word, after="_-.", then=_KEY)


def _of_addresses() -> Iterator[Sign]:
    for word in _IN_ADDRESSES:
        yield Sign(word, before=_PARAMETER, stop="?&#;\\", after=_PARAMETER, then=":")
    yield Sign(_ADDRESS_BEGINS, after=_ADDRESS, then="@", within=400)
    yield Sign(_ADDRESS_BEGINS, after=_HOST, then="/h", within=400)
    for hook in _HOOKS:
        yield Sign(hook)


SIGNS = (
    *(Sign(anchor, is_exact=True) for anchor in ANCHORS),
    *_of_words(),
    *_of_keys(),
    *_of_addresses(),
)


def _announcing() -> Iterator[Sign]:
    """The beginnings of the signs. What has the shape of a secret is one word, and is announced by nothing."""
    words = (Sign(_KEY), Sign(_ADDRESS_BEGINS), *map(Sign, REGISTRIES))
    signs = dict.fromkeys((*words, *(sign._replace(after="", then="", within=40) for sign in _of_words())))
    anywhere = [sign for sign in signs if not sign.is_exact and not sign.stop]
    for sign in signs:
        if not any(other.literal in sign.literal.lower() for other in anywhere if other != sign):
            yield sign


ANNOUNCING = tuple(_announcing())
"""Whatever stands after one of these may belong to a secret until the line ends."""


def sign_of(secret: bytes) -> Sign:
    """Of one that is known."""
    return Sign(secret[:LONGEST].decode("latin-1"), is_exact=True)
