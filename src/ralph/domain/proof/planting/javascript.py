"""Failing tests for node --test, jest, vitest and mocha, in JavaScript and TypeScript."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from ralph.domain.proof.planting.ground import Ground, Planted, beside, name_of, new_place
from ralph.patterns import pattern

ENDINGS = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")
_TEST_FILE = pattern(
    r"(?:^|/)(?:tests?|__tests__|spec|specs|e2e)/|(?:^|/)tests?\.[cm]?[jt]sx?$"
    r"|(?:^|/)(?:[^/]*[._-](?:test|spec)|test[._-][^/]*)\.[cm]?[jt]sx?$"
)
_CALL = pattern(r"(?<![\w.$])(it|test)\s*\(")
_FROM = pattern(r"""(?:\bfrom|\brequire\(|\bimport\()\s*['"](node:test|vitest|@jest/globals|ava|tap|@playwright/test|bun:test|uvu)['"]""")  # fmt: skip
_MODULE = pattern(r"^\s*(?:import\b[^(]|export\b)", re.MULTILINE)
_STYLES = {"node:test": "node", "vitest": "vitest", "@jest/globals": "jest"}
_NAMES = {"vitest": "vitest", "jest": "jest", "react-scripts": "jest", "mocha": "mocha", "jasmine": "mocha"}
_NAMED = pattern(r"\b(vitest|jest|react-scripts|mocha|jasmine)\b")


def plant_javascript(ground: Ground) -> Iterator[Planted]:
    folders: set[tuple[str, str]] = set()
    for path, text in ground.texts(*ENDINGS):
        if not _TEST_FILE.search(path) or not (runner := _runner(ground, path, text)):
            continue
        called = _CALL.search(text)
        word = called[1] if called else "test"
        is_module = _is_module(ground, path, text)
        token = ground.words.word(path)
        test = _test(ground, runner, token, word, is_module=is_module)
        yield Planted(runner, path, path, f"{text.rstrip()}\n\n{test}", token)
        place = f"{new_place(path)} of {runner}"
        if (runner, place) not in folders:
            folders.add((runner, place))
            token = ground.words.word(place)
            alone = _test(ground, runner, token, word, is_module=is_module)
            ending = "\nexport {};\n" if is_module else ""
            yield Planted(
                runner, place, beside(path, _named_like(name_of(path), token)), alone + ending, token
            )


def _runner(ground: Ground, path: str, text: str) -> str:
    """By what the file imports, or else by what its package names; empty if it has no test that we know to write."""
    if found := _FROM.search(text):
        return _STYLES.get(found[1], "")
    return _of_package(ground.above(path, "package.json")) if _CALL.search(text) else ""


def _of_package(text: str) -> str:
    """The runner that its script ``test`` names, or else the first that it names at all."""
    try:
        package = json.loads(text)
        script = str(package["scripts"]["test"])
    except (ValueError, KeyError, TypeError, RecursionError):
        script = ""
    found = _NAMED.search(script) or _NAMED.search(text)
    return _NAMES[found[1]] if found else "mocha"


def _is_module(ground: Ground, path: str, text: str) -> bool:
    if path.endswith((".cjs", ".cts")):
        return False
    if path.endswith((".mjs", ".mts", ".ts", ".tsx")) or _MODULE.search(text):
        return True
    return "require(" not in text and re.search(
        r'"type"\s*:\s*"module"', ground.above(path, "package.json")
    ) is not None  # fmt: skip


def _named_like(name: str, token: str) -> str:
    """With the same endings (``.test.ts``), or beginning (``test-``)."""
    stem, dot, ending = name.partition(".")
    for mark in ("-", "_"):
        start, _, end = stem.partition(mark)
        if start == "test":
            return f"test{mark}{token}{dot}{ending}"
        if end in ("test", "spec"):
            return f"{token}{mark}{end}{dot}{ending}"
    return f"{token}{dot}{ending}"


def _test(ground: Ground, runner: str, token: str, word: str, *, is_module: bool) -> str:
    other = ground.words.word(token)
    match runner:
        case "node" if is_module:
            return (
                f'import {{ test as {token} }} from "node:test";\nimport {other} from "node:assert";\n'
                f'{token}("{token}", () => {{\n  {other}.strictEqual("{token}", "{other}");\n}});\n'
            )
        case "node":
            return (
                f'require("node:test").test("{token}", () => {{\n'
                f'  require("node:assert").strictEqual("{token}", "{other}");\n}});\n'
            )
        case "vitest":
            return (
                f'import {{ test as {token}, expect as {other} }} from "vitest";\n'
                f'{token}("{token}", () => {{\n  {other}("{token}").toBe("{other}");\n}});\n'
            )
        case "jest":
            return f'{word}("{token}", () => {{\n  expect("{token}").toBe("{other}");\n}});\n'
        case _:
            return f'{word}("{token}", function () {{\n  throw new Error("{token} is not {other}");\n}});\n'
