"""Real projects for a page that starts runs in them: a repository each, and an agent that plays a script."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from ralph.adapters.processes.process_table import started_of, this_process
from ralph.adapters.storage.database import open_state_database
from ralph.adapters.storage.tasks import TaskStore
from ralph.domain.tasks.task import Task, TaskStatus

DONE = "<response>DONE</response>"
CODED = "<promise>IMPLEMENTATION_COMPLETE</promise>"
WAIT = "touch started; while [ ! -e go ]; do sleep 0.05; done"

Session = Sequence[Mapping[str, Any]]


class RealProject:
    """``sessions``: what its agent says and does at each launch."""

    def __init__(self, root: Path, *sessions: Session) -> None:
        self.root = root
        self.state = root / ".ralph"
        self.state.mkdir(parents=True)
        script = root.parent / f"{root.name}.json"
        script.write_text(json.dumps({"sessions": list(sessions)}))
        agent = root.parent / f"{root.name}-bin" / "claude"
        agent.parent.mkdir()
        fake = [
            sys.executable,
            "-m",
            "ralph.testing.fake_agent_cli",
            "--script",
            str(script),
            "--as",
            "claude",
        ]
        agent.write_text(f'#!/bin/sh\nexec {shlex.join(fake)} "$@"\n')
        agent.chmod(0o755)
        self.settings(agent={"command": str(agent)}, profiles={"verified": {"stages": ["coder"]}})
        for words in ("init -q -b main", "commit -q --allow-empty -m start"):
            subprocess.run(["git", *words.split()], cwd=root, check=True, capture_output=True, timeout=60)

    def settings(self, **values: Any) -> None:
        (self.state / "settings.json").write_text(json.dumps(values))

    def ralph(self, *arguments: str, check: int = 0) -> str:
        """As its user, who has waived nothing."""
        ran = subprocess.run(
            [sys.executable, "-m", "ralph", *arguments],
            cwd=self.root,
            env={name: value for name, value in os.environ.items() if name != "RALPH_TRUST"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )
        assert ran.returncode == check, f"exit {ran.returncode}\n{ran.stdout}\n{ran.stderr}"
        return ran.stdout

    def trust(self) -> None:
        self.ralph("trust", "--yes")

    def add_task(self, name: str, *, failed: bool = False) -> None:
        with closing(open_state_database(self.state)) as database:
            store = TaskStore(database, me=this_process(), started_of=started_of)
            store.add([Task(id=name, title="totals")], at=1.0)
            if failed:
                store.change(name, _fail, at=2.0)

    def status_of(self, name: str) -> TaskStatus:
        with closing(open_state_database(self.state)) as database:
            return TaskStore(database, me=this_process(), started_of=started_of).get(name).status


def _fail(task: Task) -> Task:
    return replace(task, status=TaskStatus.FAILED, reason="the tests never passed")
