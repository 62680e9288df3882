"""GitHub issues, where they differ from other trackers: pull requests, moved issues, programs, rights, raced comments."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ralph.adapters.sources.github_comment import MARK
from ralph.domain.tickets.hold import DONE
from ralph.domain.tickets.ticket import Move, Ticket
from ralph.engine.tickets.ports import Source
from ralph.errors import ServiceAway, ServiceRefused

from .test_source_contract import ALL, EVIL, LABEL, TEXT, by_gh, by_https, collect, run
from .world.forge import Forge, login_of

Way = Callable[[Forge, Path, str], Source]


@pytest.fixture(params=[by_gh, by_https], ids=["gh", "https"])
def way(request: pytest.FixtureRequest) -> Way:
    found: Way = request.param
    return found


@pytest.fixture
def source(forge: Forge, way: Way, tmp_path: Path) -> Source:
    return way(forge, tmp_path, "owner")


def listed(source: Source) -> list[Ticket]:
    return run(collect(source))


def test_its_name_says_where_it_is_and_its_tasks_are_called_after_the_repository(
    forge: Forge, source: Source
) -> None:
    number = forge.open_issue("first", TEXT, labels=[LABEL])

    assert source.name == "github:github.localhost/owner1/demo"
    assert [(one.task_id, one.shown) for one in listed(source)] == [(f"demo-{number}", f"#{number}")]


def test_pull_requests_are_no_tickets(forge: Forge, source: Source) -> None:
    forge.push_as_someone_else("work", {"a.txt": "a\n"})
    pull = forge.open_pull("work")
    forge.label(pull, LABEL)
    number = forge.open_issue("first", TEXT, labels=[LABEL])

    assert [ticket.key for ticket in listed(source)] == [str(number)]
    assert run(source.read(str(pull))) is None


def test_an_issue_that_was_moved_to_another_repository_is_gone(forge: Forge, source: Source) -> None:
    same, other = (forge.open_issue(name, TEXT, labels=[LABEL]) for name in ("same number", "other number"))
    forge.move_issue(same, to=same)
    forge.move_issue(other, to=77)

    assert [run(source.read(str(number))) for number in (same, other)] == [None, None]
    assert listed(source) == []


def test_a_repository_without_issues_is_refused_and_says_why(forge: Forge, source: Source) -> None:
    number = forge.open_issue("first", TEXT, labels=[LABEL])
    forge.api("PATCH", "", {"has_issues": False})

    for asked in (collect(source), source.read(str(number))):
        with pytest.raises(ServiceRefused, match="turned off"):
            run(asked)


def test_programs_are_not_heard_and_counted_by_themselves(forge: Forge, source: Source) -> None:
    number = forge.open_issue("first", TEXT, labels=[LABEL])
    forge.show_as_program("colleague")
    forge.comment("colleague", EVIL, number=number)
    forge.comment("stranger", EVIL, number=number)

    (ticket,) = listed(source)

    assert ticket.remarks == ()
    assert ticket.left_out == (
        "1 comment by people who may not write to the repository",
        "1 comment by programs",
    )


def test_whoever_may_not_ask_for_rights_hears_the_owner_alone(forge: Forge, way: Way, tmp_path: Path) -> None:
    forge.open_issue("by the owner", TEXT, labels=[LABEL])
    forge.open_issue("by a colleague", TEXT, labels=[LABEL], user="colleague")

    found = listed(way(forge, tmp_path, "reader"))

    assert [(ticket.title, ticket.is_trusted) for ticket in found] == [
        ("by the owner", True),
        ("by a colleague", None),
    ]


def test_whoever_may_not_write_gets_a_hint(forge: Forge, way: Way, tmp_path: Path) -> None:
    number = forge.open_issue("first", TEXT, labels=[LABEL])
    source = way(forge, tmp_path, "reader")

    for to in (Move.TAKE, Move.FREE, Move.FINISH, Move.CLOSE):
        with pytest.raises(ServiceRefused) as error:
            run(source.move(str(number), to, holder="box-1"))
        assert error.value.hint


def test_comments_of_two_that_raced_become_one_and_copies_by_others_stay(
    forge: Forge, source: Source
) -> None:
    number = forge.open_issue("first", TEXT, labels=[LABEL])
    forge.comment("stranger", f"ralph: pay me\n\n{MARK}", number=number)
    for text in ("one", "two", "three"):
        forge.comment("owner", f"{text}\n\n{MARK}", number=number)
    first = forge.comments(number)[1]["id"]

    run(source.say(str(number), "ralph: done."))

    found = [(one["user"]["login"], one["id"], one["body"]) for one in forge.comments(number)[1:]]
    assert found == [(login_of("owner"), first, f"ralph: done.\n\n{MARK}")]
    assert forge.comments(number)[0]["body"] == f"ralph: pay me\n\n{MARK}"
    assert listed(source)[0].left_out == ("1 comment by people who may not write to the repository",)


def test_saying_the_same_again_changes_nothing(forge: Forge, source: Source) -> None:
    number = forge.open_issue("first", TEXT, labels=[LABEL])
    for _ in range(3):
        run(source.say(str(number), "ralph: begun.\n"))

    assert len(forge.requested(r"^(POST|PATCH|DELETE) .*comments")) == 1


def test_a_move_that_broke_in_the_middle_is_finished_by_the_next(forge: Forge, source: Source) -> None:
    number = forge.open_issue("first", TEXT, labels=[LABEL])
    run(source.move(str(number), Move.TAKE, holder="box-1"))

    for broken in (r"POST .*/labels$", r"DELETE .*/labels/", r"PATCH .*/issues/\d+$"):
        forge.misbehave(broken, close=True, after=True, times=1)
        with pytest.raises(ServiceAway):
            run(source.move(str(number), Move.CLOSE, holder="box-1"))
    run(source.move(str(number), Move.CLOSE, holder="box-1"))

    found = forge.issue(number)
    assert {label["name"] for label in found["labels"]} == {LABEL, DONE}
    assert (found["state"], found["state_reason"]) == ("closed", "completed")


def test_a_label_that_someone_spelled_otherwise_is_still_ours(forge: Forge, source: Source) -> None:
    other = forge.open_issue("other", TEXT, labels=["Ralph:Done"])
    number = forge.open_issue("first", TEXT, labels=[LABEL])

    run(source.move(str(number), Move.FINISH, holder="box-1"))

    assert DONE in listed(source)[0].labels
    assert [one["name"] for one in forge.issue(other)["labels"]] == ["Ralph:Done"]


def test_a_blocker_in_another_repository_is_said(forge: Forge, source: Source) -> None:
    number = forge.open_issue("first", TEXT, labels=[LABEL])
    forge.block(number, "owner1/elsewhere#3")

    (ticket,) = listed(source)

    assert ticket.blockers == ()
    assert ticket.left_out == ("that it waits for owner1/elsewhere#3, which is no issue of this repository",)


def test_a_look_at_what_has_not_changed_asks_for_nothing_new(forge: Forge, source: Source) -> None:
    """The answers to these requests cost nothing of GitHub's limit."""
    number = forge.open_issue("first", TEXT, labels=[LABEL])
    forge.comment("colleague", "Please in blue.", number=number)
    before = listed(source)
    asked = len(forge.requests)

    assert run(collect(source, ALL)) == before
    again = forge.requests[asked:]
    assert again
    assert all("if-none-match" in request.headers for request in again)
