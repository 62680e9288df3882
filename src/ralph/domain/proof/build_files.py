"""The parts of build files that decide what a verification runs; the rest is free to change.

Sections of pyproject.toml, package.json and the like, the rules of a Makefile, and the scripts that a command names.
"""

from __future__ import annotations

import configparser
import json
import posixpath
import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_TOOLS = (
    "pytest", "coverage", "tox", "nox", "ruff", "mypy", "pyright", "pylint", "flake8", "hatch", "poe", "taskipy", "pdm",
)  # fmt: skip
_PACKAGE_KEYS = ("jest", "vitest", "mocha", "ava", "nyc", "c8", "tap", "eslintConfig", "stylelint")
_CFG = ("tool:", "flake8", "mypy", "coverage", "pylint", "pycodestyle", "aliases")


def changed_sections(path: str, before: str, after: str | None, targets: Iterable[str] = ()) -> list[str]:
    """The deciding sections that have changed, by name; ``after`` is None if the file was removed."""
    try:
        old = _deciding(path, before, targets)
    except ValueError:
        return [] if before == after else ["all of it (it could not be read)"]
    if after is None:
        return list(old)
    try:
        new = _deciding(path, after, targets)
    except ValueError:
        return ["it can no longer be read"]
    changed = [name for name, value in old.items() if new.get(name) != value]
    return changed + [name for name in new if name not in old and _counts_when_new(name, old)]


def _counts_when_new(name: str, old: Mapping[str, object]) -> bool:
    """A new script does no harm, unless npm runs it around one that was there."""
    kind, _, rest = name.partition(" ")
    around = re.match("pre|post", rest)
    return kind != "scripts" or (around is not None and f"scripts {rest[around.end() :]}" in old)


def _deciding(path: str, text: str, targets: Iterable[str]) -> dict[str, object]:
    if not text.strip():
        return {}
    name = path.rsplit("/", 1)[-1]
    if is_makefile(path):
        return rules_of(text, targets)
    if name == "package.json":
        return _package(json.loads(text))
    if name == "setup.cfg":
        return _cfg(text)
    table = tomllib.loads(text)
    return _cargo(table) if name == "Cargo.toml" else _pyproject(table)


def _pyproject(table: Mapping[str, Any]) -> dict[str, object]:
    return _those(_TOOLS, table.get("tool"), "tool.")


def _cargo(table: Mapping[str, Any]) -> dict[str, object]:
    return {
        **_those(("lib", "test", "profile"), table),
        **_those(("autotests",), table.get("package"), "package."),
        **_those(("exclude",), table.get("workspace"), "workspace."),
    }


def _package(table: object) -> dict[str, object]:
    scripts = _table(_table(table).get("scripts"))
    return {**_those(scripts, scripts, "scripts "), **_those(_PACKAGE_KEYS, table)}


def _those(names: Iterable[str], table: object, prefix: str = "") -> dict[str, object]:
    found = _table(table)
    return {f"{prefix}{name}": found[name] for name in names if name in found}


def _cfg(text: str) -> dict[str, object]:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise ValueError(str(error)) from error
    return {name: dict(parser[name]) for name in parser.sections() if name.startswith(_CFG)}


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


# --- Makefiles ---

_CALL = re.compile(r"(?:^|[;&|({\n]|\b(?:exec|time|env|then|do)\b)\s*(?:\w+=\S*\s+)*g?make\b([^;&|\n)]*)")
_RULE = re.compile(r"^([^\s#:=][^:=#]*?)\s*::?(?!=)\s*(.*)$")
_SETTING = re.compile(r"^\s*(?:export\s+|override\s+)*([\w.-]+)\s*(?:[:?+!]|::)?=\s*(.*)$")
_GLOBAL = ("SHELL", ".SHELLFLAGS", "MAKEFLAGS", ".IGNORE", ".DEFAULT_GOAL", ".ONESHELL", "PATH", "export")
FIRST = ""
"""The target of a ``make`` without any."""


def is_makefile(path: str) -> bool:
    return re.fullmatch(r"GNUmakefile|[Mm]akefile|.*\.mk", path.rsplit("/", 1)[-1]) is not None


def targets_in(command: str) -> frozenset[str]:
    """The targets that a command makes; ``FIRST`` if it calls make without one."""
    found: set[str] = set()
    for call in _CALL.finditer(command):
        words = iter(call[1].split())
        named = []
        for word in words:
            if word in ("-C", "-f", "-j", "-I", "-o"):
                next(words, "")
            elif not word.startswith("-") and "=" not in word:
                named.append(word)
        found.update(named or [FIRST])
    return frozenset(found)


def rules_of(text: str, targets: Iterable[str]) -> dict[str, object]:
    """Recipes of the targets and of what they need, the variables these use, and what holds for all of them."""
    rules, settings, order = _read(text)
    wanted = [target or (order[0] if order else "") for target in targets]
    kept: dict[str, object] = {}
    used: list[str] = []
    while wanted:
        name = wanted.pop()
        if f"rule {name}" in kept or name not in rules:
            continue
        kept[f"rule {name}"] = rules[name]
        for needs, recipe in rules[name]:
            # A file that is built belongs to the work; what only has a recipe decides what is run.
            wanted += [one for one in needs.split() if "." not in one and "/" not in one]
            used += [recipe]
    for text_ in used:
        for name in re.findall(r"\$[({]([\w.-]+)[)}]", text_):
            if name in settings and f"variable {name}" not in kept:
                kept[f"variable {name}"] = settings[name]
                used.append(" ".join(settings[name]))
    for name in _GLOBAL:
        if name in settings or name in rules:
            kept[f"global {name}"] = settings.get(name) or rules.get(name)
    kept["includes"] = re.findall(r"^-?s?include\s+.*$", text, re.MULTILINE)
    return kept


def _read(text: str) -> tuple[dict[str, list[tuple[str, str]]], dict[str, list[str]], list[str]]:
    rules: dict[str, list[tuple[str, str]]] = {}
    settings: dict[str, list[str]] = {}
    order: list[str] = []
    current: list[str] = []
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("\t"):
            for name in current:
                needs, recipe = rules[name][-1]
                rules[name][-1] = (needs, f"{recipe}\n{line.strip()}")
        elif found := _SETTING.match(line):
            settings.setdefault(found[1], []).append(found[2].strip())
        elif found := _RULE.match(line):
            needs, _, recipe = found[2].partition(";")
            current = found[1].split()
            for name in current:
                rules.setdefault(name, []).append((needs.split("#")[0].strip(), recipe.strip()))
                if not name.startswith(".") and name not in order:
                    order.append(name)
        elif line.strip() and not line.lstrip().startswith("#"):
            current = []
    return rules, settings, order


# --- scripts that a command names ---

_INTERPRETERS = re.compile(r"(?:.*/)?(?:(?:ba|da|z|k|fi)?sh|python[\d.]*|node|ruby|perl|php|deno|bun|pwsh)")
_BEFORE = frozenset(
    [
        "exec",
        "time",
        "env",
        "nice",
        "nohup",
        "command",
        "sudo",
        "!",
        "then",
        "do",
        "else",
        "if",
        "while",
        "run",
    ]
)
_SAYS_CHECK = re.compile(r"(?i)test|check|verif|valid|lint|spec|smoke|accept|e2e|\bci\b|gate|prove|assert")
_FOLDERS = re.compile(r"(?:^|/)(?:scripts?|ci|\.ci|tools?|bin|hack|dev)/")
_SHELL = re.compile(r"\.(?:sh|bash|zsh|ps1)$|(?:^|/)(?:gradlew|mvnw)$")


def scripts_in(command: str, working_dir: str = ".") -> frozenset[str]:
    """Paths from the top of the workspace. The program under development (``python main.py``) is not among them."""
    found: set[str] = set()
    folder = working_dir
    for words in _simple_commands(command):
        if words[0] == "cd" and len(words) > 1:
            folder = f"{folder}/{words[1]}"
        elif (script := _script(words)) and (path := _normal(f"{folder}/{script}")) is not None:
            found.add(path)
    return frozenset(found)


def _simple_commands(command: str) -> Iterator[list[str]]:
    try:
        text = command.replace("\\\n", " ").replace("\n", " ; ")
        lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
        lexer.commenters = ""
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:  # a quote that does not end: the shell will say so
        return
    current: list[str] = []
    for word in [*words, ";"]:
        if word and set(word) <= set(";&|(){}"):
            if current := _without_prefix(current):
                yield current
            current = []
        else:
            current.append(word)


def _without_prefix(words: list[str]) -> list[str]:
    while words:
        if words[0] in _BEFORE or re.fullmatch(r"\w+=.*", words[0], re.DOTALL):
            words = words[1:]
        elif words[0] == "timeout" and len(words) > 2:
            words = words[2:]
        else:
            break
    return words


def _script(words: list[str]) -> str:
    program, *rest = words
    if _INTERPRETERS.fullmatch(program) and not program.startswith("./"):
        for word in rest:
            if word in ("-c", "-m", "-e", "-p", "--eval", "-"):
                return ""
            if not word.startswith("-"):
                return word if _decides(word) else ""
        return ""
    return program if "/" in program and _decides(program) else ""


def _decides(path: str) -> bool:
    return bool(_SHELL.search(path) or _FOLDERS.search(path) or _SAYS_CHECK.search(path.rsplit("/", 1)[-1]))


def _normal(path: str) -> str | None:
    """Without ``.`` and ``..``; None if it leads out."""
    normal = posixpath.normpath(path)
    is_outside = path.startswith("/") or "//" in path or normal.split("/", 1)[0] == ".."
    return None if is_outside or normal == "." else normal
