"""All effective settings as a flat list, for showing them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ralph.config.layers import Origin
from ralph.config.loading import Loaded
from ralph.config.schema import SETTINGS
from ralph.config.secrets import redacted
from ralph.domain.text.reader import KeyPath, spell


@dataclass(frozen=True, slots=True)
class Row:
    """One setting: its key, its value as JSON, and where that comes from."""

    key: str
    value: object
    origin: Origin


def rows(loaded: Loaded) -> list[Row]:
    """Every setting with its value, defaults too, in the order of the schema. Secrets are left out."""
    values = redacted(SETTINGS.dump(loaded.settings))
    assert isinstance(values, dict)
    return list(_rows(loaded, values, ()))


def _rows(loaded: Loaded, values: Mapping[str, object], path: KeyPath) -> Iterator[Row]:
    for key, value in values.items():
        here = (*path, key)
        if isinstance(value, dict) and value:
            yield from _rows(loaded, value, here)
        elif here == ("guardrails",) and value:
            # As they were written: six lines of defaults for each would hide what matters.
            written = redacted(loaded.merged.values["guardrails"])
            assert isinstance(written, list)
            for index, guardrail in enumerate(written):
                yield Row(spell((*here, index)), guardrail, loaded.origin(here))
        else:
            yield Row(spell(here), value, loaded.origin(here))
