"""``python -m bench.work_parts ROOT N``: what a worktree and a merge cost for each of N tasks, in seconds, as JSON.

The baseline is the least that git itself needs: `worktree add`, and a merge with its fast-forward.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from ralph.adapters.git import Git
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.workspace.fast_forward import FastForward
from ralph.adapters.workspace.integration import Integration
from ralph.adapters.workspace.worktrees import Worktrees
from ralph.domain.tasks.pipeline import Merged
from ralph.engine.tasks.ports import Worktree

FILES = 1_000


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)


def made(root: Path) -> None:
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.name", "bench")
    git(root, "config", "user.email", "bench@example.invalid")
    (root / ".gitignore").write_text(".ralph/\n")
    for number in range(FILES):
        file = root / "src" / str(number % 20) / f"{number}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"x = {number}\n" * 20)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "start")


def change(path: Path, name: str) -> None:
    (path / f"{name}.txt").write_text(name)
    git(path, "add", "-A")
    git(path, "commit", "-qm", name)


def bare(root: Path, number: int) -> dict[str, float]:
    """As a script would do it."""
    began = time.perf_counter()
    for index in range(number):
        git(root, "worktree", "add", "-q", "-b", f"bare/{index}", str(root / ".ralph" / f"bare-{index}"))
    opened = time.perf_counter() - began
    for index in range(number):
        change(root / ".ralph" / f"bare-{index}", f"bare-{index}")
    began = time.perf_counter()
    for index in range(number):
        git(root, "merge", "-q", "--no-ff", "-m", "merge", f"bare/{index}")
        git(root, "worktree", "remove", "--force", str(root / ".ralph" / f"bare-{index}"))
        git(root, "branch", "-D", f"bare/{index}")
    return {"bare_open": opened / number, "bare_merge": (time.perf_counter() - began) / number}


async def ours(root: Path, number: int) -> dict[str, float]:
    main = Git(root, PosixProcessRunner(run_id="bench", base_environment=os.environ))
    state = root / ".ralph"
    trees = Worktrees(main, state, kept=state / "kept")
    integration = Integration(main, trees, FastForward(main, state), target="main", run_folder=state)

    async def holds(path: Path) -> str:
        return ""

    began = time.perf_counter()
    opened: list[Worktree] = [await trees.open(f"T-{index}", start="main") for index in range(number)]
    took = time.perf_counter() - began
    for tree in opened:
        change(tree.path, tree.path.name)
    began = time.perf_counter()
    for tree in opened:
        tip = await main.at(tree.path).commit_of("HEAD")
        assert isinstance(await integration.merge(tree, tip, message="merge", verify=holds), Merged)
        assert (await trees.close(tree, merged_into="main")).is_removed
    return {"open": took / number, "merge": (time.perf_counter() - began) / number}


def main() -> None:
    root, number = Path(sys.argv[1]), int(sys.argv[2])
    made(root)
    print(json.dumps({**bare(root, number), **asyncio.run(ours(root, number))}))


if __name__ == "__main__":
    main()
