"""A record packs into plain files and unpacks elsewhere as it was, whatever is in it; and never takes what ralph did not pack."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ralph.adapters.storage.database import open_database, open_state_database
from ralph.adapters.storage.portable import pack, read_manifest, unpack
from ralph.adapters.storage.portable_files import PIECE, PackedFiles, packed_place, spread, state_place
from ralph.adapters.storage.portable_rows import EVENTS, OWNERS, TABLES, TABLES_LEFT
from ralph.adapters.storage.request_marks import strange_requests
from ralph.adapters.storage.streams import compress
from ralph.domain.holder import NOBODY
from ralph.errors import StoreError

Rows = dict[str, list[tuple[Any, ...]]]

RUN = "20260101-000000-abcd"
ADD_RUN = """INSERT INTO runs (id, profile, agent, root, options, state, started_at, updated_at, pid, host, parent_id, state_seq)
    VALUES (?, ?, 'claude', '.', ?, '{"iteration": 3}', 1.5, 2.25, 7, 'there', ?, ?)"""
ADD_EVENT = "INSERT INTO events (run_id, iteration, at, kind, data) VALUES (?, ?, ?, 'agent_acted', ?)"
ADD_ITERATION = """INSERT INTO iterations (run_id, iteration, attempt, assignment, role, started_at)
    VALUES (?, ?, 1, 'prompt', '', 1.0)"""
ADD_TASK = "INSERT INTO tasks (id, title, status, dependencies) VALUES (?, ?, ?, ?)"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    folder = tmp_path / "here" / ".ralph"
    open_state_database(folder).close()
    return folder


def add_run(
    folder: Path, run_id: str = RUN, *, profile: str = "basic", options: object = None, parent: str = ""
) -> None:
    with closing(open_database(folder / "ralph.db")) as database:
        database.execute(ADD_RUN, (run_id, profile, json.dumps(options or {}), parent, 0))
    run = folder / "runs" / run_id
    run.mkdir(parents=True, exist_ok=True)
    (run / "request.json").write_text(
        json.dumps({"version": 2, "flags": [[["agent", "command"], "claude", "--agent"]], "mark": "theirs"})
    )
    (run / "elapsed").write_text("12.000\n")


def iterate(folder: Path, number: int, *, run_id: str = RUN, size: int = 100) -> None:
    """One more iteration, as the journal writes it."""
    run = folder / "runs" / run_id
    with closing(open_database(folder / "ralph.db")) as database:
        database.execute(ADD_ITERATION, (run_id, number))
        for _ in range(3):
            database.execute(ADD_EVENT, (run_id, number, number / 3, os.urandom(size).hex().encode()))
        database.execute(
            "UPDATE runs SET state = ?, state_seq = (SELECT max(seq) FROM events) WHERE id = ?",
            (json.dumps({"iteration": number}), run_id),
        )
    for name in ("agent_{:03}.ndjson", "prompt_{:03}.txt", "guardrail_{:03}_test.log"):
        (run / name.format(number)).write_text(f"{number}\n")
    (run / "elapsed").write_text(f"{number}.000\n")


def rows_of(folder: Path) -> Rows:
    """All that travels, without the owners of runs."""
    found: Rows = {}
    with closing(sqlite3.connect(folder / "ralph.db")) as database:
        for table in (*TABLES, EVENTS):
            columns = [
                name
                for (name,) in database.execute("SELECT name FROM pragma_table_info(?)", (table.name,))
                if name not in (*OWNERS, "waits_for")
            ]
            query = f"SELECT {', '.join(columns)} FROM {table.name} ORDER BY {table.order}"
            found[table.name] = database.execute(query).fetchall()
    return found


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


# --- what travels ---


def test_every_table_is_in_a_list(here: Path) -> None:
    """A new table: to TABLES if a resumed run needs it elsewhere, to TABLES_LEFT with the reason if not."""
    with closing(sqlite3.connect(here / "ralph.db")) as database:
        found = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert found == {table.name for table in (*TABLES, EVENTS)} | set(TABLES_LEFT)


def test_a_stream_that_is_compressed_while_its_run_is_packed_travels_in_one_form(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_run(here)
    iterate(here, 1)
    run, packed = here / "runs" / RUN, tmp_path / "packed"
    packed.mkdir()
    said = os.urandom(20_000).hex().encode()
    (run / "agent_001.ndjson").write_bytes(said)
    usual = PackedFiles.put_file

    def put(self: PackedFiles, way: tuple[str, ...], source: Path, top: Path) -> None:
        if source.name == "agent_001.ndjson":  # it was listed, and is about to be read
            compress(source, top, is_wanted=lambda: True)
            (run / "prompt_001.txt").unlink()
        usual(self, way, source, top)

    monkeypatch.setattr(PackedFiles, "put_file", put)
    pack(here, packed, redact=str)
    unpack(packed, tmp_path / "there" / ".ralph")

    there = tmp_path / "there" / ".ralph" / "runs" / RUN
    assert not (there / "agent_001.ndjson").exists()
    assert gzip.decompress((there / "agent_001.ndjson.gz").read_bytes()) == said


_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_names = st.text("abcXYZ019-", min_size=1, max_size=8)
_times = st.floats(-1e10, 1e10)


@st.composite
def records(draw: st.DrawFn) -> tuple[list[str], list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    runs = draw(st.lists(_names, min_size=1, max_size=4, unique=True))
    events = draw(
        st.lists(
            st.tuples(st.sampled_from(runs), st.integers(0, 2**40), _times, st.binary(max_size=50)),
            max_size=30,
        )
    )
    ids = draw(st.lists(_names, max_size=5, unique_by=str.lower))
    tasks = [
        (
            name,
            draw(_texts),
            draw(st.sampled_from(["open", "done"])),
            json.dumps(draw(st.lists(st.sampled_from(ids), unique=True))),
        )
        for name in ids
    ]
    return runs, events, tasks


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    record=records(), options=st.dictionaries(_texts, _texts, max_size=3), more=st.binary(max_size=150_000)
)
def test_what_is_unpacked_is_what_was_packed(
    record: tuple[list[str], list[tuple[Any, ...]], list[tuple[Any, ...]]],
    options: dict[str, str],
    more: bytes,
) -> None:
    runs, events, tasks = record
    with TemporaryDirectory() as name:
        folder, packed, there = (Path(name, one) for one in ("a/.ralph", "packed", "b/.ralph"))
        packed.mkdir()
        with closing(open_state_database(folder)) as database:
            for run in runs:
                database.execute(ADD_RUN, (run, "basic", json.dumps(options), "", len(events)))
            database.executemany(ADD_EVENT, events)
            database.executemany(ADD_TASK, tasks)
        kept = folder / "runs" / runs[0] / "untracked_before.json"
        kept.parent.mkdir(parents=True)
        kept.write_bytes(more)
        pack(folder, packed)
        assert set(unpack(packed, there)) == set(runs)
        assert rows_of(there) == rows_of(folder)
        # Triggers count what a task waits for as tasks are added, one after the other; here all of them are there at once.
        done = {task[0] for task in tasks if task[2] == "done"}
        waiting = {task[0]: len(set(json.loads(task[3])) - done) for task in tasks}
        with closing(sqlite3.connect(there / "ralph.db")) as database:
            assert dict(database.execute("SELECT id, waits_for FROM tasks")) == waiting
        assert (there / "runs" / runs[0] / "untracked_before.json").read_bytes() == more
        again = files_in(packed)
        pack(there, packed)
        assert files_in(packed) == again


def test_nobody_holds_an_unpacked_run_and_its_request_is_ralphs_own(here: Path, tmp_path: Path) -> None:
    add_run(here)
    assert list(strange_requests(here, os.environ))  # a stranger's mark
    packed, there = tmp_path / "packed", tmp_path / "there" / ".ralph"
    packed.mkdir()
    pack(here, packed)
    assert "theirs" not in "".join(map(repr, files_in(packed).values()))
    assert "'there'" not in repr(files_in(packed))
    unpack(packed, there)
    with closing(sqlite3.connect(there / "ralph.db")) as database:
        owner = database.execute("SELECT pid, process_started, boot_id, host FROM runs").fetchone()
    assert owner == (NOBODY.pid, NOBODY.process_started, NOBODY.boot_id, NOBODY.host)
    assert not list(strange_requests(there, os.environ))
    assert {path.stat().st_mode & 0o077 for path in there.rglob("*")} == {0}


def test_what_is_of_this_machine_stays(here: Path, tmp_path: Path) -> None:
    add_run(here)
    run = here / "runs" / RUN
    kept = ("proof/base.index", "proof/git/objects/ab/" + "c" * 38, "proof/git/info/exclude", "kept/T-1/note")
    left = (
        *(
            "proof/lock",
            "proof/7/node_modules/x",
            "proof/7/.git/config",
            "proof/git/config",
            "proof/git/hooks/post-checkout",
        ),
        *("proof/git/objects/info/alternates", "children/x.json", "merge.index", "proof/names"),
    )
    for name in (*kept, *left):
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).write_text(name)
    for name in (
        "worktrees/T-1/file",
        "forward/x",
        "settings.json",
        "plans/p.json",
        "tasks/t/DONE",
        "state/s.json",
    ):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text(name)
    (run / "link").symlink_to("/etc/passwd")
    (here / "tasks" / "outside").symlink_to("/etc")
    os.mkfifo(run / "pipe")
    packed, there = tmp_path / "packed", tmp_path / "there" / ".ralph"
    packed.mkdir()
    pack(here, packed)
    unpack(packed, there)
    found = {name.removeprefix(f"runs/{RUN}/") for name in files_in(there)}
    assert found - {"ralph.db", "seal", ".gitignore", "elapsed", "request.json"} == {
        *kept,
        *("plans/p.json", "tasks/t/DONE", "state/s.json"),
    }


def test_one_run_travels_with_its_parts_and_nothing_else(here: Path, tmp_path: Path) -> None:
    add_run(here, "work", profile="verified", options={"target": "T-1"})
    add_run(here, "part", profile="verified", options={"task": "T-2"}, parent="work")
    add_run(here, "other")
    for run in ("work", "part", "other"):
        iterate(here, 1, run_id=run)
    with closing(open_database(here / "ralph.db")) as database:
        database.executemany(
            ADD_TASK,
            [("T-0", "needed", "done", "[]"), ("T-1", "x", "open", "[]"), ("T-2", "y", "open", '["T-0"]')],
        )
        database.execute(
            "INSERT INTO task_events (task_id, at, kind) VALUES ('t-0', 1, 'created'), ('T-1', 1, 'created')"
        )
    for run, runs, tasks in (
        ("part", {"part"}, {"T-0", "T-2"}),
        ("work", {"work", "part"}, {"T-0", "T-1", "T-2"}),
        ("other", {"other"}, set()),
    ):
        packed, there = tmp_path / run, tmp_path / f"there-{run}" / ".ralph"
        packed.mkdir()
        pack(here, packed, run_id=run)
        assert set(unpack(packed, there)) == runs
        found = rows_of(there)
        assert {row[0] for row in found["runs"]} == runs
        assert {row[1] for row in found["events"]} == runs
        assert {row[1] for row in found["tasks"]} == tasks
        assert {row[1].upper() for row in found["task_events"]} == tasks & {"T-0", "T-1"}
        assert {path.name for path in (there / "runs").iterdir()} == runs


def test_secrets_that_resume_needs_are_taken_out_on_request(here: Path, tmp_path: Path) -> None:
    add_run(here)
    (here / "runs" / RUN / "prompt_001.txt").write_text("the word is hunter2")
    (here / "runs" / RUN / "request.json").write_text(
        json.dumps({"flags": [], "arguments": {"prompt": "hunter2"}})
    )
    (tmp_path / "packed").mkdir()
    pack(here, tmp_path / "packed", redact=lambda text: text.replace("hunter2", "***"))
    assert b"hunter2" not in b"".join(files_in(tmp_path / "packed").values())


# --- packing again ---


def changes(before: dict[str, bytes], after: dict[str, bytes]) -> tuple[set[str], set[str]]:
    """New files, and changed ones; gone ones count as changed."""
    same = {name for name in before if after.get(name) == before[name]}
    return set(after) - set(before), set(before) - same


def test_one_more_iteration_costs_as_much_as_the_one_before(here: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed"
    packed.mkdir()
    add_run(here)
    sizes = []
    for number in range(1, 131):
        iterate(here, number)
        if number in (1, 2, 3, 64, 65, 128, 129, 130):
            before = files_in(packed)
            pack(here, packed)
            new, changed = changes(before, files_in(packed))
            sizes.append(len(new))
            assert not any(name.startswith(("events/", "numbered/")) for name in changed)
            if number in (2, 3, 65, 129):
                assert len(new) <= 5  # a chunk of events and three files; at times one more of rows
                assert len(changed) <= 3  # the run, the newest ten iterations, the time
                assert sum(len(files_in(packed)[name]) for name in new | changed) < 5_000
    longest = max(len(list(folder.iterdir())) for folder in packed.rglob("*") if folder.is_dir())
    assert longest <= 100


def test_packing_after_unpacking_elsewhere_continues(here: Path, tmp_path: Path) -> None:
    packed, there = tmp_path / "packed", tmp_path / "there" / ".ralph"
    packed.mkdir()
    add_run(here)
    for number in (1, 2):
        iterate(here, number)
        pack(here, packed)
    unpack(packed, there)
    iterate(there, 3)
    before = files_in(packed)
    pack(there, packed)
    new, changed = changes(before, files_in(packed))
    assert len([name for name in new if name.startswith("events/")]) == 1
    assert not [name for name in changed if name.startswith("events/")]
    unpack(packed, tmp_path / "third" / ".ralph")
    assert rows_of(tmp_path / "third" / ".ralph") == rows_of(there)


def test_a_file_that_grows_changes_one_piece(here: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed"
    packed.mkdir()
    add_run(here)
    bus = here / "PROJECT-MESSAGE-BUS.md"
    bus.write_bytes(b"x" * (3 * PIECE + 5))
    pack(here, packed)
    before = files_in(packed)
    with bus.open("ab") as file:
        file.write(b"more")
    pack(here, packed)
    new, changed = changes(before, files_in(packed))
    assert (len(new), len(changed)) == (0, 1)
    unpack(packed, tmp_path / "there" / ".ralph")
    assert (tmp_path / "there" / ".ralph" / bus.name).read_bytes() == bus.read_bytes()


@pytest.mark.parametrize("harm", [b"", b"{}\n"])
def test_a_chunk_that_was_cut_short_is_made_again(here: Path, tmp_path: Path, harm: bytes) -> None:
    packed = tmp_path / "packed"
    packed.mkdir()
    add_run(here)
    iterate(here, 1)
    pack(here, packed)
    (chunk,) = (packed / "events").rglob("*.jsonl")
    chunk.write_bytes(harm)
    pack(here, packed)
    unpack(packed, tmp_path / "there" / ".ralph")
    assert rows_of(tmp_path / "there" / ".ralph") == rows_of(here)


@given(number=st.integers(0, 999_999))
def test_numbered_files_find_their_way_back(number: int) -> None:
    way = ("runs", "r", f"agent_{number:03}_attempt2.ndjson")
    assert state_place(packed_place(way)) == way
    assert len({packed_place(("runs", "r", f"agent_{other}.ndjson"))[:-1] for other in (number, number)}) == 1
    assert all(len(part) <= 3 for part in spread(number))


# --- into a record that is there ---


def test_a_second_run_joins_those_that_are_there(here: Path, tmp_path: Path) -> None:
    add_run(here)
    iterate(here, 1)
    packed, there = tmp_path / "packed", tmp_path / "there" / ".ralph"
    packed.mkdir()
    pack(here, packed, run_id=RUN)
    open_state_database(there).close()
    add_run(there, "before")
    iterate(there, 1, run_id="before")
    iterate(there, 2, run_id="before")
    was = rows_of(there)
    unpack(packed, there)
    now = rows_of(there)
    assert set(was["events"]) < set(now["events"])
    mine = [row for row in now["events"] if row[1] == RUN]
    assert [row[1:] for row in mine] == [row[1:] for row in rows_of(here)["events"]]
    with closing(sqlite3.connect(there / "ralph.db")) as database:
        (seq,) = database.execute("SELECT state_seq FROM runs WHERE id = ?", (RUN,)).fetchone()
    assert seq == mine[-1][0]
    unpack(packed, there)  # again
    assert rows_of(there) == now


def test_a_run_that_has_gone_on_is_not_replaced(here: Path, tmp_path: Path) -> None:
    add_run(here)
    packed, there = tmp_path / "packed", tmp_path / "there" / ".ralph"
    packed.mkdir()
    pack(here, packed)
    unpack(packed, there)
    iterate(there, 1)
    with pytest.raises(StoreError, match="on record here already"):
        unpack(packed, there)


def test_another_task_of_the_same_name_is_not_replaced(here: Path, tmp_path: Path) -> None:
    add_run(here, profile="verified", options={"task": "T-1"})
    packed, there = tmp_path / "packed", tmp_path / "there" / ".ralph"
    packed.mkdir()
    for folder, title in ((here, "ours"), (there, "theirs")):
        with closing(open_state_database(folder)) as database:
            database.execute(ADD_TASK, ("T-1", title, "open", "[]"))
    pack(here, packed)
    with pytest.raises(StoreError, match="task T-1 is on record here already"):
        unpack(packed, there)
    assert not rows_of(there)["runs"]


def test_whoever_is_killed_while_unpacking_has_changed_nothing(here: Path, tmp_path: Path) -> None:
    add_run(here)
    for number in range(1, 60):
        iterate(here, number)
    packed, there = tmp_path / "packed", tmp_path / "there" / ".ralph"
    packed.mkdir()
    pack(here, packed)
    program = "import sys; from pathlib import Path; from ralph.adapters.storage.portable import unpack; unpack(*map(Path, sys.argv[1:]))"
    for moment in range(12):
        shutil.rmtree(there, ignore_errors=True)
        process = subprocess.Popen([sys.executable, "-c", program, packed, there])
        wait_for_files(there, 10 * moment, process)
        process.kill()
        process.wait()
        if (there / "ralph.db").exists():
            with closing(open_database(there / "ralph.db")) as database:
                assert database.execute("SELECT count(*) FROM events").fetchone()[0] in (0, 59 * 3)
        assert unpack(packed, there) == (RUN,)
        assert rows_of(there) == rows_of(here)


def wait_for_files(folder: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None and sum(1 for _ in folder.rglob("*")) < count:
        pass


# --- what ralph did not pack ---


def _write(name: str, content: bytes) -> Callable[[Path], object]:
    def change(packed: Path) -> None:
        (packed / name).parent.mkdir(parents=True, exist_ok=True)
        (packed / name).write_bytes(content)

    return change


def _link(name: str, target: str) -> Callable[[Path], object]:
    def change(packed: Path) -> None:
        (packed / name).parent.mkdir(parents=True, exist_ok=True)
        (packed / name).symlink_to(target)

    return change


def _edit(pattern: str, old: bytes, new: bytes) -> Callable[[Path], object]:
    def change(packed: Path) -> None:
        (file,) = packed.glob(pattern)
        assert old in file.read_bytes()
        file.write_bytes(file.read_bytes().replace(old, new))

    return change


def _manifest(**values: object) -> Callable[[Path], object]:
    def change(packed: Path) -> None:
        file = packed / "manifest.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), **values}))

    return change


HOSTILE = {
    "newer format": (_manifest(format=99, ralph="9.9"), r"written by a newer ralph \(9.9\)"),
    "newer schema": (_manifest(schema=99), "newer ralph"),
    "no manifest": (lambda packed: (packed / "manifest.json").unlink(), "manifest is missing"),
    "no json": (_write("manifest.json", b"{"), "manifest is missing or damaged"),
    "other runs": (_manifest(runs=["x"]), "not those that its manifest names"),
    "unknown table": (_write("tables/secrets.jsonl", b"{}\n"), "table 'secrets'"),
    "a table of this machine": (_write("tables/claims.jsonl", b"{}\n"), "table 'claims'"),
    "unknown column": (_edit("tables/runs.jsonl", b'"agent"', b'"evil"'), "column 'evil'"),
    "an owner": (_edit("tables/runs.jsonl", b'"agent"', b'"host"'), "column 'host'"),
    "not an object": (_write("tables/tickets.jsonl", b"[1]\n"), "line 1 cannot be read"),
    "deep": (_write("tables/tickets.jsonl", b'{"known":' + b"[" * 90_000 + b"\n"), "line 1 cannot be read"),
    "cut off": (_edit("tables/runs.jsonl", b"}\n", b"}"), "cut short"),
    "wrong type": (_edit("tables/runs.jsonl", b'"started_at":1.5', b'"started_at":"x"'), "started_at"),
    "missing value": (_edit("tables/runs.jsonl", b'"started_at":1.5', b'"started_at":null'), "damaged"),
    "no id": (_edit("tables/runs.jsonl", b'"id":', b'"agent":'), "damaged"),
    "leads outside": (_edit("tables/runs.jsonl", f'"id":"{RUN}"'.encode(), b'"id":"../../x"'), "damaged"),
    "no such run": (_write("files/runs/other/elapsed", b"1"), "files of a run 'other'"),
    "settings": (_write("files/settings.json", b"{}"), "no ralph would keep"),
    "the database": (_write("files/ralph.db", b"x"), "no ralph would keep"),
    "git's settings": (_write(f"files/runs/{RUN}/proof/git/config", b"[core]"), "no ralph would keep"),
    "wrong folder": (_write(f"numbered/{RUN}/000/00/7/agent_001.ndjson", b""), "no ralph would keep"),
    "a link": (_link(f"files/runs/{RUN}/receipt.json", "/etc/passwd"), "not a plain file"),
    "a linked folder": (_link("files/tasks", "/etc"), "not a plain file"),
    "a missing piece": (_write("pieces/files/PROJECT-MESSAGE-BUS.md/000/00/0/0000001", b"x"), "incomplete"),
    "a missing chunk": (_write("events/000/00/0/00000007_9-9-1.jsonl", b"{}\n"), "incomplete"),
    "an event without a run": (_edit("events/*/*/*/*.jsonl", b'"run_id"', b'"kind"'), "run_id"),
    "base64": (_edit("events/*/*/*/*.jsonl", b'"data":"', b'"data":{"base64":"%"},"kind":"'), "damaged"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_what_ralph_did_not_pack_is_refused_whole(here: Path, tmp_path: Path, name: str) -> None:
    change, words = HOSTILE[name]
    add_run(here)
    iterate(here, 1)
    packed, there = tmp_path / "packed", tmp_path / "there" / ".ralph"
    packed.mkdir()
    pack(here, packed)
    change(packed)
    with pytest.raises(StoreError, match=words):
        unpack(packed, there)
    if (there / "ralph.db").exists():
        assert not rows_of(there)["runs"]
    assert not (tmp_path / "x").exists()


def test_a_folder_without_a_record_cannot_be_packed(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no record"):
        pack(tmp_path, tmp_path / "packed")
    with pytest.raises(StoreError, match="no record that ralph has packed"):
        read_manifest(tmp_path)


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    """Nothing here may wait."""
    import signal

    signal.alarm(200)
    yield
    signal.alarm(0)
