"""Regular expressions that are compiled when they are first used: a run loads hundreds of them, and needs a few."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any


class _Pattern:
    """Stands for a ``re.Pattern``: the first use of an attribute compiles, later ones find it in the instance."""

    def __init__(self, text: str | bytes, flags: int | re.RegexFlag = 0) -> None:
        self._given: tuple[Any, Any] = (text, flags)

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(*self._given)
        for attribute in ("match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"):
            self.__dict__[attribute] = getattr(compiled, attribute)
        self.__dict__["pattern"] = compiled.pattern
        return getattr(compiled, name)

    def __repr__(self) -> str:
        return f"pattern({self._given[0]!r})"


if TYPE_CHECKING:
    pattern = re.compile

if not TYPE_CHECKING:
    pattern = _Pattern
