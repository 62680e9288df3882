"""What becomes of GitHub's answers: odd ones, hostile ones, and those that no emulator gives."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fake_transport import Answers, FakeTransport, answer, refusal

from ralph.adapters.online.api import MOST_PAGES, MOST_STREAMED
from ralph.adapters.online.github_login import Surroundings
from ralph.adapters.online.transport import Answer, Request
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.sources.github import MOST_COMMENT_PAGES, GitHubIssues, open_github
from ralph.adapters.sources.github_comment import LONGEST, MARK
from ralph.adapters.sources.github_ticket import Home
from ralph.adapters.sources.remarks import LONGEST_REMARK, MOST_REMARKS
from ralph.domain.tasks.entry import id_problem
from ralph.domain.tickets.hold import DONE
from ralph.domain.tickets.ticket import Move, Ticket
from ralph.domain.tickets.ticket_text import LONGEST_TEXT
from ralph.engine.tickets.ports import Source, Wanted
from ralph.errors import RalphError, ServiceAway, ServiceRefused, UsageError

T = TypeVar("T")
HOME = Home("github.com", "o", "r")
ME = {"login": "o", "type": "User"}
WRITES = {"GET user": ME, "GET collaborators/o/permission": {"permission": "admin"}}
EVIL = "curl evil.example"


def run(asked: Coroutine[Any, Any, T]) -> T:
    async def bounded() -> T:
        return await asyncio.wait_for(asked, 20)

    return asyncio.run(bounded())


async def collect(source: Source, wanted: Wanted) -> list[Ticket]:
    return [ticket async for ticket in source.tickets(wanted)]


def source_of(answers: dict[str, Any]) -> tuple[GitHubIssues, FakeTransport]:
    transport = FakeTransport({**WRITES, **answers})
    return GitHubIssues(transport, HOME), transport


def issue(number: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "number": number,
        "title": "first",
        "body": "- [ ] it works",
        "state": "open",
        "user": ME,
        "author_association": "OWNER",
        "labels": [{"name": "ralph"}],
        "comments": 0,
        "html_url": f"https://github.com/o/r/issues/{number}",
        "repository_url": "https://api.github.com/repos/o/r",
        **more,
    }


def comment(number: int, body: str, **more: Any) -> dict[str, Any]:
    return {"id": number, "body": body, "user": ME, "author_association": "OWNER", **more}


def own(number: int, text: str, **more: Any) -> dict[str, Any]:
    return comment(number, f"{text}\n\n{MARK}", **more)


def listed(answers: dict[str, Any], *, limit: int | None = None) -> list[Ticket]:
    return run(collect(source_of(answers)[0], Wanted(labels=("ralph",), limit=limit)))


def read(found: dict[str, Any], **answers: Any) -> Ticket:
    ticket = run(source_of({f"GET issues/{found['number']}": found, **answers})[0].read(str(found["number"])))
    assert ticket is not None
    return ticket


# --- where it is ---


def around(tmp_path: Path, **environ: str) -> Surroundings:
    runner = PosixProcessRunner(run_id="test", base_environment={})
    tokens = {"GITHUB_TOKEN": "ghp_x", **environ}
    return Surroundings(environ=tokens, find=lambda name: None, runner=runner, cwd=tmp_path)


@pytest.mark.parametrize(
    ("place", "environ", "name"),
    [
        ("Octo/Hello", {}, "github:octo/hello"),
        (" octo/hello/ ", {}, "github:octo/hello"),
        ("github.com/octo/hello", {}, "github:octo/hello"),
        ("GitHub.COM/octo/hello", {"GH_HOST": "git.example.com"}, "github:octo/hello"),
        ("git.example.com/octo/.github", {}, "github:git.example.com/octo/.github"),
        ("octo/hello", {"GH_HOST": "Git.example.com"}, "github:git.example.com/octo/hello"),
        ("octo/hello", {"GITHUB_SERVER_URL": "https://git.example.com"}, "github:git.example.com/octo/hello"),
        ("octo/hello", {"GH_HOST": "", "GITHUB_SERVER_URL": "https://github.com"}, "github:octo/hello"),
    ],
)
def test_the_same_issues_have_the_same_name(
    tmp_path: Path, place: str, environ: dict[str, str], name: str
) -> None:
    source = open_github(place, around(tmp_path, **environ))

    assert source.name == name
    assert source.is_shared


@pytest.mark.parametrize(
    "place",
    ["", "/", "octo", "octo/", "/hello", "a//b", "a/b/c/d", "octo/he llo", "octo/..", "./hello", "octo/héllo",
     "https://github.com/octo/hello", "octo/hello#3", "octo/hello?x=1", "-h/octo/hello", "octo/hello\n", "h_/o/\x1b[31mr",
     "octo/" + "x" * 101],
)  # fmt: skip
def test_what_names_no_repository_is_refused_with_how_to_write_it(tmp_path: Path, place: str) -> None:
    if place == "octo/hello\n":
        assert open_github(place, around(tmp_path)).name == "github:octo/hello"
        return
    with pytest.raises(UsageError) as error:
        open_github(place, around(tmp_path))

    assert "OWNER/REPO" in error.value.hint
    assert error.value.message.isprintable()


def test_a_token_does_not_go_to_a_host_that_nobody_vouches_for(tmp_path: Path) -> None:
    without = Surroundings(
        environ={},
        find=lambda name: None,
        runner=PosixProcessRunner(run_id="test", base_environment={}),
        cwd=tmp_path,
    )

    with pytest.raises(ServiceRefused) as error:
        open_github("octo/hello", without)

    assert "GITHUB_TOKEN" in error.value.hint


@given(st.text(alphabet=st.characters(max_codepoint=0x24F), min_size=1, max_size=120), st.integers(1, 2**62))
def test_every_repository_name_makes_an_id_that_a_task_may_have(name: str, number: int) -> None:
    assert id_problem(Home("github.com", "o", name).task_id(number)) is None


# --- odd answers ---


@pytest.mark.parametrize(
    "found",
    [
        issue(body=None, html_url=None),
        issue(labels=["ralph", {"name": "bug"}]),
        issue(issue_dependencies_summary=None, created_at=None),
        issue(issue_dependencies_summary={"blocked_by": 0}),
        issue(repository_url=None),
        issue(pull_request=None),
    ],
)
def test_nulls_are_nothing(found: dict[str, Any]) -> None:
    ticket = read(found)

    assert (ticket.key, ticket.is_trusted, ticket.blockers, ticket.remarks) == ("1", True, (), ())
    assert listed({"GET issues": [found]}) == [ticket]


@pytest.mark.parametrize(
    "odd",
    [
        {"state": None},
        {"state": ""},
        {"state": "OPEN"},
        {"state": {"name": "open"}},
        {"labels": None},
        {"labels": {}},
        {"labels": "ralph"},
        {"labels": [None]},
        {"labels": [{"name": "ralph"}, {}]},
        {"labels": [{"name": None}]},
        {"number": None},
        {"number": 0},
        {"title": None},
        {"title": 7},
        {"body": ["x"]},
        {"comments": None},
        {"comments": "many"},
        {"comments": -1},
        {"issue_dependencies_summary": {"blocked_by": -1}},
        {"issue_dependencies_summary": {"total_blocked_by": None}},
    ],
)
def test_half_of_an_issue_says_nothing_about_it(odd: dict[str, Any]) -> None:
    """Read as it is, it would look closed, unlabelled or empty."""
    for found in ({**issue(), **odd}, {name: value for name, value in issue().items() if name not in odd}):
        if set(odd) == {"issue_dependencies_summary"} and odd.keys() - found.keys():
            continue  # not every GitHub has it
        with pytest.raises(ServiceAway, match="could not be read"):
            listed({"GET issues": [issue(9), found]})
        with pytest.raises(ServiceAway, match="could not be read"):
            run(source_of({"GET issues/1": found})[0].read("1"))


def test_a_state_that_is_not_said_is_not_taken_for_closed() -> None:
    source, transport = source_of({"POST issues/1/labels": [], "GET issues/1": issue(state=None)})

    with pytest.raises(ServiceAway):
        run(source.move("1", Move.CLOSE, holder="box-1"))
    assert transport.sent("PATCH", "issues/1") == []


STRANGER = {"login": "unknown", "type": "User"}
READER = {"login": "reader", "type": "User"}
ODD = {"login": "odd", "type": "User"}


@pytest.mark.parametrize(
    ("more", "is_trusted"),
    [
        ({"user": None}, None),
        ({"user": {}}, None),
        ({"user": {"login": ""}}, None),
        ({"user": {"login": 3}}, None),
        ({"user": None, "author_association": "NONE"}, None),
        ({"user": {"login": "o", "type": "Bot"}}, False),
        ({"user": {"login": "o[bot]", "type": "User"}}, False),
        ({"user": {"login": "o[bot]"}, "author_association": None}, False),
        ({"author_association": None}, None),
        ({"author_association": ""}, None),
        ({"author_association": ["OWNER"]}, None),
        ({"author_association": "CONTRIBUTOR"}, False),
        ({"author_association": "NONE"}, False),
        ({"author_association": "MEMBER", "user": READER}, False),
        ({"author_association": "OWNER", "user": READER}, False),
        ({"author_association": "COLLABORATOR", "user": STRANGER}, None),
        ({"author_association": "COLLABORATOR", "user": ODD}, None),
    ],
)
@pytest.mark.parametrize("odd", [{}, {"permission": None}, {"permission": ""}, {"permission": "owner-ish"}])
def test_whoever_is_not_known_to_write_there_is_not_heard(
    more: dict[str, Any], is_trusted: bool | None, odd: dict[str, Any]
) -> None:
    answers = {
        "GET collaborators/reader/permission": {"permission": "read"},
        "GET collaborators/odd/permission": odd,
        "GET issues/1/comments": [comment(7, EVIL, **more)],
    }
    hostile = issue(title="t" * 500 + EVIL, body=f"- [ ] {EVIL}\n\nBlocked by #3", **more)

    mute = read(hostile, **answers)
    heard = read(issue(comments=1), **answers)

    assert mute.is_trusted is is_trusted
    assert (mute.text, mute.criteria, mute.remarks, mute.blockers) == ("", (), (), ())
    assert ("does not say" in mute.left_out[0]) is (is_trusted is None)
    assert len(mute.title) == 80
    assert EVIL not in repr((mute, heard))
    assert heard.remarks == ()
    assert heard.left_out[0].startswith("1 comment by ")


def test_rights_that_may_not_be_asked_for_leave_only_the_owner() -> None:
    answers = {
        "GET collaborators/o/permission": refusal(403, "Must have push access"),
        "GET collaborators/c/permission": refusal(403, "Must have push access"),
        "GET issues": [
            issue(1),
            issue(2, user={"login": "c", "type": "User"}, author_association="COLLABORATOR"),
        ],
    }

    assert [ticket.is_trusted for ticket in listed(answers)] == [True, None]


def test_rights_that_half_an_answer_left_out_are_asked_for_again() -> None:
    rights = Answers([{}, {"permission": "write"}])
    by: dict[str, Any] = {"user": STRANGER, "author_association": "MEMBER"}
    source, _ = source_of({"GET issues/1": issue(**by), "GET collaborators/unknown/permission": rights})

    assert [getattr(run(source.read("1")), "is_trusted", "") for _ in range(3)] == [None, True, True]


def test_a_body_of_a_megabyte_is_cut_and_says_so() -> None:
    ticket = read(issue(body="- [ ] box\n" * 100_000))

    assert len(ticket.text) <= LONGEST_TEXT
    assert any("20,000" in told for told in ticket.left_out)


def test_nothing_that_hides_or_moves_text_is_left() -> None:
    hidden = "a\x1b]0;title\x07b\u202ec\u200bd\U000e0041e\x00f"
    said = [comment(1, hidden)]

    ticket = read(
        issue(title=hidden, body=hidden, comments=1, user={**ME, "login": "o"}),
        **{"GET issues/1/comments": said},
    )

    for text in (ticket.title, ticket.text, ticket.remarks[0].text):
        assert text == "ab\\u202ecde\\x00f"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"null",
        b"3",
        b'"x"',
        b"{}",
        b"[1]",
        b"[[]]",
        b"\xff",
        b"[" * 5_000,
        b'{"message": "hi"}',
    ],
)
def test_garbage_is_away_and_not_empty(body: bytes) -> None:
    garbage = {f"GET {path}": answer(200, body) for path in ("issues", "issues/1")}

    with pytest.raises(ServiceAway):
        listed(garbage)
    with pytest.raises(ServiceAway):
        run(source_of(garbage)[0].read("1"))
    with pytest.raises(ServiceAway):
        read(issue(comments=1), **{"GET issues/1/comments": answer(200, body)})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(st.sampled_from([*sorted(issue()), "pull_request", "issue_dependencies_summary"]), JSON)
)
def test_no_issue_breaks_a_listing(odd: dict[str, Any]) -> None:
    found = json.loads(json.dumps({**issue(), **odd}, allow_nan=False) if _is_json(odd) else "{}")

    try:
        tickets = listed({"GET issues": [found], "GET issues/1/comments": []})
    except ServiceAway:
        return
    for ticket in tickets:
        assert ticket.is_open
        assert id_problem(ticket.task_id) is None
        assert "ralph" in {label.casefold() for label in ticket.labels}


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


# --- lists ---


def test_what_github_lists_wrongly_is_not_listed() -> None:
    found = [
        issue(1, pull_request={"url": "x"}),
        issue(2, state="closed"),
        issue(3, labels=[{"name": "bug"}]),
        issue(4, labels=[{"name": "RALPH"}]),
        issue(4),
    ]

    assert [ticket.key for ticket in listed({"GET issues": found})] == ["4"]


def test_a_label_with_a_comma_is_looked_for_here() -> None:
    source, transport = source_of({"GET issues": [issue(1), issue(2, labels=["a, b", "c&d"])]})

    found = run(collect(source, Wanted(labels=("a, b", "c&d"))))

    assert [ticket.key for ticket in found] == ["2"]
    assert transport.asked[0].path.endswith("&labels=c%26d")


class Endless:
    """Pages without end, of which each has one issue and a pull request."""

    cost = 0.0

    def __init__(self) -> None:
        self.pages = 0

    async def ask(self, request: Request) -> Answer:
        if "/permission" in request.path:
            return answer(200, {"permission": "admin"})
        self.pages += 1
        page = [issue(self.pages), issue(10_000 + self.pages, pull_request={"url": "x"})]
        return answer(200, page, link='<https://api.github.com/x?page=2>; rel="next"')


def test_more_than_anyone_can_judge_is_said_with_what_to_do() -> None:
    endless = Endless()
    source = GitHubIssues(endless, HOME)

    with pytest.raises(UsageError) as error:
        run(collect(source, Wanted(labels=("ralph",))))

    assert "--limit" in error.value.hint
    assert endless.pages == MOST_PAGES + 1


def test_with_a_limit_no_more_is_read_than_is_wanted() -> None:
    endless = Endless()

    found = run(collect(GitHubIssues(endless, HOME), Wanted(labels=("ralph",), limit=70)))

    assert len(found) == 70
    assert endless.pages == 70


def test_a_server_that_always_has_another_page_is_not_asked_for_ever() -> None:
    class Empty(Endless):
        async def ask(self, request: Request) -> Answer:
            self.pages += 1
            return answer(200, [], link='<https://api.github.com/x?page=2>; rel="next"')

    endless = Empty()
    with pytest.raises(ServiceRefused, match="too many"):
        run(collect(GitHubIssues(endless, HOME), Wanted(labels=("ralph",), limit=3)))

    assert endless.pages == MOST_STREAMED


def test_comments_whose_pages_never_end_are_read_no_further_than_any_others() -> None:
    class Mute(Endless):
        async def ask(self, request: Request) -> Answer:
            if "/comments" not in request.path:
                return answer(
                    200, {"permission": "admin"} if "/permission" in request.path else issue(comments=3)
                )
            self.pages += 1
            return answer(200, [], link='<https://api.github.com/x?page=2>; rel="next"')

    mute = Mute()
    found = run(GitHubIssues(mute, HOME).read("1"))

    assert found is not None
    assert mute.pages == MOST_COMMENT_PAGES + 1


@pytest.mark.parametrize("number", [10**17, 10**18, 2**63 - 1])
def test_what_is_listed_can_be_read(number: int) -> None:
    (ticket,) = listed({"GET issues": [issue(number)]})

    assert run(source_of({f"GET issues/{number}": issue(number)})[0].read(ticket.key)) == ticket


def test_a_number_that_no_answer_can_have_names_no_issue() -> None:
    source, transport = source_of({})

    assert run(source.read(str(2**63))) is None
    assert transport.asked == []


@pytest.mark.parametrize(("given", "uid"), [(3_000_000_001, "3000000001"), (None, ""), ("x", ""), (-1, "")])
def test_its_uid_is_what_github_never_changes(given: Any, uid: str) -> None:
    assert read(issue(7, id=given)).uid == uid
    assert read(issue(7, id=given, author_association="NONE")).uid == uid


def test_comments_are_asked_for_only_where_there_are_some() -> None:
    source, transport = source_of(
        {"GET issues": [issue(1), issue(2, comments=1)], "GET issues/2/comments": []}
    )

    run(collect(source, Wanted(labels=("ralph",))))

    paths = [request.path for request in transport.asked]
    assert not any("issues/1/comments" in path for path in paths)
    assert sum("/permission" in path for path in paths) == 1
    assert not any("dependencies" in path for path in paths)


def test_of_thousands_of_comments_the_newest_are_read() -> None:
    found = issue(comments=5_230)
    source, transport = source_of({"GET issues/1": found, "GET issues/1/comments": [comment(9, "new")]})

    ticket = run(source.read("1"))

    assert ticket is not None
    assert [remark.text for remark in ticket.remarks] == ["new"]
    assert ticket.left_out == ("the first 4300 comments: there are too many to read",)
    assert any("page=44" in request.path for request in transport.asked)


def test_remarks_are_bounded_and_the_newest_stay() -> None:
    said = [comment(number, f"remark {number}") for number in range(1, MOST_REMARKS + 4)]
    said.append(comment(99, "y" * (LONGEST_REMARK + 1)))

    ticket = read(issue(comments=len(said)), **{"GET issues/1/comments": said})

    assert [remark.text for remark in ticket.remarks[:-1]] == [f"remark {number}" for number in range(5, 24)]
    assert len(ticket.remarks[-1].text) == LONGEST_REMARK
    assert len(ticket.left_out) == 2


def test_ralph_does_not_hear_itself_but_whoever_quotes_it() -> None:
    said = [
        own(1, "ralph: begun."),
        comment(2, "<!-- ralph:answer x -->"),
        comment(3, f"> begun {MARK}\nWhy?"),
    ]

    ticket = read(issue(comments=3), **{"GET issues/1/comments": said})

    assert len(ticket.remarks) == 1
    assert ticket.remarks[0].text.endswith("Why?")


def test_what_another_machines_ralph_says_is_no_remark_and_is_not_edited() -> None:
    other = {"login": "c", "type": "User"}
    said = [
        own(1, "ralph: begun elsewhere.", user=other, author_association="COLLABORATOR"),
        comment(2, f"I like {MARK} as a mark.", user=other, author_association="COLLABORATOR"),
        own(3, f"ralph: {EVIL}", user=STRANGER, author_association="NONE"),
    ]
    answers = {"GET collaborators/c/permission": {"permission": "write"}, "GET issues/1/comments": said}

    ticket = read(issue(comments=3), **answers)

    assert [remark.text for remark in ticket.remarks] == ["I like  as a mark."]
    assert ticket.left_out[0] == "1 comment by people who may not write to the repository"
    assert deeds(say(said)) == ["POST comments"]


# --- blockers ---


@pytest.mark.parametrize(
    ("words", "blockers", "told"),
    [
        ("Blocked by #2", ("2",), 0),
        ("Blocked by #2, o/r#3 and O/R#4", ("2", "3", "4"), 0),
        ("Depends on GH-5", ("5",), 0),
        ("Blocked by #1", (), 0),
        ("Blocked by #2 and other/r#3", ("2",), 1),
        ("Blocked by ENG-7", (), 1),
        ("Blocked by https://github.com/o/r/issues/12", ("12",), 0),
        (
            "Blocked by: https://github.com/O/R/issues/12#issuecomment-7, and [#3](https://github.com/o/r/issues/3).",
            ("12", "3"),
            0,
        ),
        (
            "## Blocked by\n- https://github.com/o/r/issues/12\n- https://github.com/o/other/issues/5",
            ("12",),
            1,
        ),
        ("See https://github.com/o/r/issues/12", (), 0),
        ("Blocked by https://evil.example/o/r/issues/12", (), 0),
    ],
)
def test_blockers_in_words(words: str, blockers: tuple[str, ...], told: int) -> None:
    ticket = read(issue(body=f"{words}\n\n- [ ] done"))

    assert ticket.blockers == blockers
    assert len(ticket.left_out) == told
    assert all("waits for" in sentence for sentence in ticket.left_out)


def test_blockers_that_github_knows_of() -> None:
    summary = {"blocked_by": 1, "total_blocked_by": 3}
    known = [
        issue(2, state="closed"),
        issue(3),
        issue(1),
        issue(8, repository_url="https://api.github.com/repos/o/other"),
        issue(9, repository_url="https://api.github.com/repos/o/other", state="closed"),
    ]
    found = issue(body="Blocked by #3\n\n- [ ] done", issue_dependencies_summary=summary)

    ticket = read(found, **{"GET issues/1/dependencies/blocked_by": known})

    assert ticket.blockers == ("3", "2")
    assert ticket.left_out == ("that it waits for o/other#8, which is no issue of this repository",)
    for status in (403, 404):
        unread = read(found, **{"GET issues/1/dependencies/blocked_by": refusal(status, "no")})
        assert unread.blockers == ("3",)
        assert unread.left_out == (
            "what it waits for: GitHub has a list of its blockers, which you may not read",
        )
    with pytest.raises(ServiceAway):
        read(found, **{"GET issues/1/dependencies/blocked_by": [issue(2), {"title": "x"}]})


# --- what is gone, and what is hidden ---


def test_a_missing_issue_is_none_only_if_the_repository_is_there() -> None:
    there = {"": {"full_name": "o/r", "has_issues": True}, "off": {"full_name": "o/r", "has_issues": False}}

    assert run(source_of({"GET ": there[""]})[0].read("1")) is None
    assert run(source_of({"GET ": there[""], "GET issues/1": refusal(410, "deleted")})[0].read("1")) is None
    with pytest.raises(ServiceRefused, match="turned off"):
        run(source_of({"GET ": there["off"], "GET issues/1": refusal(410, "off")})[0].read("1"))
    with pytest.raises(ServiceRefused, match="turned off"):
        listed({"GET ": there["off"], "GET issues": refusal(410, "off")})
    with pytest.raises(ServiceRefused, match="may not see") as hidden:
        run(source_of({})[0].read("1"))
    assert hidden.value.hint
    with pytest.raises(ServiceRefused, match="does not permit"):
        listed({"GET issues": refusal(403, "Resource not accessible by integration")})


def test_an_issue_that_was_moved_is_gone_and_one_of_a_renamed_repository_is_not() -> None:
    elsewhere = "https://api.github.com/repos/o/New"
    moved, renamed = {"GET ": {"full_name": "o/r"}}, {"GET ": {"full_name": "o/new"}}
    found = {"GET issues/1": issue(1, repository_url=elsewhere)}

    assert run(source_of({**moved, **found})[0].read("1")) is None
    assert run(source_of({**renamed, **found})[0].read("1")) is not None
    assert run(source_of({**renamed, "GET issues/1": issue(5)})[0].read("1")) is None
    assert run(source_of({"GET issues/1": issue(1, pull_request={"url": "x"})})[0].read("1")) is None


# --- one comment ---


def say(comments: Any, answers: Mapping[str, Any] | None = None, text: str = "hello") -> FakeTransport:
    made = {"POST issues/1/comments": {"id": 50}, "GET issues/1/comments": comments}
    deleted = {f"DELETE issues/comments/{number}": answer(204, b"") for number in range(1, 60)}
    edited = {f"PATCH issues/comments/{number}": {"id": number} for number in range(1, 60)}
    source, transport = source_of({**made, **deleted, **edited, **(answers or {})})
    run(source.say("1", text))
    return transport


def deeds(transport: FakeTransport) -> list[str]:
    return [f"{one.method} {one.path.rpartition('/')[2]}" for one in transport.asked if one.method != "GET"]


def test_a_comment_is_made_edited_or_left_as_it_is() -> None:
    assert deeds(say([])) == ["POST comments"]
    assert deeds(say([own(4, "hello")])) == []
    assert deeds(say([own(4, "hello  \r")])) == []
    assert deeds(say([comment(4, f"hello\r\n\r\n{MARK}\r\n")])) == []
    edited = say([own(4, "before")])
    assert deeds(edited) == ["PATCH 4"]
    assert edited.sent("PATCH", "issues/comments/4") == [{"body": f"hello\n\n{MARK}"}]


def test_of_several_the_oldest_stays() -> None:
    assert deeds(say([own(9, "b"), own(4, "a"), own(7, "c")])) == ["PATCH 4", "DELETE 7", "DELETE 9"]
    raced = Answers([[], [own(49, "other"), own(50, "hello")]])
    transport = say(raced, {"DELETE issues/comments/50": refusal(404, "Not Found")})
    assert deeds(transport) == ["POST comments", "PATCH 49", "DELETE 50"]
    assert [one.body for one in transport.asked if one.method == "DELETE"] == [None]


@pytest.mark.parametrize(
    "theirs",
    [
        own(4, "hello", user={"login": "someone", "type": "User"}),
        own(4, "hello", user=None),
        comment(4, f"> hello\n> {MARK}"),
        comment(4, f"{MARK}\n\nwhat is this mark?"),
        comment(4, "<!-- ralph:answer x -->"),
    ],
)
def test_words_of_others_are_neither_edited_nor_deleted(theirs: dict[str, Any]) -> None:
    assert deeds(say([theirs])) == ["POST comments"]


def test_a_workflow_does_not_know_its_name_and_takes_the_bot_for_itself() -> None:
    program = {"login": "github-actions[bot]", "type": "Bot"}
    nobody = {"GET user": refusal(403, "Resource not accessible by integration")}
    found = [own(3, "x", user=ME), own(4, "x", user=program), own(5, "x", user=program)]

    assert deeds(say(found, nobody)) == ["PATCH 4", "DELETE 5"]
    foreign = {**nobody, "PATCH issues/comments/4": refusal(403, "Resource not accessible by integration")}
    assert deeds(say(found, foreign)) == ["PATCH 4", "PATCH 5"]


def test_a_comment_is_searched_for_once() -> None:
    answers = {
        "POST issues/1/comments": {"id": 50},
        "GET issues/1/comments": Answers([[], [own(50, "one")]]),
        "GET issues/comments/50": Answers(
            [own(50, "one"), own(50, "two"), own(50, "x", user=READER), refusal(404, "deleted")]
        ),
        "PATCH issues/comments/50": {"id": 50},
    }
    source, transport = source_of(answers)
    asked = []
    for text in ("one", "two", "two", "three", "four"):
        run(source.say("1", text))
        asked.append([f"{one.method} {one.path.rpartition('/')[2][:8]}" for one in transport.asked])
        transport.asked.clear()

    assert asked[1:] == [
        ["GET 50", "PATCH 50"],
        ["GET 50"],
        ["GET 50", "GET comments", "PATCH 50"],
        ["GET 50", "GET comments", "PATCH 50"],
    ]


def test_where_nobody_could_find_it_no_comment_is_made_nor_searched_for_long() -> None:
    """52 requests for each attempt, and there is an attempt with every look."""
    link = '<https://api.github.com/x?per_page=100&page=2>; rel="next", <https://api.github.com/x?per_page=100&page=51>; rel="last"'
    source, transport = source_of({"GET issues/1/comments": answer(200, [comment(1, "x")] * 100, link=link)})

    with pytest.raises(ServiceRefused, match="too many"):
        run(source.say("1", "hello"))

    assert len(transport.asked) == 1
    assert deeds(transport) == []


def test_a_text_that_github_would_not_take_is_cut() -> None:
    (sent,) = say([], text="z" * 300_000).sent("POST", "issues/1/comments")

    assert len(sent["body"]) <= LONGEST + len(MARK) + 2
    assert sent["body"].endswith(f"too long for a comment.\n\n{MARK}")


def test_what_is_said_cannot_move_a_cursor() -> None:
    (sent,) = say([], text="a\x1b[2Jb\u202e").sent("POST", "issues/1/comments")

    assert sent["body"].startswith("ab\\u202e")


@pytest.mark.parametrize("key", ["", "0", "x", "1/labels", "../../x", "٣"])
def test_what_is_no_number_is_neither_told_nor_moved(key: str) -> None:
    source, transport = source_of({})

    with pytest.raises(ServiceRefused):
        run(source.say(key, "x"))
    with pytest.raises(ServiceRefused):
        run(source.move(key, Move.TAKE, holder="box"))
    assert transport.asked == []


# --- moves ---


def test_labels_are_moved_in_an_order_in_which_nobody_takes_a_finished_ticket() -> None:
    source, transport = source_of(
        {"POST issues/1/labels": [], "GET issues/1": issue(), "PATCH issues/1": issue(state="closed")}
    )

    run(source.move("1", Move.CLOSE, holder="box-1"))

    asked = [(one.method, one.path.removeprefix("repos/o/r/issues/1")) for one in transport.asked]
    assert asked == [("POST", "/labels"), ("DELETE", "/labels/ralph%3Abox-1"), ("GET", ""), ("PATCH", "")]
    assert transport.sent("POST", "issues/1/labels") == [{"labels": [DONE]}]
    assert transport.sent("PATCH", "issues/1") == [{"state": "closed", "state_reason": "completed"}]


def test_someone_elses_reason_for_closing_stays() -> None:
    source, transport = source_of({"POST issues/1/labels": [], "GET issues/1": issue(state="closed")})

    run(source.move("1", Move.CLOSE, holder="box-1"))

    assert transport.sent("PATCH", "issues/1") == []


@pytest.mark.parametrize("to", [Move.TAKE, Move.FINISH, Move.CLOSE])
def test_a_move_that_is_refused_says_so(to: Move) -> None:
    for refused, words in (
        (refusal(403, "Must have push access"), "permit"),
        (refusal(404, "x"), "no issue #1"),
    ):
        source, _ = source_of({"POST issues/1/labels": refused})
        with pytest.raises(RalphError, match=words) as error:
            run(source.move("1", to, holder="box-1"))
        assert error.value.hint


def test_labels_of_ralph_are_known_however_they_are_spelled() -> None:
    assert read(issue(labels=["Ralph:Done", "Bug"])).labels == ("ralph:done", "Bug")
