"""Whether a test file was only extended: it must still test what it tested before, in the same way."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from ralph.patterns import pattern

_C_LIKE = pattern(r"\.(?:[cm]?[jt]sx?|go|rs|java|kt|cs|php|swift|scala|dart|c|h|cc|cpp|hpp)$")
_SKIPS = pattern(
    r"\b(?:it|test|describe|context|suite|bench|specify)\.(?:skip|only|todo|fails|failing|skipIf|runIf)\b"
    r"|\b[xf](?:it|test|describe|context|specify)\b|\b(?:t|b|f|tb)\.Skip(?:Now|f)?\b|#\[ignore|#\[cfg\(any\(\)\)\]"
    r"|@(?:Ignore|Disabled)\b|\[(?:Ignore|Explicit)\b|\bskip\s*[:=]\s*(?:true|['\"])|\bpending\s*\("
    r"|^\s*(?:if|while)\s*\(?\s*(?:false|0|!1)\b|^#\s*if\s+0\b|^\s*return\s*;?\s*$"
    r"|\b(?:process\.exit|os\.Exit|std::process::exit|System\.exit)\b|//go:build|\bmarkTestSkipped\b"
    r"|\bpytest\.(?:mark\.)?(?:skip|xfail)|\bunittest\.skip|\bSkipTest\b",
    re.MULTILINE,
)
# A quote that does not end on its line is an apostrophe or a lifetime, and so does not match. Looking for its end again
# and again must not take long, so quotes have an end anyway.
_COMMENT_OR_QUOTE = pattern(
    r"""(?s)//[^\n]*|/\*.*?(?:\*/|\Z)|("(?:\\.|[^"\\\n]){0,1000}"|'(?:\\.|[^'\\\n]){0,1000}'|`(?:\\.|[^`\\]){0,9999}`)"""
)
_IMPORT = pattern(r"^\s*(?:import|from|use|using|const\s*\{[^}]*\}\s*=\s*require)\b")
SHOWN = 3


def weaknesses(path: str, before: str, after: str) -> list[str]:
    """What it no longer does as before; empty if it was only extended."""
    if path.endswith(".py"):
        found = python_weaknesses(before, after)
        if found is not None:
            return found[:SHOWN]
    return _line_weaknesses(path, before, after)[:SHOWN]


def _line_weaknesses(path: str, before: str, after: str) -> list[str]:
    old, new = _code_lines(path, before), _code_lines(path, after)
    place = 0
    found: list[str] = []
    for line in old:
        ahead = next((at for at in range(place, len(new)) if _is_kept(line, new[at])), None)
        if ahead is None:
            found.append(f"a line was changed, moved or removed: {line.strip()[:100]}")
            if len(found) == SHOWN:  # more would take minutes in a large file
                return found
        else:
            place = ahead + 1
    skips = len(_SKIPS.findall("\n".join(new))) - len(_SKIPS.findall("\n".join(old)))
    if skips > 0 and before.strip():
        found.append("something was added that skips or ends tests")
    return found


def _is_kept(old: str, new: str) -> bool:
    """The same line, or an import that brings in more than before."""
    if old == new:
        return True
    if not (_IMPORT.match(old) and _IMPORT.match(new)):
        return False
    had, has = re.findall(r"[\w./@-]+", old), re.findall(r"[\w./@-]+", new)
    words = iter(has)
    return all(word in words for word in had) and has.count("as") == had.count("as")


def _code_lines(path: str, text: str) -> list[str]:
    code = without_comments(text) if _C_LIKE.search(path) else text
    return [line.rstrip() for line in code.splitlines() if line.strip()]


def without_comments(text: str) -> str:
    """C-like source without its comments: what was commented out no longer counts."""
    return _COMMENT_OR_QUOTE.sub(lambda found: found[1] or "", text)


# --- Python, by its syntax ---

_HOOKS = frozenset(
    (
        "setup_module", "teardown_module", "setup_function", "teardown_function", "setup_class", "teardown_class",
        "setup_method", "teardown_method", "setUp", "tearDown", "setUpClass", "tearDownClass", "setUpModule",
        "tearDownModule", "asyncSetUp", "load_tests", "run", "__getattr__", "__getattribute__", "__new__", "__init__",
        "__init_subclass__", "setup", "teardown",
    )
)  # fmt: skip
_SPECIAL = frozenset(
    ("pytestmark", "__test__", "collect_ignore", "collect_ignore_glob", "pytest_plugins", "__name__")
)
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def python_weaknesses(before: str, after: str) -> list[str] | None:
    """What it no longer does as before; None if one of the two cannot be read as Python."""
    try:
        old, new = ast.parse(before), ast.parse(after)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return list(_changes(old.body, new.body, ""))


def _changes(old: Sequence[ast.stmt], new: Sequence[ast.stmt], where: str) -> Iterator[str]:
    before = {node.name: node for node in old if isinstance(node, _DEFINITIONS)}
    now = {node.name: node for node in new if isinstance(node, _DEFINITIONS)}
    for name, node in before.items():
        if name not in now:
            yield f"{where}{name} was removed"
        else:
            yield from _changed(node, now[name], where)
    yield from _statements(old, new, where)
    for name, node in now.items():
        if name in before:
            continue
        if name in _HOOKS or name.startswith("pytest_"):
            yield f"{where}{name} would run around the tests that are there"
        elif any("autouse" in ast.dump(decorator) for decorator in node.decorator_list):
            yield f"{where}{name} is a fixture that every test would use"


def _changed(old: _Definition, new: _Definition, where: str) -> Iterator[str]:
    name = f"{where}{old.name}"
    if isinstance(old, ast.ClassDef) and isinstance(new, ast.ClassDef):
        if _head(old) != _head(new):
            yield f"the head of class {name} was changed"
        yield from _changes(old.body, new.body, f"{name}.")
    elif ast.dump(old) != ast.dump(new):
        yield f"{name} was changed"


def _head(node: ast.ClassDef) -> str:
    return ast.dump(ast.ClassDef(node.name, node.bases, node.keywords, [], node.decorator_list))


def _statements(old: Sequence[ast.stmt], new: Sequence[ast.stmt], where: str) -> Iterator[str]:
    """Whatever is neither a definition nor a docstring: it stays as it is, in its order; imports may be anywhere."""
    had, has = set(_imports(old)), set(_imports(new))
    for module, name, _ in sorted(had - has, key=str):
        yield f"{where}the import of {name or module} was removed or changed"
    defined = {node.name for node in old if isinstance(node, _DEFINITIONS)} | {bound for *_, bound in had}
    for module, name, bound in sorted(has - had, key=str):
        if bound in defined or bound == "*":
            yield f"{where}{bound} would come from {module or name} instead"
    left = [ast.dump(node) for node in old if _stays(node)]
    known = {bound for node in old if _stays(node) for bound in _bound(node)} | defined
    for node in (one for one in new if _stays(one)):
        text = ast.dump(node)
        if left and left[0] == text:
            left.pop(0)
        elif not _is_harmless(node, known):
            yield f"{where}line {node.lineno} would run when the tests are loaded, or replaces what was there"
    for _ in left[:1]:
        yield f"{where}a statement outside of the tests was changed or removed"


def _imports(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str, str]]:
    """(module, name, the name that it gets here)"""
    for node in body:
        if isinstance(node, ast.Import):
            for one in node.names:
                yield one.name, "", one.asname or one.name
        elif isinstance(node, ast.ImportFrom):
            for one in node.names:
                yield f"{'.' * node.level}{node.module or ''}", one.name, one.asname or one.name


def _stays(node: ast.stmt) -> bool:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return not is_text and not isinstance(node, (*_DEFINITIONS, ast.Import, ast.ImportFrom, ast.Pass))


def _is_harmless(node: ast.stmt, known: set[str]) -> bool:
    """A new name gets a value, or code that is never run by a test runner."""
    if isinstance(node, ast.If):
        return ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING", "__name__ == '__main__'")
    if not isinstance(node, ast.Assign | ast.AnnAssign):
        return False
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return all(
        isinstance(target, ast.Name) and target.id not in known and target.id not in _SPECIAL
        for target in targets
    )


def _bound(node: ast.stmt) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            yield inner.id
