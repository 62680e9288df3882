"""Lays settings over each other; every value keeps the origin it came from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ralph.domain.text.reader import KeyPath


@dataclass(frozen=True, slots=True)
class Origin:
    """``default``, ``.ralph/settings.json``, ``environment RALPH_AGENT__COMMAND``, ``--agent``."""

    label: str

    def __str__(self) -> str:
        return self.label


DEFAULT = Origin("default")


class Layer(NamedTuple):
    """Settings of one origin, as JSON values."""

    origin: Origin
    values: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Merged:
    """The values of all layers, and where each object and each value in it came from last."""

    values: Mapping[str, object]
    origins: Mapping[KeyPath, Origin]

    def origin(self, path: KeyPath) -> Origin:
        """What is inside a list comes from where the list came from."""
        if path in self.origins:
            return self.origins[path]
        first_index = next((n for n, step in enumerate(path) if isinstance(step, int)), len(path))
        return self.origins.get(path[:first_index], DEFAULT)

    def origin_of_missing(self, path: KeyPath) -> Origin:
        """Where something that is not there should have been."""
        while path and path not in self.origins:
            path = path[:-1]
        return self.origins.get(path, DEFAULT)


NOTHING = Merged({}, {})


def deep_merge(base: Mapping[str, object], over: Mapping[str, object]) -> dict[str, object]:
    """Objects merge recursively; anything else, lists and null too, replaces what was there."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        if isinstance(value, Mapping):
            merged[key] = deep_merge(below if isinstance(below, Mapping) else {}, value)
        else:
            merged[key] = value
    return merged


def stack(layers: Iterable[Layer]) -> Merged:
    """Later layers win."""
    values: dict[str, object] = {}
    origins: dict[KeyPath, Origin] = {}
    for layer in layers:
        _mark(values, layer.values, layer.origin, (), origins)
        values = deep_merge(values, layer.values)
    return Merged(values, origins)


def _mark(
    below: Mapping[str, object],
    over: Mapping[str, object],
    origin: Origin,
    path: KeyPath,
    origins: dict[KeyPath, Origin],
) -> None:
    for key, value in over.items():
        here = (*path, key)
        old = below.get(key)
        if isinstance(value, Mapping):
            _mark(old if isinstance(old, Mapping) else {}, value, origin, here, origins)
        elif isinstance(old, Mapping):
            for gone in [known for known in origins if known[: len(here)] == here]:
                del origins[gone]
        origins[here] = origin
