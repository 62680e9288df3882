"""What the guard costs: a decision, and the start of a process that makes one."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from bench.child import interleaved
from bench.project import new_project
from bench.row import Bar, Row, as_difference, as_ratio
from ralph.guard.guard import judge

ROUNDS = 9
REPEATS = 40

EVERYDAY = (
    "git status && git diff --stat",
    "cd src && rm -rf build dist && npm ci && npm test -- --watch=false 2>&1 | tail -n 40",
    'for f in *.txt; do mv "$f" "${f%.txt}.md"; done',
    "python3 - <<'EOF'\nimport json\nprint(json.load(open('x.json'))['a'])\nEOF",
    "find . -name '*.py' -print0 | xargs -0 grep -n 'TODO' | sort | uniq -c | sort -rn | head",
    "bash -lc 'source .venv/bin/activate && pytest -q tests/unit -k \"not slow\"'",
    "git commit -m \"$(cat <<'EOF'\nFix: do not run rm -rf\nEOF\n)\"",
    "sudo env X=1 git push --force origin main",
)
LONG = "cat > notes.md <<'EOF'\n" + "A line of text with `code` and $variables in it.\n" * 1_000 + "EOF"
HOSTILE = "python3 -c '" + 'open("a" ' * 3_000 + "'"
IMPORTS = "import ralph.guard.guard"
FIRST = (
    "import sys, time; from ralph.guard.guard import judge; began = time.process_time(); judge(sys.argv[1]);"
    " print(1000 * (time.process_time() - began))"
)


def measure(folder: Path) -> list[Row]:
    with new_project(folder, "guard") as project:
        project.settings()
        starts: dict[str, Callable[[], float]] = {
            "python": lambda: project.python("pass").cpu,
            "imported": lambda: project.python(IMPORTS).cpu,
            "command": lambda: project.ralph("guard", "ls").cpu,
        }
        found = {name: 1000 * median(costs) for name, costs in interleaved(starts, rounds=ROUNDS).items()}
    python = found["python"]
    return [
        as_difference("a decision, everyday commands", _milliseconds(EVERYDAY), "ms", 0.0, Bar(1)),
        as_difference("the first decision of a process", _first_milliseconds(), "ms", 0.0, Bar(3)),
        as_difference(
            "a decision, a file of 50 KB in the command", _milliseconds((LONG,)), "ms", 0.0, Bar(50)
        ),
        as_difference("a decision, the worst case that we know", _milliseconds((HOSTILE,), 3), "ms", 0.0),
        as_difference("importing the guard", found["imported"], "ms", python, Bar(40)),
        as_ratio("ralph guard 'ls'", found["command"], "ms", python),
    ]


def _first_milliseconds() -> float:
    """CPU of a decision for which nothing is compiled yet, as in a hook; the process's start is not counted."""
    return median(
        float(
            subprocess.run(
                [sys.executable, "-c", FIRST, command], capture_output=True, check=True, timeout=60
            ).stdout
        )
        for command in EVERYDAY
    )


def _milliseconds(commands: tuple[str, ...], repeats: int = REPEATS) -> float:
    """CPU of one decision."""
    began = time.process_time()
    for _ in range(repeats):
        for command in commands:
            judge(command)
    return 1000 * (time.process_time() - began) / (repeats * len(commands))
