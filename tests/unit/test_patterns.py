"""Patterns that are compiled late behave as compiled ones, and all of the product's do compile."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import pytest

import ralph
from ralph.patterns import pattern

OPTIONAL = ("ralph.adapters.temporal", "ralph.adapters.telemetry")


def patterns_of(value: object) -> Iterator[Any]:
    kind = type(pattern("x"))
    if isinstance(value, kind):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from patterns_of(each)
    elif isinstance(value, dict):
        yield from patterns_of([*value.keys(), *value.values()])


def test_it_answers_as_the_compiled_one_does() -> None:
    late, early = (
        pattern(r"(?P<word>\w+)-(\d+)", re.IGNORECASE),
        re.compile(r"(?P<word>\w+)-(\d+)", re.IGNORECASE),
    )
    text = "ab-1, cd-22"

    for method in ("match", "fullmatch", "search", "findall", "split"):
        ours, theirs = getattr(late, method)(text), getattr(early, method)(text)
        assert repr(ours) == repr(theirs)
    assert late.sub(r"\2", text) == early.sub(r"\2", text)
    assert [found.span() for found in late.finditer(text, 3)] == [
        found.span() for found in early.finditer(text, 3)
    ]
    assert (late.pattern, late.flags, late.groupindex) == (early.pattern, early.flags, early.groupindex)
    assert pattern(rb"\d").sub(b"", b"a1") == b"a"


def test_an_attribute_that_no_pattern_has_is_missed() -> None:
    with pytest.raises(AttributeError):
        pattern("x").matches  # type: ignore[attr-defined]  # noqa: B018


def test_every_pattern_of_the_product_compiles() -> None:
    found = 0
    for module in pkgutil.walk_packages(ralph.__path__, "ralph."):
        if module.name.endswith("__main__") or module.name.startswith(OPTIONAL):
            continue
        for value in vars(importlib.import_module(module.name)).values():
            for each in patterns_of(value):
                assert isinstance(each.groups, int)
                found += 1
    assert found > 300
