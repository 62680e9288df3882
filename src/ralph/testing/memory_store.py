"""Tasks or stories in memory, in the order they were given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")


class MemoryStore(Generic[Item]):
    def __init__(self, items: Iterable[Item], *, key: Callable[[Item], str]) -> None:
        self.key = key
        self._items = {key(item): item for item in items}

    def items(self) -> Sequence[Item]:
        return list(self._items.values())

    def get(self, key: str) -> Item:
        return self._items[key]

    def put(self, key: str, item: Item) -> None:
        self._items[key] = item
