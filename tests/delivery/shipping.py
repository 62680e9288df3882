"""A clone of the forge's repository, with an agent and settings, in which ralph ships."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.acceptance.conftest import DONE, Project, Session

from .world.forge import Forge

GREEN: dict[str, Any] = {"conclusion": "success"}
RED: dict[str, Any] = {
    "conclusion": "failure",
    "log": "E   assert add(1, 1) == 2\nE   assert 3 == 2",
    "step": "Run tests",
}


class ShipProject(Project):
    """``forge``'s main, cloned; the branch ``feature`` has one commit more. The agent gets its sessions by ``agent``."""

    forge: Forge

    def setting(self, **values: Any) -> None:
        """What every test here needs, and ``values``; not committed, as settings of one's own are."""
        pull_request = {"repository": self.forge.repository, "wait": 1, **values.pop("pullRequest", {})}
        self.settings(
            agent={"command": str(self.programs / "claude")},
            guardrails=values.pop("guardrails", ["test -f work.txt"]),
            pullRequest=pull_request,
            **values,
        )

    def ship(self, *arguments: str, check: int | None = None) -> subprocess.CompletedProcess[str]:
        return self.ralph("ship", *arguments, check=check)

    def commit(self, files: dict[str, str], message: str = "Work") -> str:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.git("add", "--all")
        self.git("commit", "-qm", message)
        return self.tip

    @property
    def tip(self) -> str:
        return self.git("rev-parse", "HEAD").strip()

    def events(self, kind: str) -> list[dict[str, Any]]:
        rows = self.rows(f"SELECT data FROM events WHERE kind = '{kind}' ORDER BY seq")
        return [json.loads(data) for (data,) in rows]


def ship_project(forge: Forge, folder: Path, *, knows_checks: bool = True) -> ShipProject:
    """``knows_checks``: the check `build` has run on main, so everyone knows which there are."""
    main = forge.tip("main")
    assert main is not None
    if knows_checks:
        forge.check(main, "build", "success")
    root = forge.clone(folder / "work")
    programs = folder / "programs"
    programs.mkdir()
    project = ShipProject(root, programs)
    project.forge = forge
    variables = forge.environment()
    beside = str(Path(sys.executable).parent)
    path = os.pathsep.join([str(programs / "bin"), beside, os.environ["PATH"]])
    project.environment.update({**variables, "PATH": path})
    project.git("config", "user.name", "owner")
    project.git("config", "user.email", "owner@example.invalid")
    exclude = root / ".git" / "info" / "exclude"
    exclude.write_text(".ralph/\n")
    project.git("checkout", "-q", "-b", "feature")
    project.commit({"work.txt": "1\n"}, "Add the work")
    project.setting()
    project.agent(says(DONE))
    return project


def over_https(project: ShipProject, user: str = "owner") -> ShipProject:
    """Without gh, by a token: half a second less for each look, which counts where a hundred tests look."""
    forge = project.forge
    for name in (*forge.environment(), "GITHUB_TOKEN"):
        project.environment.pop(name, None)
    folders = os.environ["PATH"].split(os.pathsep)
    without = [folder for folder in folders if not (Path(folder) / "gh").exists()]
    project.environment.update(forge.environment_https(user))
    project.environment["PATH"] = os.pathsep.join([str(project.programs / "bin"), *without])
    return project


def says(*words: str, **files: str) -> Session:
    """A session that writes files and then says something."""
    written = [{"write": {"path": path.replace("__", "."), "content": text}} for path, text in files.items()]
    return [*written, *({"say": word} for word in words)]


def on_each_push(
    forge: Forge, *results: Sequence[tuple[str, dict[str, Any]]], branch: str = "feature"
) -> None:
    """CI that has its results before the push returns: of the first push of the branch, of the second … and of all later
    ones like the last."""
    left = list(results)
    known = forge.github.on_push

    def pushed(name: str, commit: str) -> None:
        if known is not None:
            known(name, commit)
        if name == branch and forge.tip(name) == commit:
            now = left.pop(0) if len(left) > 1 else left[0]
            for check, result in now:
                forge.check(commit, check, **result)

    forge.github.on_push = pushed
