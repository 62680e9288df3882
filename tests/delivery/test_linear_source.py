"""What only Linear does: teams and projects, people of other services, comments that were deleted, states of a team."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from ralph.domain.tickets.hold import DONE, label_of
from ralph.domain.tickets.ticket import Move, Ticket
from ralph.engine.tickets.ports import Source, Wanted
from ralph.errors import ServiceRefused

from .conftest import CACHE
from .world.linear import PROJECT, SLUG, Linear, open_linear_world

T = TypeVar("T")
TEXT = "Do it.\n\n- [ ] it is done"
ALL = Wanted(labels=("ralph",))


@pytest.fixture
def linear(tmp_path: Path) -> Iterator[Linear]:
    with open_linear_world(CACHE, tmp_path) as linear:
        yield linear


def run(asked: Coroutine[Any, Any, T]) -> T:
    async def bounded() -> T:
        return await asyncio.wait_for(asked, 60)

    return asyncio.run(bounded())


async def collect(source: Source, wanted: Wanted = ALL) -> list[Ticket]:
    return [ticket async for ticket in source.tickets(wanted)]


def read(linear: Linear, key: str) -> Ticket:
    found = run(linear.open().read(key))
    assert found is not None
    return found


def test_a_source_has_one_name_however_it_was_spelled(linear: Linear) -> None:
    assert {linear.open(place).name for place in ("ENG", "eng", " Eng/ ")} == {"linear:ENG"}
    assert linear.open(f"Project/{SLUG.upper()}").name == f"linear:project/{SLUG}"


def test_the_tickets_of_a_project_are_found_by_the_last_part_of_its_address(linear: Linear) -> None:
    linear.add("elsewhere", TEXT)
    inside = linear.add("inside", TEXT, projectId=PROJECT)

    for slug in (SLUG, SLUG.rpartition("-")[2]):
        assert [ticket.key for ticket in run(collect(linear.open(f"project/{slug}")))] == [inside]


@pytest.mark.parametrize(
    ("place", "what"), [("NOPE", "no team NOPE"), ("project/none-0c79", "no project none-0c79")]
)
def test_a_team_or_project_that_does_not_exist_is_not_an_empty_one(
    linear: Linear, place: str, what: str
) -> None:
    with pytest.raises(ServiceRefused, match=what) as refused:
        run(collect(linear.open(place)))

    assert refused.value.hint


def test_a_team_that_one_may_not_see_any_more_is_not_taken_for_deleted_tickets(linear: Linear) -> None:
    key = linear.add("first", TEXT)
    linear.beyond.is_hidden = True

    with pytest.raises(ServiceRefused, match="no team ENG, or you may not see it"):
        run(linear.open().read(key))


def test_a_token_of_an_application_is_sent_as_one(linear: Linear) -> None:
    key = linear.add("first", TEXT)

    assert [ticket.key for ticket in run(collect(linear.open(key=linear.oauth_token)))] == [key]


def test_the_priority_and_the_estimate_are_those_of_linear(linear: Linear) -> None:
    keys = [
        linear.add(f"ticket {number}", f"{TEXT}\n\nEstimate: 2 h", priority=number) for number in range(5)
    ]
    linear.beyond.estimates[linear.id_of(keys[0])] = 8.0

    found = [read(linear, key) for key in keys]

    assert [ticket.priority for ticket in found] == [5, 1, 3, 5, 7]
    assert [ticket.estimate for ticket in found] == [8.0, 2.0, 2.0, 2.0, 2.0]


def test_what_integrations_write_in_the_name_of_a_member_is_not_heard(linear: Linear) -> None:
    key, mine = linear.add("by a bot", TEXT), linear.add("by me", TEXT)
    linear.beyond.bots[linear.id_of(key)] = "GitHub"
    linear.comment("colleague", mine, "from a workflow")
    linear.beyond.bots[linear._comments(mine)[0]["id"]] = "Workflow"

    assert not read(linear, key).is_trusted
    assert read(linear, key).text == ""
    assert read(linear, mine).remarks == ()
    assert read(linear, mine).left_out == ("1 comment by programs",)


@pytest.mark.parametrize(
    ("user", "who"), [("reader", "a guest"), ("stranger", "an integration"), ("colleague", "")]
)
def test_a_members_ticket_that_someone_else_edited_is_not_theirs_any_more(
    linear: Linear, user: str, who: str
) -> None:
    edited, renamed, source = linear.add("first", TEXT), linear.add("second", TEXT), linear.open()
    assert [ticket.is_trusted for ticket in run(collect(source))] == [True, True]

    linear.edit(user, edited, "Run this.\n\n- [ ] it ran")
    linear.rename(user, renamed, "run this")

    found = run(collect(source))
    assert [ticket.is_trusted for ticket in found] == [not who] * 2
    assert [ticket.text for ticket in found if who] == ["", ""][: 2 * bool(who)]
    assert [ticket.left_out for ticket in found] == [
        (f"all of its text and comments: its {what} was edited by {who}",) if who else ()
        for what in ("description", "title")
    ]


def test_a_ticket_may_wait_for_one_of_another_team_which_can_be_read(linear: Linear) -> None:
    other = linear.add("theirs", "", labels=(), teamId="OPS")
    key = linear.add("ours", f"{TEXT}\n\nBlocked by #12")
    linear.block(key, other)

    ticket = read(linear, key)

    assert other.startswith("OPS-")
    assert ticket.blockers == (other,)
    assert ticket.left_out == ("that it waits for #12, which is no issue of Linear",)
    assert read(linear, other).is_open


def test_an_issue_with_many_labels_blockers_and_comments_is_read_to_the_end(linear: Linear) -> None:
    labels = tuple(f"label {number}" for number in range(30))
    others = [linear.add(f"blocker {number}", TEXT, labels=()) for number in range(15)]
    key = linear.add("much", TEXT, labels=(*labels, "ralph"))
    linear.block(key, *others)
    for number in range(120):
        linear.comment("colleague", key, f"remark {number}")

    (ticket,) = run(collect(linear.open()))

    assert set(ticket.labels) == {*labels, "ralph"}
    assert ticket.blockers == tuple(others)
    assert [remark.text for remark in ticket.remarks] == [f"remark {number}" for number in range(100, 120)]
    assert ticket.left_out == ("100 older comments: only the newest 20 are used",)
    assert linear.asked.count("Remarks") == 1


def test_a_comment_that_someone_deleted_is_made_again_and_is_still_ralphs(linear: Linear) -> None:
    key = linear.add("first", TEXT)
    for text in ("one", "two", "three"):
        run(linear.open().say(key, f"ralph: {text}"))
        assert linear.comments(key) == [f"ralph: {text}"]
        assert read(linear, key).remarks == ()
        if text != "three":
            linear.delete_comments(key)


def test_what_ralph_says_with_another_login_is_no_remark_either(linear: Linear) -> None:
    key = linear.add("first", TEXT)
    run(linear.open(user="colleague").say(key, "ralph: begun elsewhere."))
    run(linear.open().say(key, "ralph: begun here."))

    assert len(linear.comments(key)) == 2
    assert read(linear, key).remarks == ()


def test_closing_moves_a_ticket_to_the_first_state_of_its_team_that_means_done(linear: Linear) -> None:
    key = linear.add("first", TEXT)
    run(linear.open().move(key, Move.CLOSE, holder="box-1"))
    query = "query($id: String!) { issue(id: $id) { state { name } } }"

    assert linear._as("owner1", query, id=key)["issue"]["state"]["name"] == "Done"


def test_what_someone_canceled_stays_canceled(linear: Linear) -> None:
    key = linear.add("first", TEXT)
    linear.set_state(key, "Canceled")
    run(linear.open().move(key, Move.CLOSE, holder="box-1"))

    assert linear.state(key) == "canceled"


def test_labels_are_made_once_though_two_machines_need_them_at_once(linear: Linear) -> None:
    keys = [linear.add(f"ticket {number}", TEXT) for number in range(4)]

    async def all_at_once() -> None:
        await asyncio.gather(*(linear.open().move(key, Move.FINISH, holder="box-1") for key in keys))

    run(all_at_once())

    labels = linear._as("owner1", "{ issueLabels(first: 1000) { nodes { name } } }")["issueLabels"]["nodes"]
    assert [label["name"] for label in labels].count(DONE) == 1
    assert all(linear.labels(key) == {"ralph", DONE} for key in keys)


def test_a_label_of_ours_that_someone_spelled_otherwise_is_ours(linear: Linear) -> None:
    key = linear.add("first", TEXT, labels=("ralph", "Ralph:Box-1"))

    assert label_of("box-1") in read(linear, key).labels
    run(linear.open().move(key, Move.FREE, holder="box-1"))
    assert linear.labels(key) == {"ralph"}


# --- as a user meets it ---


def ralph(linear: Linear, project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    login = {"LINEAR_API_KEY": linear.tokens["owner1"], "LINEAR_API_URL": linear.url, "HOME": str(project)}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RALPH_")} | login
    return subprocess.run(
        [sys.executable, "-m", "ralph", *arguments],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=90,
    )


def test_issues_become_tasks_once_and_those_of_strangers_do_not(linear: Linear, tmp_path: Path) -> None:
    first = linear.add("first", TEXT)
    second = linear.add("second", f"{TEXT}\n\nBlocked by {first}", user="colleague")
    evil = linear.add("evil", TEXT, user="stranger")
    project = tmp_path / "project"
    project.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=project, check=True, timeout=30)

    done = [ralph(linear, project, "task", "import", name, "--yes") for name in ("linear:eng", "linear:ENG")]
    shown = ralph(linear, project, "task", "list", "--json")

    assert [one.returncode for one in done] == [0, 0], done
    tasks = {task["id"]: task for task in json.loads(shown.stdout)["tasks"]}
    assert set(tasks) == {first, second}
    assert all(evil in one.stdout + one.stderr for one in done)
    assert linear.tokens["owner1"] not in repr(done)


@pytest.mark.parametrize("name", ["linear:ENG", f"linear:project/{SLUG}"])
def test_a_ticket_that_is_moved_to_another_team_does_not_come_twice(
    linear: Linear, tmp_path: Path, name: str
) -> None:
    first = linear.add("first", TEXT, projectId=PROJECT)
    second = linear.add("second", TEXT, projectId=PROJECT)
    linear.block(second, first)
    project = tmp_path / "project"
    project.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=project, check=True, timeout=30)
    begun = ralph(linear, project, "task", "import", name, "--yes")
    moved = linear.move_to("OPS", first)

    again = ralph(linear, project, "task", "import", name, "--yes")
    shown = ralph(linear, project, "task", "list", "--json")

    assert [begun.returncode, again.returncode] == [0, 0], again
    assert read(linear, moved).uid == read(linear, first).uid == linear.id_of(first)
    assert read(linear, first).key == moved
    assert "0 new tasks" in again.stdout + again.stderr or "nothing new" in again.stdout + again.stderr
    assert moved not in again.stdout + again.stderr, "nothing is said about it"
    tasks = {task["id"]: task for task in json.loads(shown.stdout)["tasks"]}
    assert set(tasks) == {first, second}
    assert {task["status"] for task in tasks.values()} == {"open"}


@pytest.mark.parametrize("close", ["delivered", "always"])
def test_an_issue_is_worked_on_to_its_end_and_told_once(linear: Linear, tmp_path: Path, close: str) -> None:
    key = linear.add("first", TEXT)
    project = tmp_path / "project"
    project.mkdir()
    worker = tmp_path / "worker"
    worker.write_text(
        '#!/bin/sh\nprintf "%s" "$LINEAR_API_KEY" > key.txt\ncat > prompt.txt\n'
        "echo '<promise>IMPLEMENTATION_COMPLETE</promise>'\n"
    )
    worker.chmod(0o755)
    (project / ".ralph").mkdir()
    roles = {"coder": {"command": "test -f prompt.txt"}}
    settings = {
        "agent": {"command": str(worker)},
        "profiles": {"verified": {"stages": ["coder"], "roles": roles}},
        "tickets": {"close": close},
    }
    (project / ".ralph" / "settings.json").write_text(json.dumps(settings))
    for arguments in (
        ("init", "-q", "-b", "main"),
        ("config", "user.name", "owner1"),
        ("config", "user.email", "owner1@example.invalid"),
        ("commit", "-q", "--allow-empty", "-m", "Begin"),
    ):
        subprocess.run(["git", *arguments], cwd=project, check=True, timeout=30)

    ran = [
        ralph(linear, project, "work", "--from", "linear:ENG", "--no-sandbox", "--trust") for _ in range(2)
    ]

    assert ran[0].returncode == 0, ran[0].stderr
    assert (project / "prompt.txt").exists(), "merged"
    assert (project / "key.txt").read_text() == ""
    (comment,) = linear.comments(key)
    assert "test -f prompt.txt" in comment
    assert linear.labels(key) == {"ralph", "ralph:done"}
    assert linear.is_open(key) is (close == "delivered")
