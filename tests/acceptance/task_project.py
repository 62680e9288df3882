"""A git project with tasks, and an agent whose roles are little shell programs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from .conftest import Project

PROMISES = {
    "coder": "IMPLEMENTATION_COMPLETE",
    "reviewer": "REVIEW_PASSED",
    "tester": "TESTS_PASSED",
    "qa": "QA_PASSED",
}
AGENT = """
prompt=$(cat)
here={programs}
tag=$(printf '%s\\n' "$prompt" | sed -n 's/^<\\(verdict-[0-9a-f]*\\)>$/\\1/p' | head -n 1)
if [ -n "$tag" ]; then
    echo "judge" >> "$here/launches"
    . "$here/judge.sh"
    exit
fi
echo "$RALPH_TASK_ID $RALPH_ROLE" >> "$here/launches"
number=$(grep -c "^$RALPH_TASK_ID $RALPH_ROLE\\$" "$here/launches")
printf '%s\\n' "$prompt" > "$here/prompt-$RALPH_TASK_ID-$RALPH_ROLE-$number"
. "$here/$RALPH_ROLE.sh"
"""
YES = 'printf "<%s>\\nVERIFIED\\n1. VERIFIED: seen\\n2. VERIFIED: seen\\n</%s>\\n" "$tag" "$tag"\n'
NO = 'printf "<%s>\\nNOT_VERIFIED\\n1. NOT_VERIFIED: the sum is wrong in sum.txt\\n</%s>\\n" "$tag" "$tag"\n'


class TaskProject:
    """``project`` with a first commit; every role says its promise, and the coder makes a file named like its task."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.root = project.root
        self.programs = project.programs
        project.environment.update(GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_SYSTEM="/dev/null")
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "t")
        self.git("config", "user.email", "t@example.invalid")
        self.write("start.txt", "start\n")
        self.commit("start")
        project.program("worker", AGENT.replace("{programs}", f"'{self.programs}'"))
        self.role("coder", 'echo made > "$RALPH_TASK_ID.txt"')
        for role in ("reviewer", "tester", "qa"):
            self.role(role, "")
        self.judge(YES)
        self.settings()

    def settings(self, **verified: Any) -> None:
        """By default only a coder: one stage is enough for most of what is tested."""
        others = verified.pop("others", {})
        values = {"stages": ["coder"], **verified}
        self.project.settings(
            agent={"command": str(self.programs / "worker")}, profiles={"verified": values}, **others
        )

    def role(self, role: str, body: str, *, says: str | None = None) -> None:
        """What a role does; then it says its promise, or ``says``."""
        last = f"<promise>{PROMISES[role]}</promise>" if says is None else says
        (self.programs / f"{role}.sh").write_text(f"{body}\necho '{last}'\n")

    def judge(self, body: str) -> None:
        (self.programs / "judge.sh").write_text(body)

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def commit(self, message: str) -> str:
        self.git("add", "--all", "--", ".", ":(exclude).ralph")
        self.git("commit", "-qm", message)
        return self.git("rev-parse", "HEAD")

    def git(self, *arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments],
            cwd=self.root,
            env=self.project.env(),
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout.strip()

    def task(self, name: str = "T-1", **completion: Any) -> None:
        """With criteria of its roles, such as ``coder={"verification_config": {"command": …}}``."""
        self.tasks({"id": name, "completion": completion})

    def tasks(self, *entries: dict[str, Any]) -> None:
        listed = []
        for entry in entries:
            spec = {
                "outcome": "it is there",
                "acceptance_criteria": ["it is there"],
                **entry.get("completion", {}),
            }
            listed.append({"title": f"Do {entry['id']}", **entry, "completion": spec})
        self.project.ralph("task", "add", "-f", "-", stdin=json.dumps({"tasks": listed}), check=0)

    def verified(self, command: str, name: str = "T-1", **config: Any) -> None:
        """A task whose coder is verified by ``command``."""
        self.task(
            name,
            coder={"verification_method": "external", "verification_config": {"command": command, **config}},
        )

    def work(self, *arguments: str, check: int | None = None) -> str:
        """stderr"""
        return self.project.ralph("work", *arguments, check=check).stderr

    def shown(self, name: str = "T-1") -> dict[str, Any]:
        found = json.loads(self.project.ralph("task", "show", name, "--json", check=0).stdout)
        task: dict[str, Any] = found.get("task", found)
        return task

    def launches(self) -> list[str]:
        """``TASK ROLE`` of each session, without those that judge."""
        return [line for line in self._launches() if line != "judge"]

    def judged(self) -> int:
        return self._launches().count("judge")

    def _launches(self) -> list[str]:
        file = self.programs / "launches"
        return file.read_text().splitlines() if file.exists() else []

    def prompt(self, role: str = "coder", number: int = 1, name: str = "T-1") -> str:
        return (self.programs / f"prompt-{name}-{role}-{number}").read_text()

    def files(self) -> set[str]:
        """In the user's branch."""
        return set(self.git("ls-tree", "-r", "--name-only", "main").splitlines())

    def worktree(self, name: str = "T-1") -> Path:
        return self.root / ".ralph" / "worktrees" / name
