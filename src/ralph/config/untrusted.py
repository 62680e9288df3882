"""What a repository that nobody trusts yet may do with a setting: each rule says whether a value is free.

A value is free if it does not matter, or if it is at least as tight as what the user would have without the repository.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

Untrusted = Callable[[Any, Any], bool]
"""``(value, the user's own value or the default)`` → whether the value needs no trust."""


def NEVER(_value: object, _own: object) -> bool:  # noqa: N802 (reads as the constant that it is)
    """It names a program, or changes how one runs. What nobody has classified is taken for that."""
    return False


def ALWAYS(_value: object, _own: object) -> bool:  # noqa: N802
    """It changes what is said and shown, and how long ralph is patient."""
    return True


def LOWER(value: float | None, own: float | None) -> bool:  # noqa: N802
    """A limit; None is none at all."""
    return own is None or (value is not None and value <= own)


def LOWER_BUT_ZERO(value: int, own: int) -> bool:  # noqa: N802
    """A limit that 0 switches off."""
    return own == 0 or 0 < value <= own


def lower_than_usual(usual: int) -> Untrusted:
    """A limit that 0 switches off. None is the one of this machine, or role, which is ``usual`` at least."""
    return lambda value, own: own == 0 or (value is not None and 0 < value <= (own or usual))


def HIGHER(value: float, own: float) -> bool:  # noqa: N802
    """A number of which more is stricter."""
    return value >= own


def FEWER(value: Collection[object], own: Collection[object]) -> bool:  # noqa: N802
    """A list of what is allowed."""
    return set(value) <= set(own)


def MORE(value: Collection[object], own: Collection[object]) -> bool:  # noqa: N802
    """A list of what is watched or forbidden."""
    return set(value) >= set(own)


def MORE_OF_EACH(value: Mapping[str, float], own: Mapping[str, float]) -> bool:  # noqa: N802
    """Numbers by name, of which more is stricter."""
    return all(value.get(name, 0.0) >= number for name, number in own.items())


def only(*words: object) -> Untrusted:
    """These values need no trust."""
    return lambda value, _own: value in words


def rising(*words: object) -> Untrusted:
    """A choice, the loosest first."""
    return lambda value, own: words.index(value) >= words.index(own)
