"""Failing tests for go test."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ralph.domain.proof.planting.ground import Ground, Planted, beside, new_place
from ralph.patterns import pattern

_TEST = pattern(r"^func Test\w*\(\s*\w+ \*testing\.T\s*\)", re.MULTILINE)
_PACKAGE = pattern(r"^package (\w+)", re.MULTILINE)
_ONLY_SOMEWHERE = pattern(
    r"^//\s*(?:go:build|\+build)|_(?:linux|darwin|windows|amd64|arm64)_test\.go$", re.MULTILINE
)


def plant_go(ground: Ground) -> Iterator[Planted]:
    folders: set[str] = set()
    for path, text in ground.texts("_test.go"):
        package = _PACKAGE.search(text)
        if package is None or not _TEST.search(text):
            continue
        token = ground.words.word(path)
        yield Planted("go test", path, path, f"{text.rstrip()}\n\n{_test(ground, token)}", token)
        place = new_place(path)
        if place not in folders and not _ONLY_SOMEWHERE.search(f"{text}\n{path}"):
            folders.add(place)
            token = ground.words.word(place)
            content = f'package {package[1]}\n\nimport "testing"\n\n{_test(ground, token)}'
            yield Planted("go test", place, beside(path, f"{token}_test.go"), content, token)


def _test(ground: Ground, token: str) -> str:
    other = ground.words.word(token)
    return (
        f"func Test{token.capitalize()}(t *testing.T) {{\n"
        f'\tif got := "{token}"; got != "{other}" {{\n\t\tt.Errorf("got %s", got)\n\t}}\n}}\n'
    )
