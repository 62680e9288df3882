"""The sections of build files that decide what a verification runs; the rest, dependencies above all, is free to change."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ralph.domain.proof.makefiles import is_makefile, lacks, rules_of
from ralph.patterns import pattern
from ralph.values import dataclass, replace

READ_BY_ALL = frozenset(("pytest", "coverage"))
TOOLS = frozenset(
    (
        "tox", "nox", "hatch", "poe", "taskipy", "pdm", "pre-commit", "ruff", "mypy", "pyright", "pylint", "flake8", "pycodestyle",
        "eslint", "stylelint", "black",
    )
)  # fmt: skip
"""Programs whose settings decide something only where a command runs them."""
_PACKAGE_KEYS = ("jest", "vitest", "mocha", "ava", "nyc", "c8", "tap", "babel")
_SETTINGS = (
    "guardrails", "proof", "tests", "profiles", "guard", "scm", "guardrailTimeout", "guardrailIdleTimeout", "sandboxChecks",
    "workspace",
)  # fmt: skip
_POM_FREE = frozenset(
    (
        "dependencies", "dependencyManagement", "version", "name", "description", "url", "licenses", "developers", "scm",
        "organization", "issueManagement", "distributionManagement", "inceptionYear", "contributors", "reporting",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scope:
    """What the commands make, run and name; None: nobody knows, so that everything counts."""

    targets: frozenset[str] = frozenset()
    package_scripts: frozenset[str] | None = None
    tools: frozenset[str] | None = None

    def counts(self, tool: str) -> bool:
        """Whether the settings of a tool decide anything."""
        return tool not in TOOLS or self.tools is None or tool in self.tools


EVERYTHING = Scope()


def changed_sections(path: str, before: str, after: str | None, scope: Scope = EVERYTHING) -> list[str]:
    """The deciding sections that have changed, by name; ``after`` is None if the file was removed."""
    if is_makefile(path):  # whoever adds a target that was asked for changes none that was there
        scope = replace(scope, targets=frozenset(one for one in scope.targets if not lacks(before, one)))
    try:
        old = _deciding(path, before, scope)
    except (ValueError, RecursionError):  # nested without end
        return [] if before == after else ["all of it (it could not be read)"]
    if after is None:
        return [name for name in old if not name.startswith("require ")]
    try:
        new = _deciding(path, after, scope)
    except (ValueError, RecursionError):
        return ["it can no longer be read"]
    changed = [
        name for name, value in old.items() if new.get(name) != value and not name.startswith("require ")
    ]
    return changed + [name for name in new if name not in old and _counts_when_new(name, old)]


def _counts_when_new(name: str, old: Mapping[str, object]) -> bool:
    """A new script does no harm, unless npm runs it around one that was there. Neither does a new feature, nor a place
    for a module that was not required before."""
    kind, _, rest = name.partition(" ")
    if kind in ("features.default", "replace"):
        return kind == "replace" and f"require {rest}" in old
    if kind == "require":
        return False
    around = re.match("pre|post", rest)
    return kind != "scripts" or (around is not None and f"scripts {rest[around.end() :]}" in old)


def _deciding(path: str, text: str, scope: Scope) -> dict[str, object]:
    if not text.strip():
        return {}
    name = path.rsplit("/", 1)[-1]
    if is_makefile(path):
        return rules_of(text, scope.targets)
    if name == "package.json":
        return _package(json.loads(text), scope)
    if name.startswith("settings") and name.endswith(".json"):
        return _those(_SETTINGS, json.loads(text))
    if name in ("setup.cfg", "tox.ini"):
        return _cfg(text, scope, whole=name == "tox.ini" and scope.counts("tox"))
    if name == "pom.xml":
        return _pom(text)
    if name == "go.mod":
        return _go(text)
    if name.startswith("build.gradle"):
        return _gradle(text)
    import tomllib

    table = tomllib.loads(text)
    return _cargo(table) if name == "Cargo.toml" else _pyproject(table, scope)


def _pyproject(table: Mapping[str, Any], scope: Scope) -> dict[str, object]:
    tools = [name for name in sorted(READ_BY_ALL | TOOLS) if scope.counts(name)]
    points = _table(_table(table.get("project")).get("entry-points"))
    return {**_those(tools, table.get("tool"), "tool."), **_those(("pytest11",), points, "entry-points.")}


def _cargo(table: Mapping[str, Any]) -> dict[str, object]:
    default = _table(table.get("features")).get("default", ())
    return {
        **_those(("lib", "test", "profile", "patch", "replace"), table),
        **{f"features.default {name}": True for name in default},
        **_those(("autotests",), table.get("package"), "package."),
        **_those(("exclude",), table.get("workspace"), "workspace."),
    }


_GO_LINE = pattern(
    r"^[ \t]*(?:replace[ \t]+)?(\S+)(?:[ \t]+v\S+)?[ \t]*=>[ \t]*(\.\S*)|^[ \t]*(?:require[ \t]+)?(\S+)[ \t]+v\S+",
    re.MULTILINE,
)


def _go(text: str) -> dict[str, object]:
    """Modules that a folder of the project takes the place of. What is required is free to change."""
    found: dict[str, object] = {}
    for replaced, place, required in _GO_LINE.findall(_COMMENTS.sub("", text)):
        found[f"replace {replaced}" if replaced else f"require {required}"] = place
    return found


def _package(table: object, scope: Scope) -> dict[str, object]:
    scripts = _table(_table(table).get("scripts"))
    names = [name for name in scripts if _is_run(name, scope)]
    keys = [*_PACKAGE_KEYS, *(f"{tool}Config" for tool in ("eslint",) if scope.counts(tool))]
    return {**_those(names, scripts, "scripts "), **_those(keys, table)}


def _is_run(script: str, scope: Scope) -> bool:
    return scope.package_scripts is None or re.sub("^(?:pre|post)", "", script) in scope.package_scripts


def _those(names: Iterable[str], table: object, prefix: str = "") -> dict[str, object]:
    found = _table(table)
    return {f"{prefix}{name}": found[name] for name in names if name in found}


def _cfg(text: str, scope: Scope, *, whole: bool) -> dict[str, object]:
    import configparser

    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise ValueError(str(error)) from error
    return {
        name: dict(parser[name])
        for name in parser.sections()
        if whole
        or name.startswith(("tool:", "aliases", "coverage", "pytest"))
        or any(name.startswith(tool) for tool in TOOLS if scope.counts(tool))
    }


def _pom(text: str) -> dict[str, object]:
    """Everything but what the project is called and depends on, and properties that only name versions."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        return {"all of it": text}
    from xml.etree import ElementTree

    try:
        root = ElementTree.fromstring(text)  # noqa: S314 - it has no entities: see above
    except ElementTree.ParseError as error:
        raise ValueError(str(error)) from error
    found: dict[str, object] = {}
    for child in root:
        name = child.tag.rpartition("}")[2]
        if name == "properties":
            for one in child:
                key = one.tag.rpartition("}")[2]
                if not key.endswith((".version", "Version", "-version")):
                    found[f"properties {key}"] = (one.text or "").strip()
        elif name not in _POM_FREE:
            found[name] = ElementTree.canonicalize(ElementTree.tostring(child), strip_text=True)
    return found


_COMMENTS = pattern(r"//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)")


def _gradle(text: str) -> dict[str, object]:
    """Everything but its dependencies and its version."""
    code = _without_block(_COMMENTS.sub("", text), "dependencies")
    lines = (" ".join(line.split()) for line in code.splitlines())
    return {
        "its build": [
            line for line in lines if line and not re.match(r"(?:version|group|description)\b", line)
        ]
    }


def _without_block(code: str, name: str) -> str:
    kept, at = [], 0
    for start in re.finditer(rf"^\s*{name}\s*\{{", code, re.MULTILINE):
        if start.start() < at:
            continue
        kept.append(code[at : start.start()])
        depth, at = 1, start.end()
        while depth and at < len(code):
            depth += {"{": 1, "}": -1}.get(code[at], 0)
            at += 1
    return "".join((*kept, code[at:]))


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
