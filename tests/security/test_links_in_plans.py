"""What a session of a plan hides behind links: ralph puts its changes back, and touches nothing outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.conftest import Project
from tests.acceptance.test_plan_run import APPROVED, COMMIT, NEEDED, PlanRun

SECRET = "s3cret-of-the-user"
NAMES = ("precious.txt", "sub/precious.txt", "tasks.json", "prd.md", "prompt.md", "progress.txt", "exclude")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    (folder / "sub").mkdir(parents=True)
    for name in NAMES:
        (folder / name).write_text(SECRET)
    return folder


@pytest.fixture
def plan(project: Project) -> PlanRun:
    made = PlanRun(project)
    made.write()
    # The fake agent counts its sessions beside its script.
    project.settings(agent={"command": "claude"}, sandbox={"writable": [str(project.programs)]})
    return made


def commit_ignored(name: str) -> str:
    return f"echo x > {name}; echo /e > .gitignore; git add -f e .gitignore; git commit -qm x"


ATTACKS = {
    "a folder of committed files": f"mkdir e; {commit_ignored('e/precious.txt')}; rm -r e; ln -s {{outside}} e",
    "a folder above": f"mkdir -p e/sub; {commit_ignored('e/sub/precious.txt')}; rm -r e; ln -s {{outside}} e",
    "by a relative link": f"mkdir e; {commit_ignored('e/precious.txt')}; rm -r e; ln -s ../outside e",
    "with its own folder": f"mkdir -p e/sub; {commit_ignored('e/sub/precious.txt')}; rm -r e/sub; ln -s {{outside}}/sub e/sub",
    "uncommitted": "mkdir e; echo x > e/precious.txt; git add e; rm -r e; ln -s {outside} e",
    "the plan's folder": "rm -r ralph; ln -s {outside} ralph",
    "the plan's folder, moved": "mv ralph r; ln -s ../outside ralph",
    "the plan's files": "for f in tasks.json prd.md prompt.md progress.txt; do ln -sf {outside}/$f ralph/$f; done",
    "git's list of ignored files": "rm .git/info/exclude; ln -s {outside}/exclude .git/info/exclude",
    "the marker of the run": "rm .ralph-active; ln -s {outside}/precious.txt .ralph-active",
}


@pytest.mark.parametrize("sandbox", ["--no-sandbox", "--sandbox=bwrap"])
@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_outside_is_read_or_removed_for_a_review(
    plan: PlanRun, outside: Path, attack: str, sandbox: str, bwrap_trouble: str
) -> None:
    if bwrap_trouble and sandbox != "--no-sandbox":
        pytest.skip(bwrap_trouble)
    plan.plays(
        f"{plan.marks(NEEDED)}; {COMMIT}",
        ATTACKS[attack].format(outside=outside),
        f"{plan.marks(APPROVED)}; {COMMIT}",
        f"{plan.marks(APPROVED)}; {COMMIT}",
    )
    ran = plan.project.ralph("plan", "run", sandbox)
    assert "Iteration 2" in ran.stderr, ran.stderr
    assert "internal error" not in ran.stderr
    assert {name: (outside / name).read_text() for name in NAMES} == dict.fromkeys(NAMES, SECRET)
    assert sorted(path.name for path in outside.rglob("*")) == sorted(
        ["sub", *(Path(name).name for name in NAMES)]
    )
    kept = (plan.project.root / ".ralph").rglob("*")
    plain = (path for path in kept if path.is_file() and not path.is_symlink())
    assert [path for path in plain if SECRET in path.read_text(errors="replace")] == []
