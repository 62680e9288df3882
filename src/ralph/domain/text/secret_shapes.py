"""Secrets recognised by their shape: the tokens of well-known services, and private keys.

Streams of many megabytes are searched, so there is a quick test for blocks without any: every shape has an anchor, a
literal that every match contains. Most letters are first removed from the block, which leaves a short remainder to
search for what the same removal leaves of the anchors.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from ralph.domain.text.secret_names import MASK

_SHAPES: dict[str, tuple[str, ...]] = {
    # pattern: the anchors; every match contains one
    r"sk-ant-[A-Za-z0-9_-]{20,}": ("sk-ant-",),
    r"sk-proj-[A-Za-z0-9_-]{20,}": ("sk-proj-",),
    r"sk-or-v1-[0-9a-f]{32,}": ("sk-or-v1-",),
    r"gh[pousr]_[A-Za-z0-9]{36,}": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    r"github_pat_[A-Za-z0-9_]{40,}": ("github_pat_",),
    r"glpat-[A-Za-z0-9_-]{20,}": ("glpat-",),
    r"xox[abprs]-[A-Za-z0-9-]{20,}": ("xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-"),
    r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[0-9A-Z]{16}(?![A-Za-z0-9])": ("AKIA", "ASIA"),
    r"AIzaSy[A-Za-z0-9_-]{33}": ("AIzaSy",),
    r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}": (".eyJ",),
    r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----(?:[^-]|-(?!----)){20,8000}-----END [A-Z ]{0,20}PRIVATE KEY-----": (
        "PRIVATE KEY",
    ),
}
# The remainders of these anchors are everywhere in a stream, so only single texts are searched for them.
_TEXT_SHAPES = {
    r"(?<![A-Za-z0-9])npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])": "npm_",
    r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{34,}": "hf_",
    r"(?<![A-Za-z0-9])[sr]k_live_[A-Za-z0-9]{16,}": "k_live_",
}
_BLOCK_ANCHORS = tuple(anchor for anchors in _SHAPES.values() for anchor in anchors)
_TEXT_ANCHORS = (*_BLOCK_ANCHORS, *_TEXT_SHAPES.values())

_CAPITALS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# Removed: what most text consists of. Kept: what most anchors contain.
_REMOVED = bytes(sorted({*range(128)} - {*_CAPITALS, *b"ghklx_-."}))
_SIGNS = {  # part of an anchor's remainder: the anchors
    b"k--": (b"sk-ant-", b"sk-proj-", b"sk-or-v1-"),
    b"gh_": (b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_pat_"),
    b"gl-": (b"glpat-",),
    b"xx-": (b"xoxa-", b"xoxb-", b"xoxp-", b"xoxr-", b"xoxs-"),
    b"AKIA": (b"AKIA",),
    b"ASIA": (b"ASIA",),
    b"AIS": (b"AIzaSy",),
    b".J": (b".eyJ",),
    b"PRIVATEKEY": (b"PRIVATE KEY",),
}

_OF_TOKENS = _CAPITALS + _CAPITALS.lower() + b"0123456789_-."
_BEGINNINGS = tuple(
    {b"eyJ", *(anchor.encode() for anchor in _BLOCK_ANCHORS if anchor not in (".eyJ", "PRIVATE KEY"))}
)
_LONGEST_TOKEN = 2048
_LONGEST_KEY = 8192
_KEY_BEGINS, _KEY_END = b"-----BEGIN ", re.compile(rb"-----END [^-]{0,40}-----")


def mask_text(text: str) -> str:
    if not any(anchor in text for anchor in _TEXT_ANCHORS):
        return text
    return _text_pattern().sub(MASK, text)


def mask_block(block: bytes) -> bytes:
    return _block_pattern().sub(MASK.encode(), block) if _has_anchor(block) else block


def undecided_length(block: bytes) -> int:
    """How much of a block's end may be the start of a secret that continues in the next block."""
    return max(_undecided_token(block), _undecided_key(block))


@cache  # most runs never need them, and they take longest to build
def _text_pattern() -> re.Pattern[str]:
    return re.compile("|".join((*_SHAPES, *_TEXT_SHAPES)))


@cache
def _block_pattern() -> re.Pattern[bytes]:
    return re.compile("|".join(_SHAPES).encode())


def _has_anchor(block: bytes) -> bool:
    remainder = block.translate(None, _REMOVED)
    return any(sign in remainder and _holds_any(block, anchors) for sign, anchors in _SIGNS.items())


def _holds_any(block: bytes, anchors: Sequence[bytes]) -> bool:
    return any(anchor in block for anchor in anchors)


def _undecided_token(block: bytes) -> int:
    end = block[-_LONGEST_TOKEN:]
    token = end[len(end.rstrip(_OF_TOKENS)) :]
    if not token or len(token) == _LONGEST_TOKEN:
        return 0
    if _holds_any(token, _BEGINNINGS) or any(_ends_like(token, beginning) for beginning in _BEGINNINGS):
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


def _ends_like(token: bytes, beginning: bytes) -> bool:
    return any(token.endswith(beginning[:size]) for size in range(1, len(beginning)))
