"""Failing tests for JUnit 4 and 5, whether Maven or Gradle runs them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ralph.domain.proof.planting.ground import Ground, Planted, beside, name_of, new_place
from ralph.patterns import pattern

_TEST = pattern(r"@(?:[\w.]+\.)?(?:Test|ParameterizedTest|RepeatedTest)\b")
_PACKAGE = pattern(r"^\s*package\s+[\w.]+\s*;", re.MULTILINE)
# Quotes and comments may hold braces.
_NOT_CODE = pattern(r'"""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*[\s\S]*?\*/')
RUNNER = "JUnit"


def plant_java(ground: Ground) -> Iterator[Planted]:
    folders: set[str] = set()
    for path, text in ground.texts("Test.java", "Tests.java", "TestCase.java"):
        if not (api := _api(text)) or not _TEST.search(text):
            continue
        token = ground.words.word(path)
        end = _end_of_class(text, name_of(path).removesuffix(".java"))
        if end:
            content = f"{text[:end].rstrip()}\n\n{_test(ground, token, api)}{text[end:]}"
            yield Planted(RUNNER, path, path, content, token)
        place = new_place(path)
        if place not in folders:
            folders.add(place)
            token = ground.words.word(place)
            name = f"{token.capitalize()}Test"
            package = _PACKAGE.search(text)
            head = f"{package[0].strip()}\n\n" if package else ""
            content = f"{head}public class {name} {{\n{_test(ground, token, api)}}}\n"
            yield Planted(RUNNER, place, beside(path, f"{name}.java"), content, token)


def _api(text: str) -> tuple[str, str] | None:
    """The annotation and the class of assertions, of JUnit 5 or 4."""
    if "org.junit.jupiter" in text:
        return "org.junit.jupiter.api.Test", "org.junit.jupiter.api.Assertions"
    if "org.junit." in text:
        return "org.junit.Test", "org.junit.Assert"
    return None


def _test(ground: Ground, token: str, api: tuple[str, str]) -> str:
    test, assertions = api
    other = ground.words.word(token)
    return f'    @{test}\n    public void {token}() {{\n        {assertions}.assertEquals("{token}", "{other}");\n    }}\n'


def _end_of_class(text: str, name: str) -> int:
    """Where the class that a file is named for is closed; 0 if that cannot be told."""
    code = _NOT_CODE.sub(lambda found: " " * len(found[0]), text)
    start = re.search(rf"(?<!abstract )\bclass\s+{re.escape(name)}\b[^{{]*\{{", code)
    if start is None or start[0].count("abstract"):
        return 0
    depth = 1
    for at in range(start.end(), len(code)):
        depth += {"{": 1, "}": -1}.get(code[at], 0)
        if depth == 0:
            return at
    return 0
