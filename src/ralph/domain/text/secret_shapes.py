"""Secrets recognised by their shape: the tokens of well-known services, and private keys.

Each shape has an anchor, a literal that every match contains: nearly every text has none of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from ralph.domain.text.secret_names import MASK

_SHAPES: dict[str, tuple[str, ...]] = {
    # pattern: the anchors; every match contains one
    r"sk-ant-[A-Za-z0-9_-]{20,}": ("sk-ant-",),
    r"sk-proj-[A-Za-z0-9_-]{20,}": ("sk-proj-",),
    r"sk-svcacct-[A-Za-z0-9_-]{20,}": ("sk-svcacct-",),
    r"sk-or-v1-[0-9a-f]{32,}": ("sk-or-v1-",),
    r"gh[pousr]_[A-Za-z0-9]{36,}": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    r"github_pat_[A-Za-z0-9_]{40,}": ("github_pat_",),
    r"glpat-[A-Za-z0-9_-]{20,}": ("glpat-",),
    r"xox[abprs]-[A-Za-z0-9-]{20,}": ("xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-"),
    r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[0-9A-Z]{16}(?![A-Za-z0-9])": ("AKIA", "ASIA"),
    r"AIza[A-Za-z0-9_-]{35}": ("AIza",),
    r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}": (".eyJ",),
    r"(?<![A-Za-z0-9])npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])": ("npm_",),
    r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{34,}": ("hf_",),
    r"(?<![A-Za-z0-9])[sr]k_live_[A-Za-z0-9]{16,}": ("k_live_",),
    r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----(?:[^-]|-(?!----)){20,8000}-----END [A-Z ]{0,20}PRIVATE KEY-----": (
        "PRIVATE KEY",
    ),
}
ANCHORS = tuple(anchor for anchors in _SHAPES.values() for anchor in anchors)

_BY_CHARACTER = {
    "_": tuple(anchor for anchor in ANCHORS if "_" in anchor),
    "-": tuple(anchor for anchor in ANCHORS if "-" in anchor),
    "A": tuple(anchor for anchor in ANCHORS if "A" in anchor),
    ".": (".eyJ",),
}

_OF_TOKENS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."
_BEGINNINGS = tuple(
    {
        b"eyJ",
        b"sk_live_",
        b"rk_live_",
        *(anchor.encode() for anchor in ANCHORS if anchor not in (".eyJ", "k_live_", "PRIVATE KEY")),
    }
)
_LONGEST_TOKEN = 2048
_LONGEST_BEGINNING = 16
_LONGEST_KEY = 8192
_KEY_BEGINS, _KEY_END = b"-----BEGIN ", re.compile(rb"-----END [^-]{0,40}-----")


def mask_shapes(text: str) -> str:
    return _text_pattern().sub(MASK, text) if _may_hold_one(text) else text


def _may_hold_one(text: str) -> bool:
    """Most texts have few of the characters that most anchors have."""
    return any(
        any(anchor in text for anchor in anchors)
        for character, anchors in _BY_CHARACTER.items()
        if character in text
    )


def mask_shapes_in(block: bytes) -> bytes:
    return _block_pattern().sub(MASK.encode(), block)


def undecided_shape(block: bytes) -> int:
    """How much of a block's end may be the start of a token or key that continues in the next block."""
    return max(_undecided_token(block), _undecided_key(block))


def beginnings_of(literals: Iterable[bytes]) -> frozenset[bytes]:
    """Every part of them that may be the end of a block whose next one has the rest."""
    return frozenset(literal[:size] for literal in literals for size in range(1, len(literal)))


def ends_with_any(block: bytes, beginnings: frozenset[bytes]) -> bool:
    return any(block[-size:] in beginnings for size in range(1, _LONGEST_BEGINNING))


_HALF = beginnings_of(_BEGINNINGS)


@cache  # most runs never need them, and they take longest to build
def _text_pattern() -> re.Pattern[str]:
    return re.compile("|".join(_SHAPES))


@cache
def _block_pattern() -> re.Pattern[bytes]:
    return re.compile("|".join(_SHAPES).encode())


def _undecided_token(block: bytes) -> int:
    end = block[-_LONGEST_TOKEN:]
    token = end[len(end.rstrip(_OF_TOKENS)) :]
    if not token or len(token) == _LONGEST_TOKEN:
        return 0
    if ends_with_any(token, _HALF) or any(beginning in token for beginning in _BEGINNINGS):
        return len(token)
    return 0


def _undecided_key(block: bytes) -> int:
    window = block[-_LONGEST_KEY:]
    start = window.rfind(_KEY_BEGINS)
    if start >= 0:
        over = _KEY_END.search(window, start)
        if over is None or over.end() == len(window):
            return len(window) - start
    sizes = range(len(_KEY_BEGINS) - 1, 0, -1)
    return next((size for size in sizes if window.endswith(_KEY_BEGINS[:size])), 0)
