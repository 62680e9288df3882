"""The parts of a Makefile that decide what its targets do; whatever belongs to other targets is free to change."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ralph.patterns import pattern
from ralph.values import dataclass, field

_CALL = pattern(r"(?:^|[;&|({\n]|\b(?:exec|time|env|then|do)\b)\s*(?:\w+=\S*\s+)*g?make\b([^;&|\n)]*)")
_RULE = pattern(r"^([^\s#:=][^:=#]*?)\s*::?(?!=)\s*(.*)$")
_SETTING = pattern(r"^ *([\w.-]+)\s*(?:[:?+!]|::)?=\s*(.*)$")
_VALUE = pattern(r"^[^#;]*?(?:[:?+!]|::)?=")
_USE = pattern(r"\$[({]([\w.-]+)[)}]|\$(\w)")
# Make reads these itself, or hands them to every recipe.
_READ_BY_ALL = pattern(
    r"\.\w+|SHELL|MAKE\w*|GNUMAKEFLAGS|VPATH|PATH|HOME|PYTHON\w*|NODE\w*|npm_\w+|LD_\w+|GIT_\w+|RUST\w*|CARGO\w*|GO\w*|JAVA\w*"
)
# Lines among the others by which a file may have more targets than its rules.
_MAY_BRING = pattern(
    r"^(?:[-s]?include|load|define)\b|\$[({](?:eval|call|foreach)\b|^(?!\.(?!DEFAULT\b)[A-Z_]+\s*:)[^=#]*:(?!=)"
)
_ACTS = pattern(r"\$[({](?:eval|call|file|guile|load)\b")
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


def lacks(text: str, target: str) -> bool:
    """Whether there is no rule for a target, and nothing that may bring one."""
    found = _read(text)
    if any(map(_MAY_BRING.search, found.others)):
        return False
    return target not in found.rules if target else not found.order


def rules_of(text: str, targets: Iterable[str]) -> dict[str, object]:
    """Recipes of the targets and of what they need, the variables these use, and whatever is not plainly about others."""
    found = _read(text)
    kept: dict[str, object] = {}
    wanted = [target or (found.order[0] if found.order else "") for target in targets]
    used: list[str] = []
    needed: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name in needed or name not in found.rules:
            continue
        needed.add(name)
        kept[f"rule {name}"] = found.rules[name]
        for needs, recipe in found.rules[name]:
            # A file that is built belongs to the work; what only has a recipe decides what is run.
            wanted += [one for one in needs.split() if "." not in one and "/" not in one]
            used += [needs, recipe]
    names: set[str] = set()
    used += found.others
    for text_ in used:
        for long, short in _USE.findall(text_):
            if (name := long or short) in found.settings and name not in names:
                names.add(name)
                used += found.settings[name]
    for name, values in found.settings.items():
        if name in names or _READ_BY_ALL.fullmatch(name) or any(map(_ACTS.search, values)):
            kept[f"variable {name}"] = values
    kept["what holds for every target"] = found.others
    kept["phony targets"] = sorted(needed & found.phony)
    return kept


def recipes_of(text: str, targets: Iterable[str]) -> Iterator[str]:
    """What the targets run, line by line, with the file's own variables filled in."""
    found = _read(text)
    values = {name: given[-1] for name, given in found.settings.items()}
    for name, rule in rules_of(text, targets).items():
        if name.startswith("rule ") and isinstance(rule, list):
            for _, recipe in rule:
                for line in recipe.splitlines():
                    yield _USE.sub(lambda use: values.get(use[1] or use[2], ""), line.strip().lstrip("@-+"))


def needs_in(text: str) -> dict[str, frozenset[str]]:
    """Its targets, and what each of them makes first."""
    rules = _read(text).rules.items()
    return {name: frozenset(need for needs, _ in rule for need in needs.split()) for name, rule in rules}


def included(text: str) -> Iterator[str]:
    """The files that it includes by name."""
    for names in re.findall(r"^ *[-s]?include\s+(.*)$", text, re.MULTILINE):
        yield from names.split()


@dataclass(slots=True)
class _Makefile:
    """``others``: lines that are neither a plain rule nor a plain variable, in their order."""

    rules: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    settings: dict[str, list[str]] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    phony: set[str] = field(default_factory=set)


def _read(text: str) -> _Makefile:
    found = _Makefile()
    current: list[str] | None = []  # the rule that recipe lines belong to; None: it is among the others
    depth = 0  # within conditions and definitions
    for line in text.replace("\\\n", " ").splitlines():
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        depth -= bare.startswith(("endif", "endef"))
        if line.startswith("\t") and current:
            for name in current:
                needs, recipe = found.rules[name][-1]
                found.rules[name][-1] = (needs, f"{recipe}\n{bare}")
        elif line.startswith("\t") and current is None:
            found.others.append(bare)
        elif not depth and (setting := _SETTING.match(line)):
            found.settings.setdefault(setting[1], []).append(setting[2].strip())
        elif not depth and (rule := _RULE.match(line)):
            current = _rule(found, rule[1], rule[2], bare)
        elif not line.startswith("\t"):
            current = [] if bare.startswith(("if", "else", "endif")) else None
            found.others.append(bare)
        depth += bare.startswith(("if", "define "))
    return found


def _rule(found: _Makefile, names: str, rest: str, line: str) -> list[str] | None:
    needs, _, recipe = rest.partition(";")
    targets = names.split()
    if targets == [".PHONY"]:
        found.phony.update(needs.split("#")[0].split())
        return []
    if _VALUE.match(needs) or any(map(_is_for_many, targets)):
        found.others.append(line)
        return None
    for name in targets:
        found.rules.setdefault(name, []).append((needs.split("#")[0].strip(), recipe.strip()))
        if not name.startswith(".") and name not in found.order:
            found.order.append(name)
    return targets


def _is_for_many(target: str) -> bool:
    """It may stand for a target that has no file: ``%``, ``$(NAME)``, ``.IGNORE``; but not ``%.o``."""
    if "$" in target or re.fullmatch(r"\.[A-Z_]+", target):
        return True
    return "%" in target and "." not in target and "/" not in target
