"""A project that a clone brought, with a record that no ralph wrote: every command that reads it ends, soon and clearly.

Each case spoils one thing; then a process of its own runs all reading commands over it, one after the other.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest

from tests.acceptance.conftest import DONE, Project, copy_of, make_once
from tests.plan_documents import story_json, tasks_json

from .conftest import git
from .ready_ralph import ReadyRalph

COMMANDS = (
    ["status"], ["status", "--json"], ["logs"], ["logs", "--json"], ["show"], ["show", "--receipt"],
    ["report", "-o", "-"], ["report", "--format", "json", "-o", "-"], ["stats"],
    ["task", "list"], ["task", "show", "T-1"], ["plan", "status"], ["plan", "check"], ["config", "show"],
    ["steer", "x"], ["resume", "-m", "1"], ["work", "T-9"], ["run", "-p", "x", "--dry-run"], ["runs", "prune", "--keep", "0", "--yes"],
)  # fmt: skip
FEW = tuple(
    one for one in COMMANDS if one[0] in ("status", "show", "logs", "stats", "task", "report", "resume")
)
AT_A_TIME = 4
DOCUMENTED = {0, 1, 2, 4, 130}
MOST_CPU = 10.0
"""Seconds of computing for one command: nobody waits for ever, however slow the machine is."""


def record(project: Project) -> None:
    """A run, a task and a plan, as ralph itself makes them."""
    git(project.root, "init", "-q")
    git(project.root, "commit", "-q", "--allow-empty", "-m", "first")
    project.settings(agent={"command": "claude"}, guardrails=[{"command": "false"}])
    project.agent([{"say": DONE}])
    project.ralph("run", "-p", f"say {DONE}", "-m", "1", check=1)
    tasks = project.root / "tasks.yaml"
    done = {"outcome": "it is there", "acceptance_criteria": ["it is there"]}
    tasks.write_text(
        json.dumps(
            [
                {"id": "T-1", "title": "one", "completion": done},
                {"id": "T-2", "title": "two", "dependencies": ["T-1"], "completion": done},
            ]
        )
    )
    project.ralph("task", "add", "-f", str(tasks), check=0)
    plan = project.root / "ralph"
    plan.mkdir()
    (plan / "prd.md").write_text("# A\n")
    story = story_json(verifyCommands=["true"])
    (plan / "tasks.json").write_text(json.dumps(tasks_json(story)))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_once(tmp_path_factory.mktemp("recorded"), record)


@pytest.fixture
def crafted(recorded: Path, tmp_path: Path) -> Project:
    return copy_of(recorded, tmp_path)


class ReadAll(Protocol):
    def __call__(
        self, project: Project, commands: tuple[list[str], ...] = COMMANDS
    ) -> dict[str, tuple[object, str]]: ...


@pytest.fixture
def read_all(ready_ralph: ReadyRalph) -> ReadAll:
    """What each command ended with. The process must come to an end."""

    def read(project: Project, commands: tuple[list[str], ...] = COMMANDS) -> dict[str, tuple[object, str]]:
        told: dict[str, tuple[object, str]] = {}
        for answer in ready_ralph.run(commands, cwd=project.root, environ=project.env()):
            command, code, err = answer.command, answer.code, answer.err.decode(errors="replace")[:2000]
            assert code in DOCUMENTED, (command, code, err)
            assert "internal error" not in err, (command, err)
            assert "Traceback" not in err, (command, err)
            assert answer.cpu_seconds < MOST_CPU, (command, answer.cpu_seconds)
            if code == 4:  # what, and what to do
                assert len(err.splitlines()) >= 2, (command, err)
            told[" ".join(command)] = (code, err)
        return told

    return read


def test_without_a_fault_every_command_reads_the_record(crafted: Project, read_all: ReadAll) -> None:
    """Otherwise the cases below would show no more than that a command line is wrong."""
    told = {command: (code, err) for command, (code, err) in read_all(crafted).items() if code != 0}
    assert {command: code for command, (code, _) in told.items()} == {
        "resume -m 1": 1,
        "steer x": 2,
        "work T-9": 2,
    }
    assert "maximum iterations reached" in told["resume -m 1"][1]
    assert "no run is under way" in told["steer x"][1]
    assert "T-1" in told["work T-9"][1]


def database(project: Project) -> Path:
    return project.root / ".ralph" / "ralph.db"


def spoil(project: Project, *statements: str, values: tuple[object, ...] = ()) -> None:
    """Even what the schema forbids: a crafted file need not keep to it."""
    connection = sqlite3.connect(database(project), isolation_level=None)
    for statement in statements:
        connection.execute(statement, values if "?" in statement else ())
    connection.close()


def loosen(project: Project, table: str) -> None:
    """Without STRICT, NOT NULL and CHECK anything can be put into a table."""
    connection = sqlite3.connect(database(project), isolation_level=None)
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    connection.execute("PRAGMA foreign_keys = OFF")
    for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {trigger}")
    connection.execute(f"CREATE TABLE loose AS SELECT * FROM {table}")
    connection.execute(f"DROP TABLE {table}")
    connection.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
    connection.execute(f"INSERT INTO {table} SELECT * FROM loose")
    connection.execute("DROP TABLE loose")
    connection.close()


# --- the file itself ---


def fifo(end: str) -> Callable[[Project], None]:
    def craft(project: Project) -> None:
        file = Path(f"{database(project)}{end}")
        file.unlink(missing_ok=True)
        os.mkfifo(file)

    return craft


def link_to(target: str, end: str = "") -> Callable[[Project], None]:
    def craft(project: Project) -> None:
        file = Path(f"{database(project)}{end}")
        file.unlink(missing_ok=True)
        file.symlink_to(target)

    return craft


def folder_instead(project: Project) -> None:
    database(project).unlink()
    database(project).mkdir()


def content(data: bytes) -> Callable[[Project], None]:
    return lambda project: (database(project).write_bytes(data), None)[1]


def broken_pages(project: Project) -> None:
    data = bytearray(database(project).read_bytes())
    for at in range(4096 + 100, len(data), 997):
        data[at] ^= 0xFF
    database(project).write_bytes(data)


FILES: dict[str, Callable[[Project], None]] = {
    "a pipe": fifo(""),
    "a pipe as log": fifo("-wal"),
    "a pipe as memory": fifo("-shm"),
    "a pipe as journal": fifo("-journal"),
    "a device": link_to("/dev/zero"),
    "a device as log": link_to("/dev/zero", "-wal"),
    "a link to nothing": link_to("nowhere"),
    "a circle": link_to("ralph.db"),
    "a folder": folder_instead,
    "nothing": content(b""),
    "text": content(b"not a database\n" * 100),
    "a head only": content(b"SQLite format 3\0"),
    "zeros": content(bytes(100_000)),
    "broken pages": broken_pages,
    "another program's": lambda project: spoil(project, "PRAGMA application_id = 7"),
    "from the future": lambda project: spoil(project, "PRAGMA user_version = 99"),
    "from the past": lambda project: spoil(project, "PRAGMA user_version = 1"),
    "of a negative version": lambda project: spoil(project, "PRAGMA user_version = -5"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_file_that_is_no_record(crafted: Project, read_all: ReadAll, case: str) -> None:
    FILES[case](crafted)
    read_all(crafted)


# --- the schema ---

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT"


def view_of(table: str) -> Callable[[Project], None]:
    def craft(project: Project) -> None:
        connection = sqlite3.connect(database(project))
        columns = ", ".join(f"i AS {row[1]}" for row in connection.execute(f"PRAGMA table_info({table})"))
        connection.close()
        spoil(project, f"DROP TABLE {table}", f"CREATE VIEW {table} AS {ENDLESS} {columns} FROM n")

    return craft


SCHEMAS: dict[str, Callable[[Project], None]] = {
    **{f"an endless view for {table}": view_of(table) for table in ("runs", "iterations", "events", "claims", "controls", "tasks")},
    "a computed column": lambda project: spoil(
        project,
        "ALTER TABLE runs RENAME COLUMN state TO old",
        "ALTER TABLE runs ADD COLUMN state TEXT AS (hex(zeroblob(9000000))) VIRTUAL",
    ),
    "a trigger that never ends": lambda project: spoil(
        project,
        f"CREATE TRIGGER evil AFTER INSERT ON controls BEGIN UPDATE controls SET at = ({ENDLESS} count(*) FROM n); END",
        f"CREATE TRIGGER evil2 AFTER UPDATE ON runs BEGIN UPDATE runs SET reason = ({ENDLESS} count(*) FROM n); END",
        f"CREATE TRIGGER evil3 AFTER INSERT ON claims BEGIN UPDATE claims SET since = ({ENDLESS} count(*) FROM n); END",
    ),
    "a table that is missing": lambda project: spoil(project, "DROP TABLE events"),
    "a column that is missing": lambda project: spoil(project, "ALTER TABLE runs RENAME COLUMN reason TO why"),
    "a schema that is no SQL": lambda project: spoil(
        project, "PRAGMA writable_schema = ON", "UPDATE sqlite_master SET sql = 'CREATE NONSENSE' WHERE name = 'runs'"
    ),
    "a view that is called a table": lambda project: spoil(
        project,
        "PRAGMA writable_schema = ON",
        f"UPDATE sqlite_master SET sql = 'CREATE VIEW events AS {ENDLESS} i AS seq FROM n' WHERE name = 'events'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SCHEMAS)
def test_a_schema_that_is_not_ours(crafted: Project, read_all: ReadAll, case: str) -> None:
    SCHEMAS[case](crafted)
    read_all(crafted)


# --- values ---

TABLES = (
    "runs",
    "iterations",
    "events",
    "claims",
    "controls",
    "tasks",
    "task_events",
    "verifications",
    "task_stages",
)
VALUES: dict[str, object] = {
    "nothing": None,
    "text": "../text\x1b[31m\u202e\x9b\0",
    "bytes": b"\xff\xfe\0",
    "the largest number": 2**63 - 1,
    "an enormous number": 1e308,
}


def add_rows(project: Project) -> None:
    """One in each table that a plain project leaves empty."""
    here = "pid, process_started, boot_id, host"
    spoil(
        project,
        f"INSERT INTO claims (workspace, mode, run_id, {here}, since, details) VALUES ('x', 'executing', 'r', 1, '', '', '', 1, '{{}}')",
        "INSERT INTO controls (run_id, at, request) SELECT id, 1, 'pause' FROM runs",
        "INSERT INTO verifications VALUES (1, 'T-1', 1, 'implementer', 1, 'command', 1, 1, '', 1, 'r')",
        "INSERT INTO task_stages VALUES (1, 'T-1', 1, 'implementer', 'command', 1, 1, 1, 1, 1, '', 'r')",
    )


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("table", TABLES)
def test_one_value_in_every_column(crafted: Project, read_all: ReadAll, table: str, value: str) -> None:
    """Column by column: an error about the first must not hide what the last would do."""
    add_rows(crafted)
    loosen(crafted, table)
    whole = database(crafted).read_bytes()
    connection = sqlite3.connect(database(crafted))
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    connection.close()
    script = []
    for number, column in enumerate(columns):
        database(crafted).write_bytes(whole)
        spoil(crafted, f"UPDATE {table} SET {column} = ?", values=(VALUES[value],))
        copy = crafted.root.parent / f"{table}-{column}"
        copy.mkdir()
        shutil.copytree(crafted.root / ".ralph", copy / ".ralph", symlinks=True)
        # In turn, or it would take minutes: each command meets each column with some value.
        first = number + [*VALUES].index(value) * 2
        chosen = [FEW[(first + more) % len(FEW)] for more in range(AT_A_TIME)]
        script += [[*command, "--project-dir", str(copy)] for command in chosen]
    read_all(crafted, tuple(script))


DEEP = "[" * 100_000 + "]" * 100_000
JSON_COLUMNS = (
    ("runs", "state"), ("runs", "options"), ("events", "data"), ("claims", "details"), ("tasks", "dependencies"),
    ("tasks", "metadata"), ("tasks", "completion_spec"), ("tasks", "progress"),
)  # fmt: skip
DOCUMENTS = {
    "deep": '{"spend":' + DEEP + ',"kind":' + DEEP + "}",
    "deep list": DEEP,
    "no JSON": "{",
    "another type": "7",
    "wrong types": json.dumps(
        {"spend": [], "iteration": "x", "kind": "check_ended", "result": 7, "concerns": {}, "failing": 3, "until": "soon",
         "usage": "x", "proof": [], "maximumIterations": {}, "events": 5, "fault": [], "method": 7, "stages": "x"}
    ),
    "wrong types within": json.dumps(
        {"spend": {"usage": {"a": "x"}, "cost_usd": "much"}, "iteration": 1e308, "kind": "iteration_ended", "prompt": 7,
         "result": {"name": {}, "verdict": [], "seconds": "x"}, "until": 1e308, "events": [7, {}, {"kind": "text"}]}
    ),
    "huge numbers": '{"iteration": 1e999, "spend": {"cost_usd": 1e999, "usage": {"input": ' + "9" * 4000 + '}}, "until": 1e999}',
}  # fmt: skip


@pytest.mark.parametrize("document", DOCUMENTS)
@pytest.mark.parametrize(("table", "column"), JSON_COLUMNS)
def test_json_that_no_ralph_wrote(
    crafted: Project, read_all: ReadAll, table: str, column: str, document: str
) -> None:
    add_rows(crafted)
    text: object = DOCUMENTS[document]
    if column == "data":
        text = DOCUMENTS[document].encode()
    spoil(crafted, "DROP TRIGGER task_waits_for_others", f"UPDATE {table} SET {column} = ?", values=(text,))
    read_all(crafted, FEW)


@pytest.mark.parametrize(
    "kind", ["iteration_started", "iteration_ended", "check_ended", "agent_ended", "run_started"]
)
@pytest.mark.parametrize("document", DOCUMENTS)
def test_events_of_a_known_kind_with_unknown_content(
    crafted: Project, read_all: ReadAll, kind: str, document: str
) -> None:
    spoil(crafted, "UPDATE events SET kind = ?", values=(kind,))
    spoil(crafted, "UPDATE events SET data = ?", values=(DOCUMENTS[document].encode(),))
    read_all(crafted, FEW)


@pytest.mark.parametrize(
    ("table", "column"), [("runs", "state"), ("events", "data"), ("tasks", "description")]
)
def test_a_value_of_64_megabytes_is_refused_at_once(
    crafted: Project, read_all: ReadAll, table: str, column: str
) -> None:
    made = "zeroblob(64000000)" if column == "data" else "CAST(zeroblob(64000000) AS TEXT)"
    row = "WHERE seq = (SELECT min(seq) FROM events)" if table == "events" else ""
    spoil(crafted, f"UPDATE {table} SET {column} = {made} {row}")
    told = read_all(crafted, (["status"], ["logs"], ["report", "-o", "-"], ["task", "list"]))
    assert any(code == 4 and "holds more than ralph would write" in err for code, err in told.values())


@pytest.mark.parametrize("name", ["../../outside", "..", ".", "/etc", "a/b", "", "\n", "x" * 5000])
def test_a_run_whose_name_is_a_path(crafted: Project, read_all: ReadAll, name: str) -> None:
    outside = crafted.root.parent / "outside"
    outside.mkdir()
    (outside / "receipt.json").write_text('"hidden words"')
    spoil(crafted, "PRAGMA foreign_keys = OFF", "UPDATE runs SET id = ?", "UPDATE events SET run_id = ?",
          "UPDATE iterations SET run_id = ?", values=(name,))  # fmt: skip
    read_all(crafted)
    ran = crafted.ralph("show", "last", "--receipt")
    assert "hidden words" not in ran.stdout
    assert (outside / "receipt.json").exists()


# --- files beside it ---

LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)
DOCUMENT_FILES = ("settings.json", "settings.local.json", "runs/{}/request.json", "runs/{}/receipt.json", "../ralph/tasks.json",
                  "../ralph/prd.md", "state/ralph-loop.json")  # fmt: skip


@pytest.mark.parametrize("file", DOCUMENT_FILES)
@pytest.mark.parametrize(
    "kind", ["deep", "pipe", "device", "circle", "folder", "bytes", "empty", "sparse", "wrong"]
)
def test_a_file_that_no_ralph_wrote(crafted: Project, read_all: ReadAll, file: str, kind: str) -> None:
    ((run,),) = crafted.rows("SELECT id FROM runs")
    path = crafted.root / ".ralph" / file.format(run)
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    match kind:
        case "deep":
            path.write_text('{"a":' * 100_000)
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "circle":
            path.symlink_to(path.name)
        case "folder":
            path.mkdir()
        case "bytes":
            path.write_bytes(b"\xff\xfe\0" * 100)
        case "empty":
            path.touch()
        case "sparse":
            with path.open("wb") as sparse:
                sparse.truncate(3_000_000_000)
        case _:
            path.write_text(
                '{"version": 2, "profile": [], "stories": {"a": 1}, "arguments": 7, "workspace": [], "flags": 3}'
            )
    read_all(crafted)


def test_task_files_that_multiply_themselves(crafted: Project, read_all: ReadAll) -> None:
    for name, text in {"laughs.yaml": LAUGHS, "deep.yaml": "[" * 20_000, "deep.json": "[" * 100_000}.items():
        (crafted.root / name).write_text(text)
    read_all(
        crafted,
        tuple(["task", "add", "-f", name] for name in ("laughs.yaml", "deep.yaml", "deep.json")),
    )
