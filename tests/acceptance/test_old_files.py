"""A long run: its old streams are compressed and read as before, and `limits.keepIterations` bounds what its folder holds."""

from __future__ import annotations

import gzip
import json
import os
import tarfile
from pathlib import Path

import pytest

from .conftest import DONE, PROMPT, Project, copy_of, make_once
from .test_old_record import rebuild, run_of
from .test_resume import interrupt

ITERATIONS = 13
COMPRESSED = range(1, 10)
"""What the last session of such a run waits for: the one before it has judged twelve, of which three stay as they are."""

# More than a block of the disk, so that it is worth the while.
SPEAKS = """cat > /dev/null
if [ "$RALPH_ITERATION" = 13 ]; then while [ ! -e .ralph/runs/*/agent_009.ndjson.gz ]; do sleep 0.05; done; fi
printf '{"type":"assistant","message":{"content":[{"type":"text","text":"session %s says %05000d"}]}}\\n' "$RALPH_ITERATION" 7
"""
# Says whether the log that its prompt names is there.
LOOKS = """log=$(sed -n 's/^Output file: //p' | tail -1)
if [ -n "$log" ] && [ ! -e "$log" ]; then echo "$RALPH_ITERATION $log" >> missing; fi
if [ "$RALPH_ITERATION" = 6 ] && [ ! -e started ]; then touch started; sleep 60; fi
echo "session $RALPH_ITERATION"
"""


def run_long(project: Project) -> None:
    project.settings(agent={"command": "claude"}, limits={"stuckAfter": 0})
    project.program("claude", SPEAKS)
    project.ralph("run", "-p", PROMPT, "-m", str(ITERATIONS), check=1)


@pytest.fixture(scope="module")
def long_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_once(tmp_path_factory.mktemp("long"), run_long)


@pytest.fixture
def long(long_once: Path, tmp_path: Path) -> Project:
    return copy_of(long_once, tmp_path)


def folder_of(project: Project) -> Path:
    (folder,) = (project.root / ".ralph" / "runs").iterdir()
    return folder


def decompress_all(project: Project) -> None:
    """As the folder would be if nothing had ever been compressed."""
    for packed in folder_of(project).glob("*.gz"):
        packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
        packed.unlink()


def test_old_streams_are_compressed_and_new_ones_are_not(long: Project) -> None:
    names = {path.name for path in folder_of(long).iterdir()}

    packed = {number for number in range(1, ITERATIONS + 1) if f"agent_{number:03}.ndjson.gz" in names}
    plain = {number for number in range(1, ITERATIONS + 1) if f"agent_{number:03}.ndjson" in names}
    assert packed == {*COMPRESSED}
    assert plain == {*range(1, ITERATIONS + 1)} - packed
    assert not [name for name in names if name.endswith(".tmp")]
    assert {f"prompt_{number:03}.txt" for number in range(1, ITERATIONS + 1)} <= names


@pytest.mark.parametrize(
    "command",
    [
        ["logs", "--raw"],
        ["logs", "--raw", "--iteration", "2"],
        ["logs"],
        ["logs", "--json"],
        ["logs", "--iteration", "2"],
        ["show"],
        ["show", "--json"],
        ["show", "--iteration", "2"],
        ["status", "--json"],
        ["report", "--format", "json"],
    ],
    ids=" ".join,
)
def test_every_reader_prints_the_same_of_a_compressed_stream(long: Project, command: list[str]) -> None:
    compressed = long.ralph(*command, check=0)
    decompress_all(long)
    plain = long.ralph(*command, check=0)

    assert _without_times(compressed.stdout) == _without_times(plain.stdout)
    assert compressed.stderr == plain.stderr
    if command[0] == "logs":
        assert "session 2 says" in compressed.stdout


def _without_times(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if "written_at" not in line)


def test_a_run_travels_with_its_compressed_streams(long: Project, tmp_path: Path) -> None:
    printed = long.ralph("logs", "--raw", check=0).stdout
    file = tmp_path / "run.tar.gz"
    long.ralph("export", "last", "-o", str(file), check=0)
    other = Project(tmp_path / "other", long.programs)
    other.root.mkdir()

    other.ralph("import", str(file), check=0)

    assert other.ralph("logs", "--raw", check=0).stdout == printed
    names = {path.name for path in folder_of(other).iterdir()}
    assert {f"agent_{number:03}.ndjson.gz" for number in COMPRESSED} <= names


@pytest.mark.parametrize("trap", ["link", "pipe", "folder"])
def test_a_trap_in_the_place_of_a_compressed_stream_keeps_no_run_from_travelling(
    long: Project, tmp_path: Path, trap: str
) -> None:
    place = folder_of(long) / "agent_900.ndjson.gz"
    match trap:
        case "link":
            place.symlink_to("/etc/passwd")
        case "pipe":
            os.mkfifo(place)
        case _:
            place.mkdir()

    long.ralph("export", "last", "-o", str(tmp_path / "run.tar.gz"), check=0)

    with tarfile.open(tmp_path / "run.tar.gz") as packed:
        assert not [name for name in packed.getnames() if place.name in name]


def test_a_run_is_resumed_with_its_compressed_streams(long: Project) -> None:
    printed = long.ralph("logs", "--raw", check=0).stdout

    long.ralph("resume", "-m", str(ITERATIONS + 1), check=1)

    resumed = long.ralph("logs", "--raw", check=0).stdout
    assert resumed.startswith(printed)
    assert f"session {ITERATIONS + 1} says" in resumed


# --- limits.keepIterations ---


@pytest.fixture
def pruned(project: Project) -> Project:
    project.settings(
        agent={"command": "worker"},
        guardrails=[{"name": "tests", "command": "echo red; false"}],
        limits={"stuckAfter": 0, "keepIterations": 3},
    )
    project.program("worker", LOOKS.replace("sleep 60", "true"))
    project.ralph("run", "-p", "Do the work. " * 40, "-m", "12", check=1)
    return project


def test_only_the_newest_are_kept_and_the_first_prompt(pruned: Project) -> None:
    folder = folder_of(pruned)

    kept = {int(path.name[6:9]) for path in folder.glob("agent_*")}
    prompts = {int(path.name[7:10]) for path in folder.glob("prompt_*")}
    logs = {int(path.name[10:13]) for path in folder.glob("guardrail_*")}
    assert kept == logs == {10, 11, 12}
    assert prompts == {1, 10, 11, 12}
    assert {"request.json", "receipt.json", "elapsed"} <= {path.name for path in folder.iterdir()}
    dangling = [path.name for path in (pruned.root / ".ralph").iterdir() if not path.exists()]
    assert dangling == []
    assert not (pruned.root / "missing").exists(), "each prompt named a log that was there"


def test_the_record_tells_of_every_iteration_and_says_what_was_removed(pruned: Project) -> None:
    shown = json.loads(pruned.ralph("show", "--json", check=0).stdout)
    second = pruned.ralph("show", "--iteration", "2", check=0).stdout
    newest = pruned.ralph("show", "--iteration", "12", check=0).stdout
    pruned.ralph("report", "-o", "page.html", check=0)
    page = (pruned.root / "page.html").read_text()
    markdown = pruned.ralph("report", "--format", "md", check=0).stdout

    assert [each["iteration"] for each in shown["iterations"]] == [*range(1, 13)]
    assert "prompt_002.txt (removed)" in second
    assert "guardrail_002_echo_red_false.log (removed)" in second
    assert "removed" not in newest
    told = "The files of iterations 1 to 9 are no longer here, except the first prompt"
    assert told in page
    assert told in markdown


def test_what_is_left_of_the_streams_is_printed_and_the_rest_is_told(pruned: Project) -> None:
    whole = pruned.ralph("logs", "--raw", check=0)
    second = pruned.ralph("logs", "--raw", "--iteration", "2", check=2)
    unknown = pruned.ralph("logs", "--raw", "--iteration", "99", check=2)

    assert whole.stdout == "session 10\nsession 11\nsession 12\n"
    assert "the output of iterations 1 to 9 is no longer here (limits.keepIterations)" in whole.stderr
    assert "the stream of iteration 2" in second.stderr
    assert "--iteration 2` shows what the record has of it" in second.stderr
    assert "has no iteration 99" in unknown.stderr
    assert "session 2" in pruned.ralph("logs", "--iteration", "2", check=0).stdout


def test_a_pruned_run_is_resumed_and_stays_pruned(pruned: Project) -> None:
    pruned.ralph("resume", "-m", "15", check=1)

    assert {int(path.name[6:9]) for path in folder_of(pruned).glob("agent_*")} == {13, 14, 15}
    assert pruned.rows("SELECT count(*) FROM iterations") == [(15,)]
    assert not (pruned.root / "missing").exists()


def test_a_pruned_run_that_was_killed_has_what_its_next_process_needs(project: Project) -> None:
    project.settings(
        agent={"command": "worker"},
        guardrails=[{"name": "tests", "command": "echo red; false"}],
        limits={"stuckAfter": 0, "keepIterations": 1},
    )
    project.program("worker", LOOKS)
    interrupt(project, "-p", PROMPT, "-m", "12")

    project.ralph("resume", check=1)

    assert project.rows("SELECT count(DISTINCT iteration) FROM iterations") == [(12,)]
    assert not (project.root / "missing").exists(), "each prompt named a log that was there"
    assert {int(path.name[6:9]) for path in folder_of(project).glob("agent_*")} == {12}


def test_the_setting_holds_for_each_task_of_ralph_work(project: Project) -> None:
    project.git("init", "-q", "-b", "main")
    project.git("config", "user.name", "t")
    project.git("config", "user.email", "t@example.invalid")
    project.git("commit", "-q", "--allow-empty", "-m", "start")
    project.settings(
        agent={"command": "worker"},
        limits={"stuckAfter": 0, "keepIterations": 2},
        profiles={
            "verified": {
                "stages": ["coder"],
                "roles": {"coder": {"verification": "string_match", "maxIterations": 6}},
            }
        },
    )
    project.program("worker", 'cat > /dev/null; echo "session $RALPH_ITERATION"\n')
    spec = {"outcome": "it is there", "acceptance_criteria": ["it is there"]}
    file = project.programs / "tasks.json"
    file.write_text(json.dumps([{"id": f"T-{name}", "title": name, "completion": spec} for name in "ab"]))
    project.ralph("task", "add", "-f", str(file), check=0)

    project.ralph("work", "-j", "2", check=1)

    parts = project.rows("SELECT id FROM runs WHERE parent_id <> ''")
    assert len(parts) == 2
    for (run,) in parts:
        folder = project.root / ".ralph" / "runs" / run
        assert {int(path.name[6:9]) for path in folder.glob("agent_*")} == {5, 6}


def test_a_run_of_an_earlier_version_is_resumed_and_pruned(project: Project) -> None:
    old = rebuild(project)
    run = run_of(old, "maximum iterations reached (2); still failing: test -f made")
    folder = old.root / ".ralph" / "runs" / run
    others = {path: sorted(path.rglob("*")) for path in folder.parent.iterdir() if path != folder}
    old.settings("settings.local.json", limits={"keepIterations": 1})
    old.agent([{"write": {"path": "made", "content": "yes\n"}}, {"say": f"Made it. {DONE}"}])

    old.ralph("resume", run, "-m", "3", check=0)

    assert {path.name[6:9] for path in folder.glob("agent_*")} == {"003"}
    assert {path.name[7:10] for path in folder.glob("prompt_*")} == {"001", "003"}
    assert len(json.loads(old.ralph("show", run, "--json", check=0).stdout)["iterations"]) == 3
    assert {path: sorted(path.rglob("*")) for path in folder.parent.iterdir() if path != folder} == others


def test_a_repository_that_wants_files_removed_must_be_trusted(project: Project) -> None:
    project.settings(agent={"command": "claude"}, limits={"keepIterations": 1})
    project.agent([{"say": DONE}])

    asked = project.ralph("trust", "--show", RALPH_TRUST="")

    assert "removes the files of iterations except the newest" in asked.stdout + asked.stderr
