"""A plan in a live project: the real Claude Code with our plugin works through it, and a scripted model says what it does."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ralph.interfaces.hooks.build import TARGET
from ralph.testing.model import Step
from tests.plan_documents import story_json, tasks_json

from .harness import LiveProject, ended

PLUGIN = TARGET.parents[1]

MARK = """import json, sys
path = "ralph/tasks.json"
document = json.load(open(path))
story = next(story for story in document["userStories"] if story["id"] == sys.argv[1])
story.update(json.loads(sys.argv[2]))
json.dump(document, open(path, "w"), indent=2)
open("ralph/progress.txt", "a").write(sys.argv[3] + "\\n")
"""


@dataclass(frozen=True, slots=True)
class LivePlan:
    """``ralph plan run`` in a project; the sessions have the hooks."""

    project: LiveProject

    def write(self, model_url: str, *stories: dict[str, Any], **environment: str) -> None:
        """The settings, a committed plan, and a program with which the model changes it."""
        project = self.project
        project.settings(model_url)
        file = project.root / ".ralph" / "settings.json"
        settings = json.loads(file.read_text())
        settings["agent"]["environment"] |= {"CLAUDE_HOOKS_PYTHON": sys.executable, **environment}
        settings["agent"]["flags"] = [f"--plugin-dir={PLUGIN}"]
        file.write_text(json.dumps(settings))
        (project.root / ".gitignore").write_text(".ralph/\n.ralph-active\n")
        (project.home / "mark.py").write_text(MARK)
        self.ralph("plan", "new", "--name", "live", check=0)
        document = tasks_json(*stories, branchName="ralph/live", verifyCommands=["test ! -e broken"])
        (project.root / "ralph" / "tasks.json").write_text(json.dumps(document, indent=2))
        project.git("add", "-A")
        project.git("commit", "-q", "-m", "the plan")

    def session(self, key: str, message: str, *, before: str = "true", **fields: Any) -> list[Step]:
        """One session: a change, the story's fields, a commit; then it wants to stop."""
        mark = [sys.executable, str(self.project.home / "mark.py"), key, json.dumps(fields), message]
        commit = ["git", "commit", "-q", "-m", message]
        shell = f"{before} && {shlex.join(mark)} && git add -A && {shlex.join(commit)}"
        return [Step(shell=shell), Step(text=f"Done: {message}")]

    def implement(self, key: str, **fields: Any) -> list[Step]:
        return self.session(
            key,
            f"feat: [{key}] - built",
            before=f"echo {key} >> {key}.txt",
            **{"reviewStatus": "needs_review", "notes": "built", **fields},
        )

    def approve(self, key: str, count: int) -> list[Step]:
        return self.session(
            key, f"review: [{key}] - approved", reviewStatus="approved", passes=True, reviewCount=count
        )

    def refuse(self, key: str, count: int, feedback: str) -> list[Step]:
        return self.session(
            key,
            f"review: [{key}] - changes requested",
            reviewStatus="changes_requested",
            reviewCount=count,
            reviewFeedback=feedback,
        )

    def mend(self, key: str) -> list[Step]:
        return self.session(
            key,
            f"fix: [{key}] - address review feedback",
            before=f"echo mended >> {key}.txt",
            reviewStatus="needs_review",
            reviewFeedback="",
        )

    def story(self, key: str) -> dict[str, Any]:
        document = json.loads((self.project.root / "ralph" / "tasks.json").read_text())
        found: dict[str, Any] = next(story for story in document["userStories"] if story["id"] == key)
        return found

    def state(self, key: str) -> tuple[bool, str | None, int]:
        story = self.story(key)
        return story["passes"], story["reviewStatus"], story["reviewCount"]

    def modes(self) -> list[str]:
        """What each iteration was for."""
        return [event["assignment"].rpartition("/")[2] for event in self.project.events("iteration_started")]

    def ralph(self, *arguments: str, check: int) -> str:
        with self.running(*arguments) as process:
            return ended(process, check)

    @contextmanager
    def running(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        process = subprocess.Popen(
            [sys.executable, "-m", "ralph", *arguments],
            cwd=self.project.root,
            env=self.project.env(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()


def stories(*keys: str) -> list[dict[str, Any]]:
    return [story_json(key, priority=number) for number, key in enumerate(keys, 1)]


def marker(project: LiveProject) -> Path:
    return project.root / ".ralph-active"
