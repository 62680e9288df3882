"""Settings that may be tightened and not loosened, by the rules of the question of trust."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeVar

from ralph.config.kinds import Table
from ralph.values import replace

T = TypeVar("T")


def tightened(asked: T, own: T, *, only: Collection[str] = ()) -> tuple[T, tuple[str, ...]]:
    """What is asked for, with ``own`` wherever that is tighter, and the keys of those. ``only``: these, by their names in
    Python; empty: all."""
    loosened = {
        setting.name: setting.key
        for setting in Table(type(asked)).settings
        if (not only or setting.name in only)
        and (value := getattr(asked, setting.name)) != (base := getattr(own, setting.name))
        and not setting.untrusted(value, base)
    }
    kept: dict[str, Any] = {name: getattr(own, name) for name in loosened}
    return replace(asked, **kept), tuple(loosened.values())  # type: ignore[type-var]
