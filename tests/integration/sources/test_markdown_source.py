"""Files of the project as a source of work: found, read again each time, and ticked without losing anybody's words."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import time
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import pytest

from ralph.adapters.sources.markdown import MarkdownSource, open_markdown
from ralph.adapters.sources.markdown_files import MOST_FILES
from ralph.domain.tasks.entry import id_problem
from ralph.domain.tickets.batch import batch
from ralph.domain.tickets.checklist import find_boxes as find_in_text
from ralph.domain.tickets.ticket import Move, Ticket
from ralph.engine.tickets.ports import Source, Wanted
from ralph.errors import ServiceAway, UsageError

SPECS = Path(__file__).parents[2] / "data" / "specs"
T = TypeVar("T")


def run(work: Coroutine[object, object, T]) -> T:
    return asyncio.run(work)


async def _listed(source: MarkdownSource, wanted: Wanted) -> list[Ticket]:
    return [one async for one in source.tickets(wanted)]


def tickets(
    source: MarkdownSource, *, limit: int | None = None, labels: tuple[str, ...] = ()
) -> dict[str, Ticket]:
    return {one.key: one for one in run(_listed(source, Wanted(labels=labels, limit=limit)))}


def finish(source: MarkdownSource, key: str, to: Move = Move.FINISH) -> None:
    run(source.move(key, to, holder="desk-1"))


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    shutil.copytree(SPECS / "speckit", root)
    shutil.copytree(SPECS / "openspec", root, dirs_exist_ok=True)
    return root


# --- a file ---


def test_a_file_of_spec_kit(project: Path) -> None:
    source: Source = open_markdown(project / "specs/001-photo-albums/tasks.md", project)
    assert isinstance(source, MarkdownSource)

    found = tickets(source)

    assert source.name == "specs/001-photo-albums/tasks.md"
    assert not source.is_shared
    assert list(found) == [f"T{number:03}" for number in range(2, 21)]
    album = found["T013"]
    assert (album.shown, album.task_id, album.title) == (
        "T013",
        "001-photo-albums-T013",
        "Implement GET /albums in src/web/albums.py",
    )
    assert album.blockers == ("T012",)
    assert album.has_own_check
    assert len(album.criteria) == 2
    assert album.spec == "001-photo-albums"
    assert album.file == source.name
    assert album.priority == 3
    assert album.group.startswith("Phase 3")
    assert "Independent Test: Upload three photos" in album.text
    assert album.context == tuple(
        f"specs/001-photo-albums/{name}"
        for name in (
            "spec.md",
            "plan.md",
            "research.md",
            "data-model.md",
            "quickstart.md",
            "contracts/albums.md",
        )
    )
    assert all(id_problem(one.task_id) is None and one.is_open for one in found.values())


def test_the_same_file_has_one_name_however_it_is_spelled(project: Path) -> None:
    (project / "now.md").symlink_to("specs/001-photo-albums/tasks.md")
    spellings = [
        project / "specs/001-photo-albums/tasks.md",
        project / "specs/../specs/001-photo-albums/./tasks.md",
        project / "now.md",
        project / "specs/001-photo-albums",
    ]

    assert {open_markdown(path, project).name for path in spellings} == {"specs/001-photo-albums/tasks.md"}


def test_a_plain_list_is_called_after_its_file(tmp_path: Path) -> None:
    write(tmp_path / "TODO.md", "- [ ] Fix the login\n- [x] Done\n")
    source = open_markdown(tmp_path / "TODO.md", tmp_path)

    assert [(one.key, one.task_id, one.spec, one.context) for one in tickets(source).values()] == [
        ("fix-the-login", "TODO-fix-the-login", "TODO", ())
    ]


def test_only_as_many_as_wanted_and_labels_do_not_matter(project: Path) -> None:
    source = open_markdown(project / "specs/001-photo-albums/tasks.md", project)

    assert list(tickets(source, limit=2, labels=("ralph",))) == ["T002", "T003"]


def test_one_ticket_is_read_as_it_is_now(project: Path) -> None:
    file = project / "specs/001-photo-albums/tasks.md"
    source = open_markdown(file, project)
    assert run(source.read("T002")) == tickets(source)["T002"]

    write(file, "- [x] T002 Something else\n")

    changed = run(source.read("T002"))
    assert changed is not None
    assert (changed.title, changed.is_open) == ("Something else", False)
    assert run(source.read("T003")) is None
    assert tickets(source) == {}


# --- a folder ---


def test_a_folder_gives_every_plan_below_it(project: Path) -> None:
    source = open_markdown(project, project)

    found = tickets(source)

    assert source.name == "."
    assert {key.rpartition(":")[0] for key in found} == {
        "specs/001-photo-albums/tasks.md",
        "openspec/changes/add-export/tasks.md",
    }
    export = found["openspec/changes/add-export/tasks.md:2.1"]
    assert (export.shown, export.task_id) == ("add-export 2.1", "add-export-2.1")
    assert export.blockers == ("openspec/changes/add-export/tasks.md:1.2",)
    assert export.context == tuple(
        f"openspec/changes/add-export/{name}" for name in ("proposal.md", "design.md", "specs/export/spec.md")
    )
    assert run(source.read(export.key)) == export


def test_archived_changes_hidden_folders_and_ticked_lists_are_passed_over(project: Path) -> None:
    write(project / ".git/specs/x/tasks.md", "- [ ] hidden\n")
    write(project / "node_modules/specs/x/tasks.md", "- [ ] installed\n")
    write(
        project / "specs/002-done/tasks.md",
        "- [x] T001 a\n- [x] T001 twice, which nobody needs to correct now\n",
    )
    write(project / "notes/tasks.md", "- [ ] of no plan\n")
    source = open_markdown(project, project)

    assert {one.file for one in tickets(source).values()} == {
        "specs/001-photo-albums/tasks.md",
        "openspec/changes/add-export/tasks.md",
    }


def test_a_folder_without_plans_gives_its_own_lists(tmp_path: Path) -> None:
    write(tmp_path / "todo/a.md", "- [ ] One\n")
    write(tmp_path / "todo/b.markdown", "- [ ] One\n")
    write(tmp_path / "todo/README.md", "Words only.\n")
    write(tmp_path / "todo/c.txt", "- [ ] Not Markdown\n")
    write(tmp_path / "todo/deep/d.md", "- [ ] Deeper\n")

    found = tickets(open_markdown(tmp_path / "todo", tmp_path))

    assert {key: one.task_id for key, one in found.items()} == {
        "a.md:one": "a-one",
        "b.markdown:one": "b-one",
    }


def test_folders_of_the_same_name_have_tasks_of_different_names(tmp_path: Path) -> None:
    for place in ("web", "app"):
        write(tmp_path / place / "specs/001-login/tasks.md", "- [ ] T001 a\n")

    found = tickets(open_markdown(tmp_path, tmp_path))

    assert len({one.task_id.lower() for one in found.values()}) == len(found) == 2


def test_a_folder_with_too_many_lists_is_refused(tmp_path: Path) -> None:
    for number in range(MOST_FILES + 1):
        write(tmp_path / f"specs/{number:03}/tasks.md", "- [ ] T001 a\n")

    with pytest.raises(UsageError, match="201 lists of tasks") as caught:
        tickets(open_markdown(tmp_path, tmp_path))
    assert caught.value.hint == "name one of them, or a folder with fewer"


def test_a_list_that_is_gone_or_a_strange_key_is_no_ticket(project: Path) -> None:
    source = open_markdown(project, project)
    shutil.rmtree(project / "specs")

    for key in (
        "specs/001-photo-albums/tasks.md:T002",
        "T002",
        "/etc/passwd:T002",
        "../x.md:T002",
        ":",
        "+",
        "",
    ):
        assert run(source.read(key)) is None
    with pytest.raises(UsageError, match=r"not there any more: T002 in specs/001-photo-albums/tasks\.md"):
        finish(source, "specs/001-photo-albums/tasks.md:T002")


# --- what cannot be used ---


def test_what_is_outside_of_the_project_is_refused(tmp_path: Path) -> None:
    outside = write(tmp_path / "other/tasks.md", "- [ ] a\n")
    root = tmp_path / "project"
    root.mkdir()
    (root / "link.md").symlink_to(outside)

    for path in (outside, root / "../other/tasks.md", root / "link.md"):
        with pytest.raises(UsageError, match="is not in the project") as caught:
            open_markdown(path, root)
        assert "copy it there" in caught.value.hint


def test_what_is_missing_or_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")

    with pytest.raises(UsageError, match=r"nothing\.md does not exist"):
        open_markdown(tmp_path / "nothing.md", tmp_path)
    with pytest.raises(UsageError, match="neither a file nor a folder"):
        open_markdown(tmp_path / "pipe.md", tmp_path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"- [ ] T001 a\n- [ ] T001 b\n", "TODO.md: line 2: T001 appears twice: in line 1 and in line 2"),
        (b"Words.\n", "TODO.md: there is no checkbox in it"),
        (b"- [ ] a\n\xff\n", "TODO.md: line 2: it is not UTF-8"),
        (b"- [ ] a\n" + b"x" * 2_000_000, "TODO.md: it is too large"),
    ],
)
def test_a_list_with_problems_is_refused_with_its_lines(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "TODO.md").write_bytes(content)
    source = open_markdown(tmp_path / "TODO.md", tmp_path)

    with pytest.raises(UsageError) as caught:
        tickets(source)
    assert caught.value.message.startswith(said)
    assert caught.value.hint == "correct the file and try again"


def test_a_file_that_disappears_does_not_mean_that_its_tickets_are_closed(tmp_path: Path) -> None:
    """Someone may have changed to another branch."""
    file = write(tmp_path / "TODO.md", "- [ ] T001 a\n")
    source = open_markdown(file, tmp_path)
    file.unlink()

    with pytest.raises(UsageError, match=r"TODO\.md cannot be used"):
        run(source.read("T001"))
    with pytest.raises(UsageError, match=r"TODO\.md cannot be used"):
        finish(source, "T001")


def test_a_link_that_appears_later_is_not_followed(tmp_path: Path) -> None:
    secret = write(tmp_path / "secret.md", "- [ ] T001 a\n")
    file = write(tmp_path / "project/TODO.md", "- [ ] T001 a\n")
    source = open_markdown(file, tmp_path / "project")
    file.unlink()
    file.symlink_to(secret)

    with pytest.raises(UsageError, match="is a link"):
        tickets(source)
    with pytest.raises(UsageError, match="is a link"):
        finish(source, "T001")
    assert secret.read_text() == "- [ ] T001 a\n"


@pytest.mark.parametrize(
    "name", ["a\x1b[31mb", "a\nb", "a\u202eb", "a\u200bb", "a\x7f", os.fsdecode(b"a\xff")]
)
def test_a_name_that_cannot_be_shown_as_it_is_is_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "specs" / name
    write(folder / "tasks.md", "- [ ] T001 a\n")
    write(tmp_path / f"{name}.md", "- [ ] T001 a\n")

    for path in (folder, folder / "tasks.md", tmp_path / f"{name}.md"):
        with pytest.raises(UsageError, match="cannot be shown") as caught:
            open_markdown(path, tmp_path)
        assert caught.value.message.isprintable()
        assert "rename it" in caught.value.hint
    with pytest.raises(UsageError, match="cannot be shown"):
        tickets(open_markdown(tmp_path, tmp_path))
    assert run(open_markdown(tmp_path, tmp_path).read(f"specs/{name}/tasks.md:T001")) is None


def test_what_stands_beside_a_list_under_such_a_name_is_not_told(project: Path) -> None:
    write(project / "specs/001-photo-albums/contracts/a\x1b[2J.md", "x")
    source = open_markdown(project / "specs/001-photo-albums", project)

    found = tickets(source)["T013"]

    assert found.context[-1] == "specs/001-photo-albums/contracts/albums.md"
    assert all(name.isprintable() for name in found.context)


def test_names_with_spaces_and_letters_of_any_language_are_kept(tmp_path: Path) -> None:
    file = write(tmp_path / "specs/Größe  von 写真/tasks.md", "- [ ] T001 a\n")

    (ticket,) = tickets(open_markdown(tmp_path, tmp_path)).values()

    assert (tmp_path / ticket.file).samefile(file)
    assert ticket.shown == "Größe  von 写真 T001"


# --- large lists ---


@pytest.mark.timeout(60)
def test_each_of_a_thousand_tickets_is_read_without_reading_all_again(tmp_path: Path) -> None:
    """Working the file out again for each of them took 40 seconds."""
    lines = (f"- [ ] T{number:04} Do it\n  - it works {number}\n" for number in range(1_000))
    source = open_markdown(write(tmp_path / "TODO.md", "".join(lines)), tmp_path)

    async def look() -> int:
        return sum([await source.read(f"T{number:04}") is not None for number in range(1_000)])

    begun = time.process_time()
    assert run(look()) == 1_000
    assert time.process_time() - begun < 10


def test_a_file_that_was_written_with_the_same_size_and_time_is_read_again(tmp_path: Path) -> None:
    file = write(tmp_path / "TODO.md", "- [ ] T001 first\n")
    source = open_markdown(file, tmp_path)
    before, at = run(source.read("T001")), file.stat()
    write(file, "- [ ] T001 other\n")
    os.utime(file, ns=(at.st_atime_ns, at.st_mtime_ns))
    after = run(source.read("T001"))

    assert [one.title for one in (before, after) if one] == ["first", "other"]


def test_everything_else_goes_on_while_a_large_file_is_read(tmp_path: Path) -> None:
    lines = (f"- [ ] T{number:04} Do it\n  {'and `that` ' * 60}\n" for number in range(1_500))
    source = open_markdown(write(tmp_path / "TODO.md", "".join(lines)), tmp_path)

    async def count() -> int:
        turns = 0
        reading = asyncio.ensure_future(source.read("T0001"))
        while not reading.done():
            turns += 1
            await asyncio.sleep(0)
        return turns

    assert run(count()) > 10


# --- ticking ---


@pytest.mark.parametrize("to", [Move.FINISH, Move.CLOSE])
def test_a_finished_task_is_ticked_and_nothing_else_changes(project: Path, to: Move) -> None:
    file = project / "specs/001-photo-albums/tasks.md"
    file.chmod(0o664)
    before = file.read_bytes()
    source = open_markdown(file, project)

    finish(source, "T005", to)
    finish(source, "T005", to)

    assert file.read_bytes() == before.replace(b"- [ ] T005", b"- [x] T005")
    assert file.stat().st_mode & 0o777 == 0o664
    assert sorted(path.name for path in file.parent.iterdir() if path.name.startswith(".")) == []
    assert "T005" not in tickets(source)


def test_claims_and_comments_leave_the_file_alone(project: Path) -> None:
    file = project / "specs/001-photo-albums/tasks.md"
    before = file.read_bytes(), file.stat().st_mtime_ns, file.stat().st_ino
    source = open_markdown(file, project)

    finish(source, "T005", Move.TAKE)
    finish(source, "T005", Move.FREE)
    run(source.say("T005", "It is done."))

    assert (file.read_bytes(), file.stat().st_mtime_ns, file.stat().st_ino) == before


def test_a_link_to_a_list_stays_a_link(tmp_path: Path) -> None:
    file = write(tmp_path / "lists/now.md", "- [ ] T001 a\r\n- [ ] T002 b")
    (tmp_path / "TODO.md").symlink_to(file)

    finish(open_markdown(tmp_path / "TODO.md", tmp_path), "T001")

    assert (tmp_path / "TODO.md").is_symlink()
    assert file.read_bytes() == b"- [x] T001 a\r\n- [ ] T002 b"


def test_what_was_edited_meanwhile_is_kept(tmp_path: Path) -> None:
    file = write(tmp_path / "TODO.md", "- [ ] T001 a\n- [ ] T002 b\n")
    source = open_markdown(file, tmp_path)
    tickets(source)
    write(file, "# New\n\n- [ ] T003 c\n- [ ] T002 better words\n- [x] T001 a\n")

    finish(source, "T002")

    assert file.read_text() == "# New\n\n- [ ] T003 c\n- [x] T002 better words\n- [x] T001 a\n"


def test_a_box_that_is_gone_is_said_and_the_others_of_its_batch_are_ticked(tmp_path: Path) -> None:
    file = write(tmp_path / "TODO.md", "- [ ] T001 a\n- [ ] T002 b\n")
    source = open_markdown(file, tmp_path)
    write(file, "- [ ] T002 b\n")

    with pytest.raises(UsageError, match=r"not there any more: T001 in TODO\.md"):
        finish(source, "T001+T002")
    assert file.read_text() == "- [x] T002 b\n"


def test_a_batch_is_read_and_ticked_as_one(project: Path) -> None:
    source = open_markdown(project, project)
    made = {one.key: one for one in batch(list(tickets(source).values()))}
    setup = "specs/001-photo-albums/tasks.md:T002+T003"

    assert setup in made
    again = run(source.read(setup))
    assert again is not None
    assert (again.task_id, again.criteria, again.text) == (
        made[setup].task_id,
        made[setup].criteria,
        made[setup].text,
    )
    finish(source, setup)

    text = (project / "specs/001-photo-albums/tasks.md").read_text()
    assert "- [x] T002" in text
    assert "- [x] T003" in text
    closed = run(source.read(setup))
    assert closed is not None
    assert not closed.is_open


def test_batches_of_a_real_plan_wait_for_each_other_in_order(project: Path) -> None:
    made = batch(list(tickets(open_markdown(project / "specs/001-photo-albums/tasks.md", project)).values()))

    assert [(one.key, one.blockers) for one in made] == [
        ("T002+T003", ()),
        ("T004+T005+T006+T007", ("T002+T003",)),
        ("T008+T009+T010+T011+T012", ("T004+T005+T006+T007",)),
        ("T013", ("T008+T009+T010+T011+T012",)),
        ("T014", ("T013",)),
        ("T015+T016+T017", ("T014",)),
        ("T018+T019+T020", ("T015+T016+T017",)),
    ]
    assert made[5].criteria[-2:] == (
        "Independent Test: Drag a photo to another album, reload, and find it there",
        "Checkpoint: Both stories work",
    )


TICKER = """
import asyncio, sys
from pathlib import Path
from ralph.adapters.sources.markdown import open_markdown
from ralph.domain.tickets.ticket import Move

root, first, last = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
source = open_markdown(root / "TODO.md", root)
for number in range(first, last):
    asyncio.run(source.move(f"T{number:03}", Move.FINISH, holder="x"))
"""


def test_processes_that_tick_at_the_same_time_all_win(tmp_path: Path) -> None:
    file = write(tmp_path / "TODO.md", "".join(f"- [ ] T{number:03} a\n" for number in range(60)))

    async def race() -> list[int]:
        running = [
            await asyncio.create_subprocess_exec(
                sys.executable, "-c", TICKER, str(tmp_path), str(first), str(first + 20),
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            )
            for first in (0, 20, 40)
        ]  # fmt: skip
        for one in running:
            assert one.stdout
            assert await one.stdout.readline() == b"ready\n"
        for one in running:
            assert one.stdin
            one.stdin.write(b"go\n")
            await one.stdin.drain()
        return [(await one.communicate(), one.returncode or 0)[1] for one in running]

    assert run(race()) == [0, 0, 0]
    assert file.read_text() == "".join(f"- [x] T{number:03} a\n" for number in range(60))


def test_many_ticks_in_one_process_all_win(tmp_path: Path) -> None:
    file = write(tmp_path / "TODO.md", "".join(f"- [ ] T{number:03} a\n" for number in range(30)))
    source = open_markdown(file, tmp_path)

    async def race() -> None:
        await asyncio.gather(*(source.move(f"T{number:03}", Move.FINISH, holder="x") for number in range(30)))

    run(race())
    assert file.read_text().count("[x]") == 30


# --- whoever else writes the file ---


def test_a_box_is_a_byte_of_the_very_file(tmp_path: Path) -> None:
    """A new file under its name would be another one for links, owners and whoever has it open."""
    file = write(tmp_path / f"{'n' * 250}.md", "- [ ] T001 é\n  - [ ] box\n- [ ] T002 b\n")
    (tmp_path / "other").hardlink_to(file)
    if os.geteuid() == 0:
        os.chown(file, 1234, 1234)
    before = file.stat()

    finish(open_markdown(file, tmp_path), "T001")

    after = file.stat()
    assert (tmp_path / "other").read_text() == "- [x] T001 é\n  - [x] box\n- [ ] T002 b\n"
    assert (after.st_ino, after.st_uid, after.st_gid, after.st_mode) == (
        before.st_ino,
        before.st_uid,
        before.st_gid,
        before.st_mode,
    )
    assert {path.name for path in tmp_path.iterdir()} == {file.name, "other"}


def test_a_file_that_is_read_only_stays_as_it_is(tmp_path: Path) -> None:
    file = write(tmp_path / "TODO.md", "- [ ] T001 a\n- [x] T002 b\n")
    file.chmod(0o444)
    source = open_markdown(file, tmp_path)

    with pytest.raises(UsageError, match=r"TODO\.md cannot be ticked: ") as caught:
        finish(source, "T001")

    assert "make the file writable" in caught.value.hint
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("- [ ] T001 a\n- [x] T002 b\n", 0o444)
    assert run(source.read("T001")) is not None


WRITER = """
import os, sys, time

path, stop, how = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
count = 0
while count < 1_000 and not os.path.exists(stop):
    line = f"- [ ] new {count}\\n".encode()
    if how == "append":
        end = os.open(path, os.O_WRONLY | os.O_APPEND)
        os.write(end, line)
        os.close(end)
    else:
        with open(path, "rb") as file:
            whole = file.read()
        with open(path + "~", "wb") as file:
            file.write(whole + line)
        os.replace(path + "~", path)
    count += 1
    time.sleep(0.001 if how == "append" else 0.01)  # no person is faster, and the file stays short
print(count)
"""


@pytest.mark.parametrize("how", ["append", "replace"])
def test_what_others_write_while_boxes_are_ticked_is_all_there(tmp_path: Path, how: str) -> None:
    keys = [f"T{number:03}" for number in range(60)]
    file = write(tmp_path / "lists/TODO.md", "".join(f"- [ ] {key} a\n" for key in keys))
    source = open_markdown(file, tmp_path)

    async def race() -> int:
        writer = await asyncio.create_subprocess_exec(
            sys.executable, "-c", WRITER, str(file), str(tmp_path / "stop"), how,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert writer.stdout
        assert writer.stdin
        assert await writer.stdout.readline() == b"ready\n"
        writer.stdin.write(b"go\n")
        await writer.stdin.drain()
        # Whoever saves the whole file all the time is waited for, and the tick is tried again later.
        patience = suppress(*([ServiceAway] if how == "replace" else []))
        for key in keys:
            with patience:
                await source.move(key, Move.FINISH, holder="x")
        write(tmp_path / "stop", "")
        out, _ = await asyncio.wait_for(writer.communicate(), 60)
        return int(out)

    count = run(race())
    if how == "replace":  # the writer may have put back what it had read before
        run(source.move("+".join(keys), Move.FINISH, holder="x"))
    assert count, "nobody wrote meanwhile"
    new = "".join(f"- [ ] new {number}\n" for number in range(count))
    assert file.read_text() == "".join(f"- [x] {key} a\n" for key in keys) + new


@pytest.mark.parametrize("is_replaced", [True, False])
def test_a_file_that_is_saved_while_the_box_is_looked_for_is_ticked_as_it_is_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_replaced: bool
) -> None:
    from ralph.adapters.sources import markdown

    find = find_in_text
    file = write(tmp_path / "TODO.md", "- [ ] T001 a\n")
    saved = "# Words that are longer than before\n\n- [ ] T001 better\n"
    looked: list[str] = []

    def find_boxes(text: str, lines: Mapping[str, int]) -> tuple[tuple[int, ...], tuple[str, ...]]:
        looked.append(text)
        if len(looked) == 1:  # somebody saves it just now
            place = write(tmp_path / "new.md", saved).rename(file) if is_replaced else write(file, saved)
            assert place == file
        return find(text, lines)

    monkeypatch.setattr(markdown, "find_boxes", find_boxes)
    finish(open_markdown(file, tmp_path), "T001")

    assert looked == ["- [ ] T001 a\n", saved]
    assert file.read_text() == saved.replace("[ ]", "[x]")


def test_a_box_that_is_missing_while_an_editor_saves_is_looked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ralph.adapters.sources import markdown

    find = find_in_text
    file = write(tmp_path / "TODO.md", "")  # so far

    def find_boxes(text: str, lines: Mapping[str, int]) -> tuple[tuple[int, ...], tuple[str, ...]]:
        write(file, text or "- [ ] T001 a\n")
        return find(text, lines)

    monkeypatch.setattr(markdown, "find_boxes", find_boxes)
    finish(open_markdown(file, tmp_path), "T001")

    assert file.read_text() == "- [x] T001 a\n"


def test_a_folder_that_stays_locked_is_tried_again_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    from ralph.adapters.sources import markdown

    monkeypatch.setattr(markdown, "LONGEST_WAIT", 0.1)
    file = write(tmp_path / "TODO.md", "- [ ] T001 a\n")
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with pytest.raises(ServiceAway, match="locked by another process"):
            finish(open_markdown(file, tmp_path), "T001")
    finally:
        os.close(descriptor)
    assert file.read_text() == "- [ ] T001 a\n"
