"""Commands that prove a claim run in a checkout of their own: what an agent linked into its work opens nothing to them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.acceptance.conftest import DONE, PROMPT, Project

SECRET = "s3cret-of-the-user"
CHECK = """
echo looking
for place in $(cat where.txt 2>/dev/null); do
  cat "$place"/*
  echo planted > "$place/planted"
done 2>&1
true
"""
IGNORED = "node_modules/\nnode_modules\nvendor\n"

ATTACKS = {
    "a folder of programs": "echo '{{}}' > package.json; ln -s {outside} node_modules; echo {outside} > where.txt",
    "by a relative link": "echo '{{}}' > package.json; ln -s {relative} node_modules; echo {outside} > where.txt",
    "through another link": "echo '{{}}' > package.json; ln -s {outside} a; ln -s a node_modules; echo {outside} > where.txt",
    "in a folder of which a part is committed": (
        "echo '{{}}' > package.json; mkdir -p node_modules/x; echo 1 > node_modules/x/y; git add -f node_modules; "
        "git commit -qm x; ln -s {outside} node_modules/evil; echo {outside} > where.txt"
    ),
    "git's own folder": (
        "echo '{{}}' > package.json; mkdir -p node_modules/x; echo 1 > node_modules/x/y; git add -f node_modules; "
        "git commit -qm x; ln -s ../.git/hooks node_modules/evil; echo {root}/.git/hooks > where.txt"
    ),
    "a virtual environment": (
        "ln -s {outside} vendor; touch go.mod; echo {outside} > where.txt; git add go.mod; git commit -qm x"
    ),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_check_sees_and_writes_nothing_that_the_agent_linked(
    project: Project, own_home: Path, attack: str, bwrap_trouble: str
) -> None:
    if bwrap_trouble:
        pytest.skip(bwrap_trouble)
    outside = own_home / "outside"
    outside.mkdir()
    (outside / "id").write_text(SECRET)
    project.settings(agent={"command": "claude"}, sandbox={"writable": [str(project.programs)]})
    (project.root / "check.sh").write_text(CHECK)
    (project.root / ".gitignore").write_text(IGNORED + ".ralph/\n")
    for command in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "first")):
        subprocess.run(["git", *command], cwd=project.root, check=True, capture_output=True)
    names = {
        "outside": outside,
        "root": project.root,
        "relative": os.path.relpath(outside, project.root),
    }
    project.agent([{"run": ATTACKS[attack].format(**names)}, {"say": DONE}])
    before = sorted(path.name for path in (project.root / ".git" / "hooks").glob("*"))
    project.ralph(
        "run", "-p", PROMPT, "-m", "1", "--sandbox", "--guardrail", "sh check.sh", HOME=str(own_home)
    )
    logs = [path.read_text() for path in project.root.glob(".ralph/runs/*/*.log")]
    assert len(logs) > 1, logs
    assert not [log for log in logs if SECRET in log]
    assert sorted(path.name for path in outside.iterdir()) == ["id"]
    assert sorted(path.name for path in (project.root / ".git" / "hooks").glob("*")) == before
