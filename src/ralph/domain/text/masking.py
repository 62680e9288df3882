"""Takes secrets out of what is recorded and shown: out of single texts, JSON values, events, and blocks of a stream.

Streams of many megabytes are searched, so there is a quick test for blocks without any. Most letters are first removed
from the block, which leaves a short remainder to search for what the same removal leaves of the anchors: of literals
that every secret of a kind contains, or that stand before it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, TypeVar

from ralph.domain.text.secret_names import MASK, looks_secret
from ralph.domain.text.secret_places import mask_address, mask_places
from ralph.domain.text.secret_shapes import (
    beginnings_of,
    ends_with_any,
    mask_shapes,
    mask_shapes_in,
    undecided_shape,
)

T = TypeVar("T")


# --- texts and values ---


def mask_text(text: str) -> str:
    return mask_places(mask_shapes(text))


def mask_values(value: object, *, name: str = "") -> object:
    """The same JSON value with secrets replaced; ``name`` is its key."""
    match value:
        case dict():
            return {key: mask_values(item, name=key) for key, item in value.items()}
        case list():
            return _mask_list(value, name)
        case str() if value:
            if name == "notify" and value.startswith(("http://", "https://")):
                return mask_address(value)
            return MASK if looks_secret(name) else mask_text(value)
        case _:
            return value


def _mask_list(items: list[object], name: str) -> list[object]:
    """A value may be the entry after its option: ``["--api-key", "…"]``."""
    shown: list[object] = []
    after_secret_option = False
    for item in items:
        is_value = after_secret_option and isinstance(item, str) and not item.startswith("-")
        shown.append(MASK if is_value else mask_values(item, name=name))
        after_secret_option = (
            isinstance(item, str)
            and item.startswith("-")
            and item.isprintable()
            and (" " not in item and "=" not in item and looks_secret(item))
        )
    return shown


def mask_all(value: T, mask: Callable[[str], str]) -> T:
    """The same event or state with ``mask`` applied to every text in it."""
    masked: Any = value
    match masked:  # whatever else it is holds no text
        case str() if type(masked) is str:  # a word of ours is no secret, and stays what it is
            masked = mask(masked)
        case tuple() | list():
            items = [mask_all(item, mask) for item in masked]
            if any(new is not old for new, old in zip(items, masked, strict=True)):
                masked = type(masked)(*items) if hasattr(masked, "_fields") else type(masked)(items)
        case dict():
            items_of = {key: mask_all(item, mask) for key, item in masked.items()}
            if any(items_of[key] is not item for key, item in masked.items()):
                masked = items_of
        case int() | float() | None:
            pass
        case _ if names := _fields_of(masked.__class__):
            found = ((name, getattr(masked, name)) for name in names)
            changed = {name: new for name, old in found if (new := mask_all(old, mask)) is not old}
            masked = replace(masked, **changed) if changed else masked
        case _:
            pass
    same: T = masked
    return same


@cache
def _fields_of(kind: Hashable) -> tuple[str, ...]:
    if not isinstance(kind, type) or not is_dataclass(kind):
        return ()
    return tuple(field.name for field in fields(kind) if field.init)


# --- blocks of a stream ---

_CAPITALS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# Removed: what most text consists of. Kept: what most anchors contain.
_REMOVED = bytes(sorted({*range(128)} - {*_CAPITALS, *b"fghklmnpvwxz_-.="}))
_SIGNS = {  # part of an anchor's remainder: the anchors
    b"hf_": (b"hf_",),
    b"npm_": (b"npm_",),
}
_NOT_OF_SOME = b"fmnp=" + _CAPITALS.translate(None, b"JK")
_NOT_OF_CAPITALS = b"fghklmnpvwxz_-."
_LOWER_K = bytes.maketrans(b"K", b"k")
_SIGNS_OF_SOME = {  # of fewer letters still; -Key and -Token leave what -key and -token do
    b"k--": (b"sk-ant-", b"sk-proj-", b"sk-or-v1-", b"sk-svcacct-"),
    b"gh_": (b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_pat_"),
    b"gl-": (b"glpat-",),
    b"xx-": (b"xoxa-", b"xoxb-", b"xoxp-", b"xoxr-", b"xoxs-"),
    b".J": (b".eyJ",),
    b"k_lv_": (b"k_live_",),
}
_SIGNS_OF_CAPITALS = {
    b"AKIA": (b"AKIA",),
    b"ASIA": (b"ASIA",),
    b"AI": (b"AIza",),
    b"PRIVATEKEY": (b"PRIVATE KEY",),
}
_PLACES = {
    b"hz": (b"uthorization",),
    b"-k": (b"-key", b"-token", b"-Key", b"-Token"),
    b"hk.lk": (b"hooks.slack",),
}
_PLACES_OF_ALL = {b"-pw": (b"-passw",)}
_PLACES_IN_CAPITALS = {
    b"AUTHORIZATION": (b"AUTHORIZATION",),
    b"PRIVATETOKEN": (b"PRIVATE-TOKEN",),
    b"KEY=": (b"KEY=",),
    b"TOKEN=": (b"TOKEN=",),
    b"SECRET=": (b"SECRET=",),
    b"PASSWORD=": (b"PASSWORD=",),
}
_BEGINNINGS = (
    b"://",
    *(
        anchor
        for found in (_PLACES, _PLACES_OF_ALL, _PLACES_IN_CAPITALS)
        for each in found.values()
        for anchor in each
    ),
)
_HALF = beginnings_of(_BEGINNINGS)
_LONGEST_PLACE = 2048


def mask_block(block: bytes) -> bytes:
    has_shape, has_place = _examine(block)
    if has_shape:
        block = mask_shapes_in(block)
    if has_place:
        block = mask_places(block.decode("latin-1")).encode("latin-1")
    return block


def undecided_length(block: bytes) -> int:
    """How much of a block's end may be the start of a secret that continues in the next block."""
    return max(undecided_shape(block), _undecided_place(block))


def _examine(block: bytes) -> tuple[bool, bool]:
    """Whether it may hold a secret that is known by its shape, and one that is known by its place."""
    wide = block.translate(None, _REMOVED)
    some = wide.translate(_LOWER_K, _NOT_OF_SOME)
    capitals = wide.translate(None, _NOT_OF_CAPITALS)
    has_shape = (
        _holds(_SIGNS, wide, block)
        or _holds(_SIGNS_OF_SOME, some, block)
        or _holds(_SIGNS_OF_CAPITALS, capitals, block)
    )
    has_place = (
        (b"@" in block and b"://" in block)
        or _holds(_PLACES_OF_ALL, wide, block)
        or _holds(_PLACES, some, block)
        or _holds(_PLACES_IN_CAPITALS, capitals, block)
    )
    return has_shape, has_place


def _holds(signs: Mapping[bytes, Sequence[bytes]], remainder: bytes, block: bytes) -> bool:
    return any(sign in remainder and _holds_any(block, anchors) for sign, anchors in signs.items())


def _holds_any(block: bytes, anchors: Sequence[bytes]) -> bool:
    return any(anchor in block for anchor in anchors)


def _undecided_place(block: bytes) -> int:
    """From the word with the first such beginning to the end of an unfinished line."""
    line = block[block.rfind(b"\n", max(0, len(block) - _LONGEST_PLACE)) + 1 :][-_LONGEST_PLACE:]
    places = [place for beginning in _BEGINNINGS if (place := line.find(beginning)) >= 0]
    if places:
        before = line[: min(places)]
        return len(line) - len(before.rstrip(_OF_WORDS))
    word = line[len(line.rstrip(_OF_WORDS)) :]
    return len(word) if word.startswith(b"-") or ends_with_any(line, _HALF) else 0


_OF_WORDS = _CAPITALS + _CAPITALS.lower() + b"0123456789_-:/"
