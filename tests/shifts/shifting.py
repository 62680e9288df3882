"""What a worker does with a run, on one machine: a process for each shift, and the orders between them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ralph.adapters.storage.shift_files import read_end, write_terms
from ralph.domain.fleet.shift import ShiftEnd
from ralph.domain.fleet.terms import ShiftTerms
from tests.acceptance.conftest import Project

HANDED_OVER = 5
MOST_SHIFTS = 12
RANDOM = re.compile(
    r"\d{8}-\d{6}-[0-9a-f]{4}|(?<=verdict-)[0-9a-f]{8}|(?<=merged as )[0-9a-f]{12}|\d+\.\d\ds"
)


@dataclass
class Worker:
    """``project`` is the seat. ``ends``: of the shifts so far; ``said``: what each printed on stderr."""

    project: Project
    sandbox: str = "none"
    ends: list[ShiftEnd] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        folder = self.project.programs / "shift"
        folder.mkdir(exist_ok=True)
        return folder

    def order(self, **terms: Any) -> None:
        before = self.ends[-1] if self.ends else None
        given = {
            "sandbox": self.sandbox,
            "continues": before is not None,
            "waited": before.seconds if before is not None else 0.0,
            "may_merge": before is not None and before.want == "merge",
        }
        write_terms(self.folder, ShiftTerms(**{**given, **terms}))

    def shift(self, *command: str, **terms: Any) -> ShiftEnd:
        """One, which ends well."""
        self.order(**terms)
        ran = self.start(*command)
        end = read_end(self.folder)
        assert end is not None, ran.stderr
        assert ran.returncode == (HANDED_OVER if end.want else end.exit_code), ran.stderr
        self.ends.append(end)
        self.said.append(ran.stderr)
        return end

    def start(self, *command: str) -> subprocess.CompletedProcess[str]:
        words = ("resume", self.ends[-1].run_id) if self.ends else command
        return self.project.ralph(*words, RALPH_SHIFT=str(self.folder))

    def run(
        self, *command: str, until: Callable[[ShiftEnd], bool] = lambda end: bool(end.outcome)
    ) -> ShiftEnd:
        """Shift by shift, until it has ended."""
        for _ in range(MOST_SHIFTS):
            if until(end := self.shift(*command)):
                return end
        raise AssertionError(self.ends[-3:])


def twin(project: Project) -> Project:
    """The same project in another place, with agents that have done nothing yet."""
    folder = project.root.parent / "twin"
    shutil.copytree(project.root, folder / "project", symlinks=True)
    shutil.copytree(project.programs, folder / "programs", symlinks=True)
    for file in (folder / "programs").rglob("*"):
        if file.is_file() and not file.is_symlink():
            text = file.read_text().replace(str(project.programs), str(folder / "programs"))
            file.write_text(text.replace(str(project.root), str(folder / "project")))
    for file in (folder / "project" / ".ralph").glob("*.json"):
        text = file.read_text().replace(str(project.programs), str(folder / "programs"))
        file.write_text(text.replace(str(project.root), str(folder / "project")))
    return Project(folder / "project", folder / "programs", dict(project.environment))


def decisions(project: Project) -> list[tuple[Any, ...]]:
    return project.rows(
        "SELECT i.iteration, i.attempt, i.assignment, i.role, i.decision, i.reason, i.claimed, i.proven,"
        " round(i.cost_usd, 6), i.tokens FROM iterations i JOIN runs r ON r.id = i.run_id"
        " ORDER BY r.started_at, i.iteration, i.attempt"
    )


def checks(project: Project) -> list[tuple[int, str, str]]:
    rows = project.rows("SELECT iteration, data FROM events WHERE kind = 'check_ended' ORDER BY seq")
    found = [(iteration, json.loads(data)["result"]) for iteration, data in rows]
    return [(iteration, result["name"], result["verdict"]) for iteration, result in found]


def kinds(project: Project, *, without: Sequence[str] = ("agent_acted",)) -> list[str]:
    rows = project.rows("SELECT kind FROM events ORDER BY seq")
    return [kind for (kind,) in rows if kind not in without]


def warnings(project: Project) -> list[str]:
    rows = project.rows("SELECT data FROM events WHERE kind = 'warned' ORDER BY seq")
    return [_plain(json.loads(data)["message"], project) for (data,) in rows]


def prompts(project: Project) -> list[tuple[str, str]]:
    """Of all runs, in the order in which these began."""
    names = [name for (name,) in project.rows("SELECT id FROM runs ORDER BY started_at, id")]
    runs = project.root / ".ralph" / "runs"
    files = [file for name in names for file in sorted((runs / name).glob("prompt_*.txt"))]
    return [(file.name, _plain(file.read_text(), project)) for file in files]


def totals(project: Project) -> list[tuple[Any, ...]]:
    return project.rows(
        "SELECT profile, outcome, reason, json_extract(state, '$.iteration'),"
        " round(json_extract(state, '$.spend.cost_usd'), 6), json_extract(state, '$.denied'),"
        " json_extract(state, '$.unchanged') FROM runs ORDER BY started_at, id"
    )


def assert_same(local: Project, shifted: Project) -> None:
    """One process and many have decided, checked, told and counted the same."""
    assert decisions(shifted) == decisions(local)
    assert checks(shifted) == checks(local)
    assert prompts(shifted) == prompts(local)
    assert [_all_plain(row, shifted) for row in totals(shifted)] == [
        _all_plain(row, local) for row in totals(local)
    ]
    assert warnings(shifted) == warnings(local)
    assert kinds(shifted) == kinds(local)


def _all_plain(row: tuple[Any, ...], project: Project) -> list[Any]:
    return [_plain(value, project) if isinstance(value, str) else value for value in row]


def _plain(text: str, project: Project) -> str:
    text = text.replace(str(project.root), "PROJECT").replace(str(project.programs), "PROGRAMS")
    return RANDOM.sub("ANY", text)
