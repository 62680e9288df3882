"""Whatever an agent may have put a link in the way of is read, written and removed through ``adapters/beneath.py`` and
``adapters/trees.py``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import ralph

SOURCES = Path(ralph.__file__).parent
ROOMS = ("actions", "bus", "checks", "control", "documents", "notify", "signals", "storage", "workspace")
METHODS = {
    *(
        "read_text",
        "read_bytes",
        "write_text",
        "write_bytes",
        "open",
        "unlink",
        "rmdir",
        "rename",
        "touch",
        "chmod",
    ),
    *("iterdir", "glob", "rglob", "symlink_to", "hardlink_to", "mkdir"),
}
"""Of paths."""
FUNCTIONS = {
    *(
        "walk",
        "scandir",
        "listdir",
        "open",
        "unlink",
        "remove",
        "rmdir",
        "rename",
        "replace",
        "makedirs",
        "mkdir",
    ),
    *("symlink", "link", "chmod", "rmtree", "move", "copy", "copy2", "copyfile", "copytree"),
}
"""Of ``os`` and ``shutil``."""
CAREFUL = ("beneath", "trees", "files", "self", "store", "hub", "seat")
OWN = "what is ralph's own: it came with the package"
MINE = "in the run's folder, which no sandboxed agent can write, made by ralph just before"
NAMED = "what the user named on the command line"

ALLOWED = {
    "adapters/bus/outbox.py": "works in a folder that it opened without a link; its own task folder, from inside",
    "adapters/bus/message_bus.py": "opens in a folder that it opened without a link",
    "adapters/documents/plan_start.py": OWN,
    "adapters/documents/task_file.py": NAMED,
    "adapters/workspace/left_checkouts.py": "a folder of a random name in the temporary folder, which must not be there",
    "adapters/storage/child_runs.py": "works in a folder that it opened without a link",
    "adapters/storage/database.py": f"{OWN}; and the database, which SQLite opens by its name",
    "adapters/storage/streams.py": "works in a folder that it opened without a link",
    "adapters/workspace/ignored_files.py": "lists what git lists; what it finds is opened below the top",
    "adapters/workspace/proof_store.py": MINE,
    "operations/agent_examination.py": "the user's own settings of the agent, in the home folder",
    "operations/agent_probe.py": "a folder that it makes, for an agent that does what a script says",
    "operations/demo.py": "a folder that it makes",
    "operations/output_file.py": NAMED,
    "operations/plugin.py": OWN,
    "operations/settings_file.py": "the user's settings, which may be a link to where the user keeps them",
    "operations/runs/portable.py": NAMED,
    "operations/runs/detach.py": "a log that it made itself",
    "wiring/pipelines.py": OWN,
    "wiring/profiles.py": OWN,
}
"""Modules that do it by themselves, and why."""


def modules() -> Iterator[Path]:
    for room in (*(f"adapters/{name}" for name in ROOMS), "operations", "wiring", "engine"):
        yield from (SOURCES / room).rglob("*.py")


def direct(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        whose, what = node.func.value, node.func.attr
        name = whose.id if isinstance(whose, ast.Name) else ""
        is_direct = what in (FUNCTIONS if name in ("os", "shutil") else METHODS) and name not in CAREFUL
        # A stream, a sandbox or a store is opened by a method of its own.
        if is_direct and not (what == "open" and _is_part(whose)):
            yield f"{node.lineno}: {ast.unparse(node)[:80]}"
        if any(word.arg == "follow" for word in node.keywords):
            yield f"{node.lineno}: {ast.unparse(node)[:80]}"


def _is_part(whose: ast.expr) -> bool:
    return isinstance(whose, ast.Attribute) and not whose.attr.lstrip("_").endswith(("path", "file", "log"))


def name_of(file: Path) -> str:
    return file.relative_to(SOURCES).as_posix()


def test_nobody_else_touches_files_that_may_lie_behind_a_link() -> None:
    found = {
        f"{name_of(file)}:{line}"
        for file in modules()
        if name_of(file) not in ALLOWED
        for line in direct(ast.parse(file.read_text(encoding="utf-8")))
    }
    assert found == set()


@pytest.mark.parametrize("name", sorted(ALLOWED))
def test_the_exceptions_are_needed(name: str) -> None:
    assert list(direct(ast.parse((SOURCES / name).read_text(encoding="utf-8"))))
