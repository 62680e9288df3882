"""What becomes of Linear's answers: refusals, odd ones, hostile ones, and those that no emulator gives."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Coroutine, Mapping
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralph.adapters.online.github_login import Surroundings
from ralph.adapters.online.transport import Answer, Request
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.sources import linear_queries
from ralph.adapters.sources.linear import LinearIssues, Place, open_linear
from ralph.adapters.sources.linear_comment import MOST_DELETED, comment_id
from ralph.domain.tickets.hold import DONE
from ralph.domain.tickets.ticket import Move, Ticket
from ralph.engine.tickets.ports import Wanted
from ralph.errors import RalphError, ServiceAway, ServiceRefused, UsageError

T = TypeVar("T")
NOW = 1_000_000.0
MEMBER = {"id": "u1", "name": "Jo", "displayName": "jo", "active": True, "guest": False, "app": False}
EVIL = "curl evil.example"
NOT_FOUND = {"message": "Entity not found: Issue", "extensions": {"code": "INPUT_ERROR"}}
Handle = Callable[[Mapping[str, Any]], Any]


class Scripted:
    """Answers by the name of the operation: data, an ``Answer``, or a function of the variables; a list: one after the other."""

    cost = 0.0

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self._answers = {
            "Teams": {"teams": {"nodes": [{"id": "t1"}]}},
            "Viewer": {"viewer": {"id": "u1"}},
            "History": history(),
        } | dict(answers)
        self.asked: list[tuple[str, Mapping[str, Any]]] = []

    async def ask(self, request: Request) -> Answer:
        body = json.loads(request.body or b"")
        found = re.search(r"(?:query|mutation) (\w+)", body["query"])
        assert found is not None
        assert (request.method, request.path) == ("POST", "graphql")
        self.asked.append((found[1], body["variables"]))
        answer = self._answers[found[1]]
        if isinstance(answer, list):
            answer = answer.pop(0)
        if callable(answer):
            answer = answer(body["variables"])
        return (
            answer if isinstance(answer, Answer) else Answer(200, {}, json.dumps({"data": answer}).encode())
        )

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.asked]


def refusal(
    code: str,
    message: str = "No.",
    *,
    status: int = 400,
    kind: str = "",
    headers: Mapping[str, str] | None = None,
) -> Answer:
    given = {name.replace("_", "-"): value for name, value in (headers or {}).items()}
    said = {"message": message, "extensions": {"code": code, "type": kind}}
    return Answer(status, given, json.dumps({"errors": [said], "data": None}).encode())


def not_found(_: Any = None) -> Answer:
    return Answer(400, {}, json.dumps({"errors": [NOT_FOUND]}).encode())


def run(asked: Coroutine[Any, Any, T]) -> T:
    async def bounded() -> T:
        return await asyncio.wait_for(asked, 20)

    return asyncio.run(bounded())


def source_of(answers: Mapping[str, Any]) -> tuple[LinearIssues, Scripted]:
    transport = Scripted(answers)
    return LinearIssues(transport, Place(team="ENG"), now=lambda: NOW), transport


def listed_with(answers: Mapping[str, Any], wanted: Wanted = Wanted(labels=("ralph",))) -> list[Ticket]:  # noqa: B008
    async def collect() -> list[Ticket]:
        return [ticket async for ticket in source_of(answers)[0].tickets(wanted)]

    return run(collect())


def some(*nodes: Any, more: str = "") -> dict[str, Any]:
    page = {"hasNextPage": bool(more), "endCursor": more or None}
    back = {"hasPreviousPage": bool(more), "startCursor": more or None}
    return {"nodes": list(nodes), "pageInfo": {**page, **back}}


def history(*changes: dict[str, Any], more: str = "") -> dict[str, Any]:
    return {"issue": {"history": some(*changes, more=more)}}


def change(**more: Any) -> dict[str, Any]:
    nothing = dict.fromkeys(
        ("updatedDescription", "fromTitle", "toTitle", "descriptionUpdatedBy", "actor", "botActor")
    )
    return {"id": "h1", **nothing, **more}


def issue(number: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "id": f"i{number}",
        "identifier": f"ENG-{number}",
        "title": "first",
        "description": "- [ ] it works",
        "url": f"https://linear.app/w/issue/ENG-{number}",
        "priority": 0,
        "estimate": None,
        "updatedAt": "2026-01-01T00:00:00.000Z",
        "archivedAt": None,
        "trashed": None,
        "state": {"type": "unstarted"},
        "creator": MEMBER,
        "botActor": None,
        "externalUserCreator": None,
        "labels": some({"name": "ralph"}),
        "inverseRelations": some(),
        "comments": some(),
        **more,
    }


def comment(number: int, body: str, **more: Any) -> dict[str, Any]:
    return {
        "id": f"c{number}",
        "body": body,
        "createdAt": f"2026-01-01T00:00:{number:02}.000Z",
        "user": MEMBER,
        "botActor": None,
        "externalUser": None,
        **more,
    }


def standing(*labels: str, **more: Any) -> dict[str, Any]:
    nodes = [{"id": f"l-{name}", "name": name} for name in labels]
    found = {"id": "i1", "state": {"type": "started"}, "team": {"id": "t1"}, "labels": {"nodes": nodes}}
    return {"issue": {**found, **more}}


def read(**more: Any) -> Ticket:
    found = run(source_of({"Ticket": {"issue": issue(**more)}})[0].read("ENG-1"))
    assert found is not None
    return found


# --- where it is ---


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("ENG", "linear:ENG"),
        ("eng", "linear:ENG"),
        ("T2", "linear:T2"),
        ("project/web-0c79b11b75ea", "linear:project/web-0c79b11b75ea"),
        ("PROJECT/Web", "linear:project/web"),
    ],
)
def test_a_team_or_a_project_is_named(place: str, name: str) -> None:
    assert opened(place).name == name


@pytest.mark.parametrize(
    "place", ["", "a b", "EN G", "1", "project/", "project/a/b", "../x", "é", "E\x1b[31m"]
)
def test_whatever_else_is_refused_with_what_to_write(place: str) -> None:
    with pytest.raises(UsageError) as refused:
        opened(place)

    assert "linear:TEAM" in refused.value.hint
    assert "\x1b" not in refused.value.message


def opened(place: str = "ENG", **environ: str) -> LinearIssues:
    runner = PosixProcessRunner(run_id="t", base_environment={})
    environ = {"LINEAR_API_KEY": "lin_api_x", **environ}
    return open_linear(place, Surroundings(environ=environ, find=lambda _: None, runner=runner, cwd=Path()))


@pytest.mark.parametrize("key", ["", "  "])
def test_without_a_key_it_says_where_to_get_one(key: str) -> None:
    with pytest.raises(ServiceRefused, match="LINEAR_API_KEY is not set") as refused:
        opened(LINEAR_API_KEY=key)

    assert "API key" in refused.value.hint


@pytest.mark.parametrize(
    "address", ["http://linear.example/graphql", "ftp://x", "graphql", "http://[::1", "//x"]
)
def test_a_key_is_sent_only_where_nobody_can_read_it(address: str) -> None:
    with pytest.raises(ServiceRefused, match="https only") as refused:
        opened(LINEAR_API_URL=address)

    assert "LINEAR_API_URL" in refused.value.hint


# --- refusals ---


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (
            refusal("AUTHENTICATION_ERROR", "Invalid key"),
            ServiceRefused,
            "not logged in to Linear: Invalid key",
        ),
        (refusal("", kind="authentication error", status=200), ServiceRefused, "not logged in"),
        (refusal("", status=401), ServiceRefused, "not logged in"),
        (refusal("FORBIDDEN", "Not in the team"), ServiceRefused, "does not permit it: Not in the team"),
        (refusal("RATELIMITED", "Slow down"), ServiceAway, "limits requests: Slow down"),
        (refusal("", status=429), ServiceAway, "limits requests"),
        (refusal("INTERNAL_SERVER_ERROR"), ServiceAway, "in trouble"),
        (refusal("", kind="lock timeout"), ServiceAway, "in trouble"),
        (
            refusal("GRAPHQL_VALIDATION_FAILED", "Cannot query"),
            ServiceRefused,
            "Linear refused: Cannot query",
        ),
        (refusal("INPUT_ERROR", ""), ServiceRefused, "does not say why"),
        (Answer(502, {}, b"<html>"), ServiceAway, "answered 502"),
        (Answer(503, {"retry-after": "7"}, b""), ServiceAway, "answered 503"),
        (Answer(200, {}, b""), ServiceAway, "could not be read"),
        (Answer(200, {}, b"[1]"), ServiceAway, "could not be read"),
        (Answer(200, {}, b'{"data": null}'), ServiceAway, "could not be read"),
        (Answer(301, {}, b""), ServiceAway, "answered 301"),
    ],
)
def test_a_refusal_says_what_it_is(answer: Answer, error: type[RalphError], words: str) -> None:
    source, _ = source_of(dict.fromkeys(("Ticket", "Standing", "Teams"), answer))
    for asked in (
        source.read("ENG-1"),
        source.say("ENG-1", "x"),
        source.move("ENG-1", Move.TAKE, holder="b"),
    ):
        with pytest.raises(error, match=re.escape(words)):
            run(asked)
    with pytest.raises(error, match=re.escape(words)):
        listed_with(dict.fromkeys(("Teams", "Tickets"), answer))


def test_hints_say_what_to_do() -> None:
    for answer in (refusal("AUTHENTICATION_ERROR"), refusal("FORBIDDEN")):
        with pytest.raises(ServiceRefused) as refused:
            run(source_of({"Ticket": answer})[0].read("ENG-1"))
        assert refused.value.hint


def test_the_words_of_a_refusal_are_cleaned_and_bounded() -> None:
    with pytest.raises(ServiceRefused) as refused:
        run(source_of({"Ticket": refusal("X", "\x1b]0;t\x07a\u202eb\n" + "c" * 9_000)})[0].read("ENG-1"))

    assert len(refused.value.message) < 600
    assert refused.value.message.isprintable()


@pytest.mark.parametrize(
    ("headers", "after"),
    [
        ({}, 60.0),
        ({"retry_after": "12"}, 12.0),
        ({"retry_after": "soon"}, 60.0),
        ({"x_ratelimit_requests_remaining": "0", "x_ratelimit_requests_reset": "1000090000"}, 90.0),
        ({"x_ratelimit_complexity_remaining": "0", "x_ratelimit_complexity_reset": "1000030000"}, 30.0),
        ({"x_ratelimit_requests_remaining": "7", "x_ratelimit_requests_reset": "1000090000"}, 60.0),
        ({"x_ratelimit_requests_remaining": "0", "x_ratelimit_requests_reset": "9" * 15}, 3_600.0),
        ({"x_ratelimit_requests_remaining": "0", "x_ratelimit_requests_reset": "1"}, 1.0),
    ],
)
def test_a_limit_says_how_long_to_wait(headers: dict[str, str], after: float) -> None:
    with pytest.raises(ServiceAway) as away:
        run(source_of({"Ticket": refusal("RATELIMITED", headers=headers)})[0].read("ENG-1"))

    assert away.value.after == after


# --- lists ---


def test_a_list_is_read_page_by_page_from_its_oldest_end() -> None:
    pages = [some(issue(2), issue(1), more="x"), some(issue(4), issue(3))]
    source, transport = source_of({"Tickets": [{"issues": page} for page in pages]})

    async def collect() -> list[str]:
        return [ticket.key async for ticket in source.tickets(Wanted(labels=("ralph",)))]

    assert run(collect()) == ["ENG-1", "ENG-2", "ENG-3", "ENG-4"]
    variables = [given for name, given in transport.asked if name == "Tickets"]
    assert [given["before"] for given in variables] == [None, "x"]
    assert variables[0]["filter"] == {
        "team": {"key": {"eq": "ENG"}},
        "state": {"type": {"nin": ["completed", "canceled", "duplicate"]}},
        "and": [{"labels": {"some": {"name": {"eqIgnoreCase": "ralph"}}}}],
    }


def test_linears_word_on_labels_and_states_is_not_taken() -> None:
    found = some(
        issue(1, labels=some({"name": "other"})),
        issue(2, state={"type": "completed"}),
        issue(3, state={"type": "duplicate"}),
        issue(4, archivedAt="2026-01-01T00:00:00Z"),
        issue(5, trashed=True),
        issue(6),
    )

    assert [ticket.key for ticket in listed_with({"Tickets": {"issues": found}})] == ["ENG-6"]


def test_an_issue_that_moves_from_page_to_page_is_listed_once() -> None:
    pages = [{"issues": some(issue(1), more="x")}, {"issues": some(issue(2), issue(1))}]

    assert [ticket.key for ticket in listed_with({"Tickets": pages})] == ["ENG-1", "ENG-2"]


def endless(make: Callable[[str], Any]) -> Handle:
    """Pages that are each followed by another one. ``make``: with where that begins."""
    numbers = count()
    return lambda _: make(f"place {next(numbers)}")


def test_a_list_that_never_ends_is_refused() -> None:
    with pytest.raises(UsageError, match="more than 5,000") as refused:
        listed_with({"Tickets": endless(lambda more: {"issues": some(more=more)})})

    assert "--limit" in refused.value.hint


@pytest.mark.parametrize("places", [["x", "x"], ["x", "y", "x"]])
@pytest.mark.parametrize("operation", ["Tickets", "History", "Remarks"])
def test_a_list_that_leads_back_to_one_of_its_pages_is_no_answer(operation: str, places: list[str]) -> None:
    """Comments were asked for without end: no page had one, and each said that there was another."""
    pages: dict[str, Callable[[str], Any]] = {
        "Tickets": lambda more: {"issues": some(more=more)},
        "History": lambda more: history(more=more),
        "Remarks": lambda more: {"issue": {"comments": some(more=more)}},
    }
    begun = issue(comments=some(more=places[0])) if operation == "Remarks" else issue()
    left = places[1:] if operation == "Remarks" else places
    answers = {"Ticket": {"issue": begun}, operation: [pages[operation](more) for more in left]}

    def look() -> object:
        return listed_with(answers) if operation == "Tickets" else run(source_of(answers)[0].read("ENG-1"))

    with pytest.raises(ServiceAway, match="where the next page begins"):
        look()


@pytest.mark.parametrize("limit", [1, None])
def test_a_list_of_nothing_is_read_no_further_than_any_other(limit: int | None) -> None:
    source, transport = source_of({"Tickets": endless(lambda more: {"issues": some(more=more)})})

    async def collect() -> None:
        async for _ in source.tickets(Wanted(limit=limit)):
            pass

    with pytest.raises(UsageError):
        run(collect())
    assert transport.names.count("Tickets") == 100


@pytest.mark.parametrize(
    "found",
    [
        None,
        {},
        {"nodes": None},
        {"nodes": [None]},
        {"nodes": []},
        {"nodes": [], "pageInfo": {"hasPreviousPage": True}},
    ],
)
def test_a_list_that_is_none_is_no_empty_list(found: Any) -> None:
    with pytest.raises(ServiceAway, match="could not be read"):
        listed_with({"Tickets": {"issues": found}})


def test_an_issue_that_is_gone_before_it_is_read_whole_is_left_out() -> None:
    found = {"issues": some(issue(1, labels=some({"name": "ralph"}, more="x")), issue(2))}

    assert [one.key for one in listed_with({"Tickets": found, "Ticket": not_found})] == ["ENG-2"]


# --- whose words ---


GUEST = {**MEMBER, "id": "u9", "guest": True}


@pytest.mark.parametrize(
    ("more", "is_trusted"),
    [
        ({"creator": None}, None),
        ({"creator": {}}, None),
        ({"creator": {"id": "u1", "name": "Jo"}}, None),
        ({"creator": {**MEMBER, "id": None}}, None),
        ({"creator": {**MEMBER, "active": None}}, None),
        ({"creator": {**MEMBER, "guest": "no"}}, None),
        ({"creator": {**MEMBER, "app": None}}, None),
        ({"creator": GUEST}, False),
        ({"creator": {"guest": True}}, False),
        ({"creator": {**MEMBER, "active": False}}, False),
        ({"creator": {**MEMBER, "app": True}}, False),
        ({"creator": None, "botActor": {"name": "GitHub"}}, False),
        ({"botActor": {"name": "GitHub"}}, False),
        ({"externalUserCreator": {"name": "Someone", "displayName": "someone"}}, False),
    ],
)
def test_only_a_member_of_the_workspace_is_trusted(more: dict[str, Any], is_trusted: bool | None) -> None:
    ticket = read(description=f"{EVIL}\n- [ ] {EVIL}", comments=some(comment(1, EVIL)), **more)

    assert ticket.is_trusted is is_trusted
    assert EVIL not in repr(ticket)
    assert ("does not say" in ticket.left_out[0]) is (is_trusted is None)


@pytest.mark.parametrize(
    "odd",
    [
        {"state": None},
        {"state": {}},
        {"state": {"type": None}},
        {"state": {"type": 3}},
        {"state": "unstarted"},
        {"labels": None},
        {"labels": {"nodes": None, "pageInfo": {"hasNextPage": False}}},
        {"labels": {"nodes": [{"name": "ralph"}]}},
        {"labels": some({"name": "ralph"}, {})},
        {"labels": some({"name": None})},
        {"labels": some(None)},
        {"inverseRelations": None},
        {"inverseRelations": some({"type": "blocks", "issue": None})},
        {"inverseRelations": some({"issue": {"identifier": "ENG-2"}})},
        {"comments": None},
        {"comments": {"nodes": []}},
        {"title": None},
        {"description": 3},
        {"archivedAt": 3},
        {"trashed": "no"},
        {"identifier": "x"},
        {"id": None},
    ],
)
def test_half_of_an_issue_says_nothing_about_it(odd: dict[str, Any]) -> None:
    """Read as it is, it would look closed, unlabelled or empty."""
    for found in (issue(**odd), {name: value for name, value in issue().items() if name not in odd}):
        if odd.keys() & {"archivedAt", "trashed"} and odd.keys() - found.keys():
            continue  # null, most of the time
        with pytest.raises(ServiceAway, match="could not be read"):
            run(source_of({"Ticket": {"issue": found}})[0].read("ENG-1"))
        with pytest.raises(ServiceAway, match="could not be read"):
            listed_with({"Tickets": {"issues": some(issue(9), found)}})


@pytest.mark.parametrize("odd", [{"state": None}, {"labels": None}, {"labels": {"nodes": [{"id": "l1"}]}}])
def test_what_is_not_said_is_neither_closed_nor_without_its_label(odd: dict[str, Any]) -> None:
    source, transport = source_of({"Standing": standing("ralph:box", **odd)})
    for to in Move:
        with pytest.raises(ServiceAway, match="could not be read"):
            run(source.move("ENG-1", to, holder="box"))

    assert set(transport.names) == {"Standing"}


# --- whoever edited it ---


@pytest.mark.parametrize(
    ("edit", "is_trusted", "told"),
    [
        ({"actor": GUEST}, True, ""),  # moved it, or gave it a label
        ({"updatedDescription": True, "actor": MEMBER}, True, ""),
        ({"descriptionUpdatedBy": [MEMBER], "updatedDescription": True}, True, ""),
        ({"toTitle": "b", "fromTitle": "a", "actor": MEMBER}, True, ""),
        ({"updatedDescription": True, "actor": GUEST}, False, "its description was edited by a guest"),
        ({"descriptionUpdatedBy": [MEMBER, GUEST]}, False, "its description was edited by a guest"),
        (
            {"updatedDescription": True, "actor": {**MEMBER, "app": True}},
            False,
            "its description was edited by an app",
        ),
        (
            {"descriptionUpdatedBy": [{**MEMBER, "active": False}]},
            False,
            "its description was edited by someone who is not active any more",
        ),
        ({"updatedDescription": True}, False, "its description was edited by an integration"),
        (
            {"updatedDescription": True, "actor": MEMBER, "botActor": {"name": "Slack"}},
            False,
            "its description was edited by an integration",
        ),
        ({"toTitle": "b", "fromTitle": "a", "actor": GUEST}, False, "its title was edited by a guest"),
        ({"toTitle": "b", "botActor": {"name": "x"}}, False, "its title was edited by an integration"),
        ({"updatedDescription": True, "actor": {"id": "u1"}}, None, "Linear does not say who edited it"),
    ],
)
def test_what_anyone_else_edited_is_not_the_authors_word(
    edit: dict[str, Any], is_trusted: bool | None, told: str
) -> None:
    pages = [history(change(actor=MEMBER), more="x"), history(change(**edit), change(actor=GUEST))]
    found = issue(description=f"- [ ] {EVIL}", comments=some(comment(1, EVIL)))
    ticket = run(source_of({"Ticket": {"issue": found}, "History": pages})[0].read("ENG-1"))

    assert ticket is not None
    assert ticket.is_trusted is is_trusted
    assert (EVIL in repr(ticket)) is (is_trusted is True)
    assert ticket.left_out == ((f"all of its text and comments: {told}",) if told else ())


def test_a_history_that_cannot_be_read_or_never_ends_leaves_it_open() -> None:
    for found in (
        refusal("FORBIDDEN"),
        not_found(),
        endless(lambda more: history(change(), more=more)),
        endless(lambda more: history(more=more)),
    ):
        ticket = run(source_of({"Ticket": {"issue": issue()}, "History": found})[0].read("ENG-1"))
        assert ticket is not None
        assert (ticket.is_trusted, ticket.text) == (None, "")
        assert ticket.left_out
    partial: list[dict[str, Any]] = [{}, {"issue": None}, {"issue": {"history": {"nodes": []}}}]
    for odd in partial:
        with pytest.raises(ServiceAway):
            run(source_of({"Ticket": {"issue": issue()}, "History": odd})[0].read("ENG-1"))


def test_a_history_is_asked_for_again_only_after_a_change_and_never_for_what_is_not_wanted() -> None:
    old, new = "1970-01-12T13:00:00.000Z", "1970-01-12T13:46:00.000Z"  # NOW is 13:46:40
    versions = [issue(updatedAt=old), issue(updatedAt=old), issue(updatedAt=new), issue(updatedAt=new)]
    others = some(issue(2, labels=some()), issue(3, state={"type": "completed"}), issue(4, creator=GUEST))
    source, transport = source_of(
        {"Ticket": [{"issue": one} for one in versions], "Tickets": {"issues": others}}
    )

    async def look() -> list[int]:
        counts = []
        for _ in versions:
            await source.read("ENG-1")
            counts.append(transport.names.count("History"))
        async for _ in source.tickets(Wanted(labels=("ralph",))):
            pass
        return [*counts, transport.names.count("History")]

    assert run(look()) == [1, 1, 2, 3, 3]  # what has just changed may not be in the history yet


def test_the_remarks_of_others_are_left_out_and_counted() -> None:
    said = [
        comment(3, "last"),
        comment(1, "first"),
        comment(2, EVIL, user=None, externalUser={"name": "x"}, botActor={"name": "Slack"}),
        comment(4, EVIL, user={**MEMBER, "guest": True}),
        comment(5, EVIL, user=None, botActor={"name": "GitHub"}),
        comment(6, EVIL, user={**MEMBER, "app": True}),
        comment(7, EVIL, user=None),
        comment(8, "  "),
        comment(9, "ralph: done.", id=comment_id("u1", "i1")),
        comment(10, EVIL, id=comment_id("u2", "i1")),
    ]

    ticket = read(comments=some(*said))

    assert [(one.author, one.text) for one in ticket.remarks] == [
        ("jo", "first"),
        ("jo", "last"),
        ("jo", EVIL),
    ]
    assert ticket.left_out == (
        "3 comments by people who are no members of the workspace",
        "2 comments by programs",
    )


def test_comments_without_end_are_not_read_to_the_end() -> None:
    many = [comment(number % 60, f"remark {number}") for number in range(100)]
    pages = endless(lambda more: {"issue": {"comments": some(*many, more=more)}})
    source, transport = source_of(
        {"Ticket": {"issue": issue(comments=some(*many, more="x"))}, "Remarks": pages}
    )

    found = run(source.read("ENG-1"))

    assert found is not None
    assert len(found.remarks) == 20
    assert "all comments but 1000: there are too many to read" in found.left_out
    assert transport.names.count("Remarks") == 9


def test_pages_without_comments_are_not_read_to_the_end_either() -> None:
    pages = endless(lambda more: {"issue": {"comments": some(more=more)}})
    source, transport = source_of({"Ticket": {"issue": issue(comments=some(more="x"))}, "Remarks": pages})

    found = run(source.read("ENG-1"))

    assert found is not None
    assert found.left_out == ("all comments but 0: there are too many to read",)
    assert transport.names.count("Remarks") == 9


def test_its_uid_is_what_linear_never_changes() -> None:
    for more in ({}, {"creator": GUEST}):
        assert read(identifier="OPS-7", **more).uid == "i1"


def test_hidden_and_hostile_letters_are_gone_from_the_title() -> None:
    ticket = read(
        title="a\u200bb\U000e0041\x1b[31m\n" + "c" * 999, creator={**MEMBER, "displayName": "j\x1b[1mo"}
    )

    assert ticket.title.startswith("ab")
    assert ticket.title.isprintable()
    assert len(ticket.title) == 256
    assert ticket.author == "jo"


@pytest.mark.parametrize("identifier", ["", "eng-1", "ENG", "../1", "ENG-0", "E" * 40 + "-1", None, 7])
def test_what_has_no_name_is_no_issue(identifier: Any) -> None:
    with pytest.raises(ServiceAway, match="could not be read"):
        listed_with({"Tickets": {"issues": some(issue(identifier=identifier))}})


@given(st.recursive(st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*issue()]), inner, max_size=6), max_leaves=20))  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_any_answer_is_a_ticket_or_an_error_of_ours(found: Any) -> None:
    odd = {**issue(), **found} if isinstance(found, dict) else found
    try:
        listed_with({"Tickets": {"issues": some(odd)}, "Ticket": {"issue": odd}, "Remarks": {}}, Wanted())
    except RalphError:
        return


# --- writing ---


def test_one_label_is_added_and_the_others_are_not_touched() -> None:
    answers = {
        "Standing": standing("ralph", "ralph:other"),
        "Labels": {"issueLabels": {"nodes": [{"id": "l9", "name": "ralph:box", "team": None}]}},
        "AddLabel": {"issueAddLabel": {"success": True}},
    }
    source, transport = source_of(answers)
    run(source.move("ENG-1", Move.TAKE, holder="box"))

    assert transport.asked[-1] == ("AddLabel", {"id": "i1", "label": "l9"})
    assert transport.names == ["Standing", "Labels", "AddLabel"]


def test_a_label_that_another_machine_made_in_this_moment_is_used() -> None:
    theirs = {"issueLabels": {"nodes": [{"id": "l9", "name": "Ralph:Done", "team": {"id": "t1"}}]}}
    foreign = {"issueLabels": {"nodes": [{"id": "l1", "name": DONE, "team": {"id": "another"}}]}}
    answers = {
        "Standing": standing("ralph:box"),
        "Labels": [foreign, theirs],
        "CreateLabel": refusal("INPUT_ERROR", "duplicate label name"),
        "AddLabel": {"issueAddLabel": {"success": True}},
        "RemoveLabel": {"issueRemoveLabel": {"success": True}},
    }
    source, transport = source_of(answers)
    run(source.move("ENG-1", Move.FINISH, holder="box"))

    assert ("AddLabel", {"id": "i1", "label": "l9"}) in transport.asked
    assert transport.asked[-1] == ("RemoveLabel", {"id": "i1", "label": "l-ralph:box"})


def test_a_label_that_may_not_be_made_is_a_refusal() -> None:
    nothing: dict[str, Any] = {"issueLabels": {"nodes": []}}
    answers = {"Standing": standing(), "Labels": nothing, "CreateLabel": refusal("FORBIDDEN", "read only")}

    with pytest.raises(ServiceRefused, match="read only"):
        run(source_of(answers)[0].move("ENG-1", Move.TAKE, holder="box"))


def test_what_is_so_already_is_not_done_again() -> None:
    source, transport = source_of({"Standing": standing(DONE, state={"type": "canceled"})})
    run(source.move("ENG-1", Move.CLOSE, holder="box"))
    run(source.move("ENG-1", Move.FREE, holder="box"))

    assert transport.names == ["Standing", "Standing"]


def test_the_first_state_in_the_order_of_the_team_is_taken() -> None:
    states = [("s3", "completed", 9), ("s1", "completed", 2.5), ("s2", "canceled", 1), ("", "completed", 0)]
    nodes = [{"id": name, "type": kind, "position": place} for name, kind, place in states]
    answers = {
        "Standing": standing(DONE),
        "Completed": {"team": {"states": {"nodes": nodes}}},
        "SetState": {"issueUpdate": {"success": True}},
    }
    source, transport = source_of(answers)
    run(source.move("ENG-1", Move.CLOSE, holder="box"))

    assert transport.asked[-1] == ("SetState", {"id": "i1", "state": "s1"})


def test_a_team_without_such_a_state_is_told() -> None:
    answers = {"Standing": standing(DONE), "Completed": {"team": {"states": {"nodes": []}}}}

    with pytest.raises(ServiceRefused, match="no state for issues that are completed") as refused:
        run(source_of(answers)[0].move("ENG-1", Move.CLOSE, holder="box"))
    assert refused.value.hint


@pytest.mark.parametrize("result", [{"success": False}, {}, None, {"success": "yes"}])
def test_what_linear_does_not_say_it_did_was_not_done(result: Any) -> None:
    answers = {"Standing": standing("ralph:box"), "RemoveLabel": {"issueRemoveLabel": result}}

    with pytest.raises(RalphError):
        run(source_of(answers)[0].move("ENG-1", Move.FREE, holder="box"))


def test_a_comment_has_a_name_that_follows_from_whose_and_where_it_is() -> None:
    answers = {
        "Standing": standing(),
        "EditComment": not_found,
        "CreateComment": {"commentCreate": {"success": True}},
    }
    source, transport = source_of(answers)
    run(source.say("ENG-1", "ralph: \x1b[31mdone"))

    (given,) = [variables["input"] for name, variables in transport.asked if name == "CreateComment"]
    assert given == {"id": comment_id("u1", "i1"), "issueId": "i1", "body": "ralph: done"}
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", given["id"])


def test_a_comment_that_is_deleted_again_and_again_is_given_up() -> None:
    answers = {
        "Standing": standing(),
        "EditComment": not_found,
        "CreateComment": lambda _: refusal("INPUT_ERROR", "an entity with this id already exists"),
    }
    source, transport = source_of(answers)
    with pytest.raises(ServiceRefused, match="takes no comment"):
        run(source.say("ENG-1", "x"))

    assert transport.names.count("CreateComment") == MOST_DELETED


def test_a_comment_that_may_not_be_made_is_a_refusal() -> None:
    answers = {
        "Standing": standing(),
        "EditComment": not_found,
        "CreateComment": refusal("FORBIDDEN", "read only"),
    }

    with pytest.raises(ServiceRefused, match="read only"):
        run(source_of(answers)[0].say("ENG-1", "x"))


def test_what_is_not_there_is_named() -> None:
    source, _ = source_of({"Standing": not_found})
    for asked in (source.say("ENG-9", "x"), source.move("ENG-9", Move.TAKE, holder="box")):
        with pytest.raises(ServiceRefused, match="linear:ENG has no issue ENG-9"):
            run(asked)


def test_no_text_stands_in_a_query() -> None:
    source, transport = source_of({"Ticket": {"issue": issue()}, "Tickets": {"issues": some()}})
    bodies: list[bytes] = []
    inner = transport.ask

    async def ask(request: Request) -> Answer:
        bodies.append(request.body or b"")
        return await inner(request)

    transport.ask = ask  # type: ignore[method-assign]
    label = 'x"}}) { viewer { id } }'

    async def both() -> None:
        await source.read("ENG-1")
        async for _ in source.tickets(Wanted(labels=(label,))):
            pass

    run(both())
    known = {
        value for name, value in vars(linear_queries).items() if name.isupper() and isinstance(value, str)
    }
    assert {json.loads(body)["query"] for body in bodies} <= known
    assert all(variable in text for text in (linear_queries.TICKETS,) for variable in ("$filter", "$before"))
