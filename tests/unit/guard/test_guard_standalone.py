"""The guard becomes part of a single-file hook: it needs nothing but itself and the standard library."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import ralph.guard

FOLDER = Path(ralph.guard.__file__).parent
GROUND = {"ralph.values", "ralph.patterns"}
"""What the guard stands on; it goes into the file of the hooks as well."""
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
            is_ours = name.startswith("ralph.guard.") or name in GROUND
            assert is_ours or top in sys.stdlib_module_names, f"{path.name}: {name}"
            assert top not in {"os", "subprocess", "asyncio", "sqlite3", "time", "logging"}, (
                f"{path.name}: {name}"
            )


def test_no_module_needs_itself() -> None:
    """In the built file a module is a function that runs when it is first needed: a circle would never end."""
    needs = {
        ".".join(("ralph.guard", *path.relative_to(FOLDER).with_suffix("").parts)): {
            name for name in imports_of(path) if name.startswith("ralph.guard.")
        }
        for path in MODULES
    }
    placed: set[str] = set()
    while len(placed) < len(needs):
        ready = {name for name, needed in needs.items() if name not in placed and needed <= placed}
        assert ready, f"a circle among {sorted(needs.keys() - placed)}"
        placed |= ready


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
