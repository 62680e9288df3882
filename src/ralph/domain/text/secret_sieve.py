"""A quick test for blocks that hold no secret, which nearly all are: streams of many megabytes are searched.

Most characters are removed first. What that leaves is short, and is searched for what the same removal leaves of the
literals that every secret of a kind contains, or that stand before it. A block with one of them is looked at closely.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ralph.domain.text.secret_shapes import ANCHORS
from ralph.patterns import pattern

_FREQUENT = b"lps"  # to begin with
_MARKS = b":-_."
_CAPITALS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_AS_WRITTEN = bytes(range(256)).translate(bytes.maketrans(b"=>", b"::"))
_IN_LOWER_CASE = _AS_WRITTEN.lower()


class Sieve:
    """``kept``: the characters that are not removed. Case counts only among capitals; ``=`` and ``>`` are colons."""

    __slots__ = ("_marks", "_patterns", "_removed", "_table")

    def __init__(self, kept: bytes, literals: Iterable[str]) -> None:
        self._table = _AS_WRITTEN if kept.isupper() else _IN_LOWER_CASE
        self._removed = bytes(code for code in range(256) if self._table[code] not in kept)
        endings: dict[bytes, list[bytes]] = {}
        signs = {self._reduce(literal.encode()) for literal in literals}
        has_marks = all(any(mark in sign for mark in _MARKS) for sign in signs)
        self._marks = [bytes((code,)) for code in range(256) if has_marks and self._table[code] in _MARKS]
        for sign in sorted(signs):
            size = 2 if sign[:1] in _FREQUENT else 1
            endings.setdefault(sign[:size], []).append(re.escape(sign[size:]))
        # A pattern that begins with a literal is found several times as fast as one that does not.
        self._patterns = [
            (start[:1], re.compile(re.escape(start) + b"(?:" + b"|".join(rests) + b")").search)
            for start, rests in endings.items()
        ]

    def finds_one(self, block: bytes) -> bool:
        # Looking for one byte costs next to nothing: a long line of prose or of encoded data has hardly any mark.
        if self._marks and not any(mark in block for mark in self._marks):
            return False
        remainder = self._reduce(block)
        return any(first in remainder and search(remainder) for first, search in self._patterns)

    def _reduce(self, block: bytes) -> bytes:
        return block.translate(self._table, self._removed)


_RARE = pattern(r"[kx]|v1")
_TOKENS = [anchor for anchor in ANCHORS if anchor.islower()]
_SIEVES = (
    (
        b"kynswxvz:-_",
        "token: key: -token -key cookie: authorization: amz-signature:".split()  # noqa: SIM905
        + [anchor for anchor in _TOKENS if _RARE.search(anchor)],
    ),
    (
        b"scrpbwdl:",
        "secret: credential: credentials: bearer password passwd pwd: pass: passphrase sshpass curl".split(),  # noqa: SIM905
    ),
    (
        b"ghlpmrfyav_-.",
        ["mysql -", "login -", "hooks.slack", *(a for a in _TOKENS if not _RARE.search(a))],
    ),
    (_CAPITALS + b".", ["TOKEN", "SECRET", "PASSWORD", "KEY", *(a for a in ANCHORS if not a.islower())]),
)
SIEVES = tuple(Sieve(kept, literals) for kept, literals in _SIEVES)
_KEPT = {*_CAPITALS, *b"".join(kept + kept.upper() for kept, _ in _SIEVES)}
_REMOVED = bytes(code for code in range(256) if _AS_WRITTEN[code] not in _KEPT)


def may_hold_secret(block: bytes) -> bool:
    if b"@" in block and b"://" in block:
        return True
    remainder = block.translate(_AS_WRITTEN, _REMOVED)
    return any(sieve.finds_one(remainder) for sieve in SIEVES)
