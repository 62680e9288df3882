"""Builds ``plugin/hooks/ralph_hooks.py`` from the hooks and all that they import: ``python -m ralph.interfaces.hooks.build``.

A plugin is copied to places without ralph, so the hooks are one file that needs the standard library only. Each module
becomes a function, called when it is first imported: a hook pays only for what it uses, and Python caches the compiled
file as it does for any module.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ENTRY = "ralph.interfaces.hooks.main"
PACKAGE = "ralph"
SOURCE = Path(__file__).parents[3]
TARGET = SOURCE.parent / "plugin" / "hooks" / "ralph_hooks.py"

HEAD = '''"""The hooks of the ralph plugin: read an event of Claude Code on stdin, answer on stdout. Standard library only.

Built by `python -m ralph.interfaces.hooks.build` from src/ralph: change it there. Each function below is one module.
"""
# ruff: noqa
# fmt: off

from __future__ import annotations

_loaded = {}


def _module(name):
    if name not in _loaded:
        _loaded[name] = _MODULES[name]()
    return _loaded[name]
'''
FOOT = """

def main(arguments):
    return _module("{entry}")["main"](arguments)
"""


def build() -> str:
    """The whole file."""
    sources = {name: _path(name).read_text(encoding="utf-8") for name in _needed()}
    functions = [_function(name, source) for name, source in sources.items()]
    table = "\n".join(f'    "{name}": {_identifier(name)},' for name in sources)
    return "\n\n".join([HEAD, *functions, f"_MODULES = {{\n{table}\n}}\n{FOOT.format(entry=ENTRY)}"])


def _needed() -> list[str]:
    """The entry and all of our modules that it imports, early or late."""
    found: set[str] = set()
    waiting = [ENTRY]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            tree = ast.parse(_path(name).read_text(encoding="utf-8"))
            used = set(_names(tree))
            waiting += [
                node.module
                for node in _statements(tree)
                if isinstance(node, ast.ImportFrom) and node.module and _is_ours(node) and _wanted(node, used)
            ]
    return sorted(found)


def _path(name: str) -> Path:
    return SOURCE.joinpath(*name.split(".")).with_suffix(".py")


def _identifier(name: str) -> str:
    return name.replace(".", "_")


def _is_ours(node: ast.ImportFrom) -> bool:
    return (node.module or "").split(".")[0] == PACKAGE


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """All of them, however deep, except inside ``if TYPE_CHECKING``."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        if not _is_for_types(child):
            yield from _statements(child)


def _wanted(node: ast.Import | ast.ImportFrom, used: set[str]) -> list[ast.alias]:
    """The imported names that are used at run time."""
    return [alias for alias in node.names if (alias.asname or alias.name.split(".")[0]) in used]


# --- one module → one function -----------------------------------------------------------------------------


def _function(name: str, source: str) -> str:
    tree = ast.parse(source)
    lines: list[str | None] = list(source.splitlines())
    used = set(_names(tree))
    for node in _statements(tree):
        new = _replacement(node, used)
        if new is not None and node.end_lineno is not None:
            lines[node.lineno - 1 : node.end_lineno] = [
                " " * node.col_offset + new if new else None,
                *[None] * (node.end_lineno - node.lineno),
            ]
    inside = _lines_in_strings(source)
    numbered = ((number, line) for number, line in enumerate(lines, 1) if line is not None)
    body = [line if number in inside or not line else f"    {line}" for number, line in numbered]
    return f"def {_identifier(name)}():\n" + _squeeze("\n".join(body)) + "\n    return locals()"


def _replacement(node: ast.stmt, used: set[str]) -> str | None:
    """Empty for what only a type checker needs; None if the statement stays as it is."""
    if _is_for_types(node):
        return ""
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return None
    if isinstance(node, ast.ImportFrom) and node.module == "__future__":
        return ""
    wanted = _wanted(node, used)
    if not wanted:
        return ""
    if isinstance(node, ast.ImportFrom) and _is_ours(node):
        taken = "; ".join(f'{alias.asname or alias.name} = _m["{alias.name}"]' for alias in wanted)
        return f'_m = _module("{node.module}"); {taken}'
    if len(wanted) == len(node.names):
        return None
    node.names = wanted
    return ast.unparse(node)


def _names(node: ast.AST) -> Iterator[str]:
    """Every name that is used at run time or exported; annotations are never evaluated."""
    if isinstance(node, ast.Name):
        yield node.id
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
        yield from ast.literal_eval(node.value)
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _names(child)


def _lines_in_strings(source: str) -> set[int]:
    """Lines that begin within a string, which must not be indented."""
    found: set[int] = set()
    kinds = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in kinds:
            found.update(range(token.start[0] + 1, token.end[0] + 1))
    return found


def _squeeze(text: str) -> str:
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return text.rstrip()


def main() -> None:
    TARGET.write_text(build(), encoding="utf-8")
    sys.stdout.write(f"{TARGET} written\n")


if __name__ == "__main__":
    main()
