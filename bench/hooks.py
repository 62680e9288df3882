"""What a hook of the plugin costs: CPU from its start to its answer, as a multiple of a bare Python."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median

from tests.plan_documents import story_json, tasks_json

from bench.child import cost_of, interleaved
from bench.project import new_project
from bench.row import Bar, Row, as_ratio
from ralph.interfaces.hooks.build import TARGET

ROUNDS = 15
FEW_STORIES = 10
MANY_STORIES = 1_000
LINE = json.dumps({"type": "user", "message": {"content": "x" * 5_000}}) + "\n"
ANSWER = (
    json.dumps(
        {
            "type": "assistant",
            "message": {
                "model": "claude-opus-5-5",
                "usage": {"input_tokens": 600_000, "output_tokens": 1},
            },
        }
    )
    + "\n"
)
LONG_TRANSCRIPT = 50_000_000


def measure(folder: Path) -> list[Row]:
    with new_project(folder, "hooks") as project:
        root = project.root
        transcript = folder / "hooks.jsonl"
        with transcript.open("w") as file:
            for _ in range(LONG_TRANSCRIPT // len(LINE)):
                file.write(LINE)
            file.write(ANSWER + LINE)
        event = folder / "hooks.event"
        fields = {"tool_name": "Bash", "tool_input": {"command": "git status && ls -la"}, "prompt": "go on"}
        event.write_text(
            json.dumps(
                {"session_id": "bench", "cwd": str(root), "transcript_path": str(transcript), **fields}
            )
        )
        environment = {
            **project.environment(),
            "CLAUDE_HOOKS_PYTHON": sys.executable,
            "CLAUDE_PROJECT_DIR": str(root),
            "TMPDIR": str(folder),
        }

        def hook(name: str) -> Callable[[], float]:
            argv = ["sh", str(TARGET.with_name("hook.sh")), name]
            return lambda: cost_of(argv, cwd=root, environment=environment, stdin=event).cpu

        measures = {
            "python": lambda: project.python("pass").cpu,
            **{name: hook(name) for name in ("context", "guard", "stop", "prompt")},
        }
        hook("guard")()  # compiles the file, as the very first hook does
        found = _medians(measures)
        for name, stories in (("plan", FEW_STORIES), ("large plan", MANY_STORIES)):
            _plan(root, stories)
            found |= _medians({name: hook("stop")})
    python = found["python"]
    return [
        as_ratio("after a tool call, transcript of 50 MB", found["context"], "ms", python, Bar(4)),
        as_ratio("before a shell command", found["guard"], "ms", python, Bar(4)),
        as_ratio("before a stop", found["stop"], "ms", python, Bar(4)),
        as_ratio("with a prompt", found["prompt"], "ms", python, Bar(4)),
        as_ratio(f"before a stop in a plan of {FEW_STORIES} stories", found["plan"], "ms", python, Bar(4)),
        as_ratio(f"before a stop in a plan of {MANY_STORIES:,} stories", found["large plan"], "ms", python),
    ]


def _medians(measures: dict[str, Callable[[], float]]) -> dict[str, float]:
    return {name: 1000 * median(costs) for name, costs in interleaved(measures, rounds=ROUNDS).items()}


def _plan(root: Path, stories: int) -> None:
    """A plan in which a session has done what it may."""
    names = [f"US-{number:04}" for number in range(stories)]
    snapshot = {name: {"passes": False, "reviewStatus": None, "reviewCount": 0} for name in names}
    marker = {"pid": os.getpid(), "iterationMode": "implement", "preIterationSnapshot": snapshot}
    (root / ".ralph-active").write_text(json.dumps(marker))
    (root / "ralph").mkdir(exist_ok=True)
    document = tasks_json(story_json(names[0], reviewStatus="needs_review"), *map(story_json, names[1:]))
    (root / "ralph" / "tasks.json").write_text(json.dumps(document))
