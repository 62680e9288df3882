"""Takes secrets out of what is recorded and shown: out of single texts, JSON values, events, and blocks of a stream.

``mask_text`` decides what is one, also for streams: these only have a quick test before it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import is_dataclass
from functools import cache
from operator import is_not
from typing import Any, TypeVar

from ralph.domain.text.secret_assignments import mask_assignments
from ralph.domain.text.secret_cuts import Mask, undecided_end
from ralph.domain.text.secret_logins import mask_logins
from ralph.domain.text.secret_names import MASK, looks_secret
from ralph.domain.text.secret_places import mask_address, mask_places
from ralph.domain.text.secret_shapes import mask_shapes
from ralph.domain.text.secret_signs import Find
from ralph.values import fields, replace

T = TypeVar("T")
_TEXTLESS = frozenset({int, float, bool, type(None)})
_PLAIN = frozenset({str, tuple})


# --- texts and values ---


def mask_text(text: str) -> str:
    return mask_logins(mask_assignments(mask_places(mask_shapes(text))))


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
    kind: Any = type(value)
    if kind in _TEXTLESS:  # most of what there is
        return value
    if kind is str:  # exactly: a word of ours is no secret, and stays what it is
        shown: Any = mask(masked)
        masked = masked if shown == masked else shown  # itself: what holds it then stays what it is
    elif names := _fields_of(kind):
        changed = {}
        for name in names:
            old = getattr(masked, name)
            if type(old) in _TEXTLESS or (type(old) in _PLAIN and not old):
                continue  # spares a call: most of what a state has to say is nothing
            if (new := mask_all(old, mask)) is not old:
                changed[name] = new
        masked = replace(masked, **changed) if changed else masked
    elif isinstance(masked, tuple | list):
        items = [mask_all(item, mask) for item in masked]
        if any(map(is_not, items, masked)):
            masked = kind(*items) if hasattr(masked, "_fields") else kind(items)
    elif isinstance(masked, dict):
        items_of = {key: mask_all(item, mask) for key, item in masked.items()}
        if any(map(is_not, items_of.values(), masked.values())):
            masked = items_of
    same: T = masked  # whatever else it is holds no text
    return same


@cache
def _fields_of(kind: Hashable) -> tuple[str, ...]:
    if not isinstance(kind, type) or not is_dataclass(kind):
        return ()
    return tuple(field.name for field in fields(kind) if field.init)


# --- blocks of a stream ---


def mask_block(block: bytes, find: Find | None = None) -> bytes:
    """Line by line: only a private key has several. ``find`` finds one of the ``SIGNS`` quicker than what we have ourselves, and misses nothing."""
    suspects = _suspects(block, find)
    if suspects and b"PRIVATE KEY" in block:
        block = _mask_bytes(block, mask_shapes)
        suspects = _suspects(block, find)
    shown: list[bytes] = []
    done = 0
    for start, end in suspects:
        shown += (block[done:start], _mask_bytes(block[start:end], mask_text))
        done = end
    return b"".join((*shown, block[done:])) if shown else block


def _suspects(block: bytes, find: Find | None) -> list[tuple[int, int]]:
    """Where the lines are that may hold a secret: nearly always nowhere."""
    if find is None:
        from ralph.domain.text.secret_sieve import may_hold_secret

        # It knows only some of the signs, so one of them makes all lines suspicious.
        return list(_lines(block)) if may_hold_secret(block) else []
    lines: list[tuple[int, int]] = []
    place = find(block, 0)
    while place >= 0:
        end = block.find(b"\n", place)
        lines.append((block.rfind(b"\n", 0, place) + 1, end if end >= 0 else len(block)))
        place = find(block, end) if end >= 0 else -1
    return lines


def _lines(block: bytes) -> Iterator[tuple[int, int]]:
    start = 0
    for line in block.split(b"\n"):
        yield start, start + len(line)
        start += len(line) + 1


def _mask_bytes(block: bytes, mask: Callable[[str], str]) -> bytes:
    return mask(block.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def undecided_length(block: bytes, find_announcing: Find | None = None, mask: Mask = mask_block) -> int:
    """How much of a block's end may be the start of a secret that continues in the next block.

    ``find_announcing`` finds one of ``ANNOUNCING``, which is the first in its word, quicker than we do ourselves; ``mask`` is
    what the block will be masked with.
    """
    return undecided_end(block, find_announcing, mask)
