"""What a Makefile says about the targets that a verification asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable

_CALL = re.compile(r"(?:^|[;&|({\n]|\b(?:exec|time|env|then|do)\b)\s*(?:\w+=\S*\s+)*g?make\b([^;&|\n)]*)")
_RULE = re.compile(r"^([^\s#:=][^:=#]*?)\s*::?(?!=)\s*(.*)$")
_SETTING = re.compile(r"^\s*(?:export\s+|override\s+)*([\w.-]+)\s*(?:[:?+!]|::)?=\s*(.*)$")
_GLOBAL = ("SHELL", ".SHELLFLAGS", "MAKEFLAGS", ".IGNORE", ".DEFAULT_GOAL", ".ONESHELL", "PATH", "export")
FIRST = ""
"""The target of a ``make`` without any."""


def is_makefile(path: str) -> bool:
    return re.fullmatch(r"GNUmakefile|[Mm]akefile|.*\.mk", path.rsplit("/", 1)[-1]) is not None


def targets_in(command: str) -> frozenset[str]:
    """The targets that a command has made; ``FIRST`` if it calls make without one."""
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
    present: list[str] = []
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("\t"):
            for name in present:
                needs, recipe = rules[name][-1]
                rules[name][-1] = (needs, f"{recipe}\n{line.strip()}")
        elif found := _SETTING.match(line):
            settings.setdefault(found[1], []).append(found[2].strip())
        elif found := _RULE.match(line):
            needs, _, recipe = found[2].partition(";")
            present = found[1].split()
            for name in present:
                rules.setdefault(name, []).append((needs.split("#")[0].strip(), recipe.strip()))
                if not name.startswith(".") and name not in order:
                    order.append(name)
        elif line.strip() and not line.lstrip().startswith("#"):
            present = []
    return rules, settings, order
