"""What a sandboxed agent finds of ``.ralph``: neither the database nor other runs nor the user's own settings."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from .conftest import Sandboxed, git

SECRET = "s3cret-value"
PRIVATE = [
    "forward/1.json",
    "plans/plan.json",
    "ralph.db",
    "ralph.db-journal",
    "ralph.db-shm",
    "ralph.db-wal",
    "ralph.db.bak",
    "runs/other/prompt_001.txt",
    "runs/other/request.json",
    "runs/own/request.json",
    "settings.local.json",
    "settings.local.json.bak",
    "settings.local.json~",
    "detached-1.log",
    "ui-1.log",
    "worktrees/other/.env",
]
SHOWN = [
    ".gitignore",
    "PROJECT-MESSAGE-BUS.md",
    "checks/lint.sh",
    "prompt.md",
    "runs/own/guardrail_001_make.log",
    "runs/own/prompt_001.txt",
    "settings.json",
    "state/ralph-loop.json",
    "tasks/t/TASK-MESSAGE-BUS.md",
]


@pytest.fixture
def recorded(sandboxed: Sandboxed) -> Sandboxed:
    fill(sandboxed.workspace / ".ralph")
    return sandboxed


def fill(state: Path) -> None:
    for names, text in ((PRIVATE, SECRET), (SHOWN, "shown\n")):
        for name in names:
            (state / name).parent.mkdir(parents=True, exist_ok=True)
            (state / name).write_text(text)


READ = 'cd "$1" && grep -rl s3cret-value . ; for name in $2; do cat "$name"; done'


def test_only_what_an_agent_needs_is_there(recorded: Sandboxed) -> None:
    site = replace(recorded.site(), run_id="own")
    state = str(recorded.workspace / ".ralph")
    assert recorded.shell(READ, state, " ".join(SHOWN), site=site) == "shown\n" * len(SHOWN)
    before = {path for path in Path(state).rglob("*") if path.is_file()}
    for attempt in (
        'for file; do echo x > "$file"; rm -f "$file"; done',
        'for file; do mkdir -p "$(dirname "$file")"; echo x >> "$file"; done',
        "mv .ralph r2; mkdir .ralph",
    ):
        names = (*PRIVATE, *SHOWN, "runs/own/new", "settings.toml")
        recorded.shell(attempt, *(f"{state}/{name}" for name in names), site=site)
    assert {path for path in Path(state).rglob("*") if path.is_file()} == before
    assert {(Path(state) / name).read_text() for name in SHOWN} == {"shown\n"}


def test_what_appears_there_during_a_session_does_not_appear_inside(recorded: Sandboxed) -> None:
    """The user may save their settings, which replaces the file, while a session is under way."""
    state = recorded.workspace / ".ralph"
    (state / "settings.local.json").unlink()

    def save() -> None:
        (recorded.workspace / "up").read_bytes()
        (state / "new").write_text(SECRET)
        (state / "new").rename(state / "settings.local.json")
        (recorded.workspace / "saved").touch()

    os.mkfifo(recorded.workspace / "up")
    saving = threading.Thread(target=save)
    saving.start()
    script = (
        "echo up > up; while ! [ -e saved ]; do sleep 0.02; done; cat .ralph/settings.local.json .ralph/new"
    )
    output = recorded.shell(script)
    saving.join()
    assert (state / "settings.local.json").exists()
    assert SECRET not in output


def test_from_a_worktree_the_main_checkouts_record_is_as_private(recorded: Sandboxed) -> None:
    main = recorded.workspace
    tree = main / ".ralph" / "worktrees" / "task"
    git(main, "worktree", "add", "-q", "-b", "one", str(tree))
    recorded.workspace = tree
    site = replace(recorded.site(), run_id="own", state_folder=main / ".ralph")
    output = recorded.shell(READ, str(main / ".ralph"), " ".join(SHOWN), site=site)
    assert output == "shown\n" * len(SHOWN)
    assert (
        recorded.shell("echo x > file; git add file; git commit -qm x; git status --short", site=site) == ""
    )


def test_links_there_lead_nowhere_that_is_hidden(recorded: Sandboxed, own_home: Path) -> None:
    state = recorded.workspace / ".ralph"
    (state / "prompt_001.txt").symlink_to("runs/own/prompt_001.txt")
    (state / "keys").symlink_to(own_home / ".ssh")
    (state / "tasks" / "keys").symlink_to(own_home / ".ssh")
    (state / "other").symlink_to("runs/other")
    (state / "runs" / "linked").symlink_to(own_home / ".ssh")
    script = "cat .ralph/prompt_001.txt; cat .ralph/keys/* .ralph/tasks/keys/* .ralph/other/* 2>/dev/null"
    output = recorded.shell(script, site=replace(recorded.site(), run_id="own"))
    assert output == "shown\n"
    output = recorded.shell("cat .ralph/runs/linked/*", site=replace(recorded.site(), run_id="linked"))
    assert SECRET not in output


def test_without_a_record_there_is_nothing_to_see(sandboxed: Sandboxed) -> None:
    for name in ("ralph.db", "settings.json", "settings.local.json"):
        (sandboxed.workspace / ".ralph" / name).unlink()
    (sandboxed.workspace / ".ralph").rmdir()
    assert sandboxed.shell("ls -A .ralph 2>/dev/null; echo x > file; cat file") == "x\n"
