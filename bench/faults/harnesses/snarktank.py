"""snarktank/ralph: a shell script and a prompt that one copies into a project (MIT)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from typing import ClassVar

from bench.faults.acts import Act, Promise
from bench.faults.harness import Harness, checkout, commit_of
from bench.faults.stage import CannotRunError, Stage

MARK = (
    "jq '.userStories[].passes = true' scripts/ralph/prd.json > prd.new && mv prd.new scripts/ralph/prd.json"
)


class Snarktank(Harness):
    name = "snarktank-ralph"
    version = "unknown"
    about = "a checkout of snarktank/ralph, MIT; set FAULTS_SNARKTANK to it"
    settings = "ralph.sh --tool claude with its own CLAUDE.md and a prd.json whose criteria name the check. It has no settings."
    claims: ClassVar[Mapping[Promise, str]] = {}
    mark = MARK
    unplan = "jq '.userStories = []' scripts/ralph/prd.json > prd.new && mv prd.new scripts/ralph/prd.json"
    absent: ClassVar[Mapping[str, str]] = {
        "resume-limit": "the number of iterations is an argument of each start"
    }

    def install(self) -> None:
        self.checkout = checkout("FAULTS_SNARKTANK", "ralph.sh", "github.com/snarktank/ralph")
        self.version = commit_of(self.checkout)
        if shutil.which("jq") is None:
            raise CannotRunError("it needs jq")

    def prepare(self, stage: Stage, act: Act, iterations: int) -> None:
        folder = stage.root / "scripts" / "ralph"
        folder.mkdir(parents=True)
        for name in ("ralph.sh", "CLAUDE.md"):
            shutil.copy(self.checkout / name, folder / name)
        (folder / "ralph.sh").chmod(0o755)
        stories = [
            {
                "id": f"US-{number:03}",
                "title": f"Make answer() in {name} say 42",
                "description": f"answer() in {name} says 41. It must say 42.",
                "acceptanceCriteria": [f"{name}: answer() returns 42", f"`{act.check}` passes"],
                "priority": number,
                "passes": False,
                "notes": "",
            }
            for number, name in enumerate(stage.tasks(act), 1)
        ]
        document = {
            "project": "sample",
            "branchName": "main",
            "description": "answers",
            "userStories": stories,
        }
        (folder / "prd.json").write_text(json.dumps(document, indent=1))

    def command(self, stage: Stage, act: Act, iterations: int) -> Sequence[str]:
        return ["scripts/ralph/ralph.sh", "--tool", "claude", str(iterations)]

    def done(self, stage: Stage, code: int | None, output: str) -> str:
        return (
            "exit 0, 'Ralph completed all tasks!'"
            if code == 0 and "Ralph completed all tasks!" in output
            else ""
        )
