"""Failing tests for cargo test, beside the code and in ``tests/``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ralph.domain.proof.planting.ground import Ground, Planted, beside, new_place
from ralph.patterns import pattern

_TEST = pattern(r"^\s*#\[(?:\w+::)*test\b", re.MULTILINE)


def plant_rust(ground: Ground) -> Iterator[Planted]:
    folders: set[str] = set()
    for path, text in ground.texts(".rs"):
        if not _TEST.search(text):
            continue
        token = ground.words.word(path)
        module = f"#[cfg(test)]\nmod {token} {{\n{_test(ground, token, indent='    ')}}}\n"
        yield Planted("cargo test", path, path, f"{text.rstrip()}\n\n{module}", token)
        place = new_place(path)
        if place not in folders and _is_own_program(ground, path):
            folders.add(place)
            token = ground.words.word(place)
            yield Planted("cargo test", place, beside(path, f"{token}.rs"), _test(ground, token), token)


def _is_own_program(ground: Ground, path: str) -> bool:
    """Cargo makes a program of each file in the folder ``tests`` of a package."""
    folder = path.rpartition("/")[0]
    package, _, name = folder.rpartition("/")
    return name == "tests" and (f"{package}/Cargo.toml" if package else "Cargo.toml") in ground.paths


def _test(ground: Ground, token: str, indent: str = "") -> str:
    lines = ("#[test]", f"fn {token}() {{", f'    assert_eq!("{token}", "{ground.words.word(token)}");', "}")
    return "".join(f"{indent}{line}\n" for line in lines)
