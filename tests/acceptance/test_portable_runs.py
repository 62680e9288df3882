"""`ralph export` and `ralph import`: a run continues in another clone; whatever else comes in a file is refused."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import DONE, PROMPT, Project
from .running import running, wait_for
from .task_project import TaskProject
from .test_resume import interrupt

Files = dict[str, bytes]


@pytest.fixture
def cut(project: Project) -> Project:
    """A run that was killed in its second session, in a repository."""
    project.git("init", "-q", "-b", "main")
    (project.root / ".gitignore").write_text("started\n*.gz\n")
    project.git("add", ".")
    project.git("commit", "-qm", "start")
    project.settings(agent={"command": "claude"}, guardrails=[{"command": "test -f made"}])
    project.agent([{"say": DONE}], [{"touch": "started"}, {"sleep": 60}], [{"touch": "made"}, {"say": DONE}])
    interrupt(project, "-p", PROMPT, "-m", "3", "--max-cost", "9")
    return project


def clone_of(project: Project, name: str = "clone") -> Project:
    root = project.root.with_name(name)
    project.git("clone", "-q", str(project.root), str(root))
    (root / ".ralph").mkdir()
    shutil.copy(project.root / ".ralph" / "settings.json", root / ".ralph")
    return Project(root, project.programs, project.environment)


def test_a_run_continues_in_another_clone(cut: Project) -> None:
    exported = json.loads(cut.ralph("export", "last", "-o", "run.gz", "--json", check=0).stdout)
    assert exported["commit"] == cut.git("rev-parse", "HEAD").strip()
    assert exported["clean"] is True
    file = cut.root / "run.gz"
    assert file.stat().st_mode & 0o777 == 0o600
    other = clone_of(cut)
    imported = json.loads(other.ralph("import", str(file), "--json", check=0).stdout)
    assert (imported["run"], imported["new"], imported["checkedOut"]) == (exported["run"], True, True)
    before = cut.rows("SELECT iteration, attempt, decision, cost_usd FROM iterations")
    assert other.rows("SELECT iteration, attempt, decision, cost_usd FROM iterations") == before
    assert "interrupted" in other.ralph("status", check=0).stdout
    again = other.ralph("import", str(file), check=0)
    assert "already; nothing has changed" in again.stderr
    assert f"To continue: `ralph resume {exported['run']}`" in again.stderr
    other.ralph("resume", check=0)
    assert (other.root / "made").exists()
    # The same launch is tried again: neither the count nor the spend began from zero.
    (state,) = other.rows(
        "SELECT json_extract(state, '$.iteration'), json_extract(state, '$.spend.cost_usd') FROM runs"
    )
    assert state[0] == 2
    assert state[1] > 0.02
    assert "is on record here already" in other.ralph("import", str(file), check=4).stderr
    assert cut.rows("SELECT outcome FROM runs") == [(None,)]


def test_an_export_is_always_the_same_and_can_go_through_a_pipe(cut: Project) -> None:
    import subprocess
    import sys

    for name in ("one.gz", "two.gz"):
        cut.ralph("export", "last", "-o", name, check=0)
    one = (cut.root / "one.gz").read_bytes()
    assert one == (cut.root / "two.gz").read_bytes()
    piped = subprocess.run(
        [sys.executable, "-m", "ralph", "export", "last", "-o", "-"],
        cwd=cut.root, env=cut.env(), capture_output=True, check=True, timeout=60,
    )  # fmt: skip
    assert piped.stdout == one
    other = clone_of(cut)
    subprocess.run(
        [sys.executable, "-m", "ralph", "import", "-"],
        cwd=other.root, env=other.env(), input=one, capture_output=True, check=True, timeout=60,
    )  # fmt: skip
    other.ralph("resume", check=0)


def test_a_run_under_way_is_exported_as_it_stands(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"touch": "started"}, {"sleep": 60}])
    with running(project, "-p", PROMPT):
        wait_for((project.root / "started").exists, "the start")
        assert "is under way" in project.ralph("export", "last", "-o", "run.gz", check=0).stderr
    other = Project(project.root.with_name("other"), project.programs)
    other.root.mkdir()
    other.settings(agent={"command": "claude"})
    other.agent([{"say": DONE}])
    told = other.ralph("import", str(project.root / "run.gz"), check=0).stderr
    assert "commit" not in told
    other.ralph("resume", check=0)


def test_work_on_tasks_continues_in_another_clone(project: Project) -> None:
    world = TaskProject(project)
    world.role(
        "coder",
        f'if [ -e "{project.programs}/cut" ]; then echo made > "$RALPH_TASK_ID.txt"; else touch "{project.programs}/cut"; sleep 60; fi',
    )
    world.tasks({"id": "T-1"}, {"id": "T-2", "dependencies": ["T-1"]})
    with running(project, command="work"):
        wait_for((project.programs / "cut").exists, "the session")
    project.ralph("export", "last", "-o", "../run.gz", check=0)
    other = clone_of(project)
    for key, value in (("user.name", "t"), ("user.email", "t@example.invalid")):
        other.git("config", key, value)
    imported = json.loads(other.ralph("import", "../run.gz", "--json", check=0).stdout)
    assert len(imported["runs"]) >= 2
    other.ralph("resume", imported["run"], check=0)
    assert other.rows("SELECT id, status FROM tasks ORDER BY id") == [("T-1", "done"), ("T-2", "done")]
    assert (other.root / "T-2.txt").exists()


def test_a_stranger_s_run_is_asked_about(cut: Project) -> None:
    cut.ralph("export", "last", "-o", "run.gz", check=0)
    other = clone_of(cut)
    refused = other.ralph("import", "../project/run.gz", check=2, RALPH_TRUST="")
    assert "limits.maxCost=9" in refused.stderr.replace(" ", "")
    assert "--trust" in refused.stderr
    assert not (other.root / ".ralph" / "ralph.db").exists()
    other.ralph("import", "--trust", "../project/run.gz", check=0, RALPH_TRUST="")
    other.ralph("trust", "--yes", check=0, RALPH_TRUST="")  # the settings, which did not come along
    other.ralph("resume", check=0, RALPH_TRUST="")


def test_secrets_are_not_exported(project: Project) -> None:
    secret = "ghp_" + "a1B2" * 9
    project.settings(agent={"command": "claude"})
    project.agent([{"touch": "started"}, {"sleep": 60}])
    with running(project, "-p", f"use {secret} for {DONE}"):
        wait_for((project.root / "started").exists, "the start")
    told = project.ralph("export", "last", "-o", "run.gz", check=0).stderr
    assert "masked" in told
    assert secret.encode() not in gzip.decompress((project.root / "run.gz").read_bytes())


def test_the_commit_that_is_not_here_is_named(cut: Project) -> None:
    other = clone_of(cut)
    (cut.root / "later").write_text("x")
    cut.git("add", ".")
    cut.git("commit", "-qm", "later")
    commit = cut.git("rev-parse", "HEAD").strip()
    (cut.root / "uncommitted").write_text("x")
    exported = cut.ralph("export", "last", "-o", "run.gz", check=0).stderr
    assert "commit and push your changes: what is not committed is not in the file" in exported
    assert "`ralph import run.gz`, then `ralph resume`" in exported
    told = other.ralph("import", str(cut.root / "run.gz"), check=0).stderr
    assert f"commit {commit[:12]} (main), which is not here" in told
    assert "To continue: fetch and check out that commit, then `ralph resume" in told
    other.git("fetch", "-q", "origin")
    assert "is here, but not checked out" in other.ralph("import", str(cut.root / "run.gz"), check=0).stderr


# --- files that no ralph wrote ---


def archive(files: Files, *, links: dict[str, str] | None = None) -> bytes:
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w:gz") as made:
        for name, content in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(content)
            made.addfile(about, io.BytesIO(content))
        for name, target in (links or {}).items():
            about = tarfile.TarInfo(name)
            about.type, about.linkname = tarfile.SYMTYPE, target
            made.addfile(about)
    return output.getvalue()


def contents(data: bytes) -> Files:
    with tarfile.open(fileobj=io.BytesIO(data)) as made:
        return {member.name: made.extractfile(member).read() for member in made}  # type: ignore[union-attr]


def _newer(files: Files) -> bytes:
    about = json.loads(files["manifest.json"])
    return archive({**files, "manifest.json": json.dumps({**about, "schema": 99, "ralph": "9.0"}).encode()})


BAD: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda _: b"", "not a whole archive"),
    "text": (lambda _: b"hello", "not a whole archive"),
    "truncated": (lambda data: data[: len(data) // 2], "not a whole archive"),
    "last byte": (lambda data: data[:-1], "not a whole archive"),
    "no tar": (lambda _: gzip.compress(b"hello" * 200), "not a whole archive"),
    "nothing in it": (lambda _: archive({}), "empty"),
    "upwards": (lambda data: archive({**contents(data), "files/../../evil": b"x"}), "ralph would not write this"),
    "absolute": (lambda data: archive({**contents(data), "/tmp/evil": b"x"}), "ralph would not write this"),
    "other files": (lambda data: archive({**contents(data), "evil": b"x"}), "ralph would not write this"),
    "a link": (lambda data: archive(contents(data), links={"files/tasks": "/etc"}), "ralph would not write this"),
    "no code": (
        lambda data: archive({name: file for name, file in contents(data).items() if name != "code.json"}),
        "code.json is missing",
    ),
    "newer": (lambda data: _newer(contents(data)), "newer ralph (9.0)"),
}  # fmt: skip


def test_bad_files_are_refused_in_words_and_nothing_is_taken(cut: Project, tmp_path: Path) -> None:
    cut.ralph("export", "last", "-o", "run.gz", check=0)
    good = (cut.root / "run.gz").read_bytes()
    other = clone_of(cut)
    for name, (change, words) in BAD.items():
        (tmp_path / "bad.gz").write_bytes(change(good))
        ran = other.ralph("import", str(tmp_path / "bad.gz"), check=4)
        assert words in ran.stderr, name
        assert "Traceback" not in ran.stderr
        assert not (other.root / ".ralph" / "ralph.db").exists(), name
    assert not list(tmp_path.rglob("evil"))
    assert "No such file" in other.ralph("import", "nowhere.gz", check=2).stderr
    assert "directory" in other.ralph("import", ".", check=2).stderr.lower()
    assert "no run" in cut.ralph("export", "nothing", check=2).stderr
    assert "is a directory" in cut.ralph("export", "last", "-o", ".", check=2).stderr
    assert "cannot write" in cut.ralph("export", "last", "-o", "no/such/folder", check=4).stderr
