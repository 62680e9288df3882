"""The guard becomes part of a single-file hook: its modules must go into one file."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import ralph.guard

FOLDER = Path(ralph.guard.__file__).parent
MODULES = sorted(path for path in FOLDER.rglob("*.py") if path.name != "__init__.py")


def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: only absolute imports"
            found.add(node.module or "")
    return found


def test_only_the_standard_library_and_the_guard_itself_are_imported() -> None:
    for path in MODULES:
        for name in imports_of(path):
            top = name.partition(".")[0]
            assert name.startswith("ralph.guard.") or top in sys.stdlib_module_names, f"{path.name}: {name}"
            assert top not in {"os", "subprocess", "asyncio", "sqlite3", "time", "logging"}, (
                f"{path.name}: {name}"
            )


def test_no_module_needs_itself() -> None:
    """Sorted by need, every module comes behind those that it imports."""
    needs = {
        ".".join(("ralph.guard", *path.relative_to(FOLDER).with_suffix("").parts)): {
            name for name in imports_of(path) if name.startswith("ralph.")
        }
        for path in MODULES
    }
    placed: set[str] = set()
    while len(placed) < len(needs):
        ready = {name for name, needed in needs.items() if name not in placed and needed <= placed}
        assert ready, f"a circle among {sorted(needs.keys() - placed)}"
        placed |= ready


def test_no_name_is_used_by_two_modules() -> None:
    """In one file the second would take the place of the first."""
    owners: dict[str, str] = {}
    for path in MODULES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            targets = node.targets if isinstance(node, ast.Assign) else [node]
            for target in targets:
                inner = target.target if isinstance(target, ast.AnnAssign) else target
                name = getattr(inner, "name", None) or getattr(inner, "id", None)
                if name is not None:
                    assert owners.setdefault(name, path.name) == path.name, (
                        f"{name}: {owners[name]}, {path.name}"
                    )


def test_it_works_without_any_installed_package() -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from ralph.guard.guard import judge\n"
        "print(judge('rm -rf /').decision, judge('ls').decision)"
    )
    source = FOLDER.parents[1]

    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, str(source)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert ran.stdout == "block allow\n"
