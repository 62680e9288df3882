"""What GitHub's answers mean, and what is sent to it."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fake_transport import Answers, FakeTransport, answer, refusal

from ralph.adapters.forges.github import CALLS_OF_A_LOOK, PULSE_SECONDS, GitHub
from ralph.adapters.forges.github_facts import state_of
from ralph.adapters.online.transport import Answer, Request
from ralph.domain.delivery.facts import (
    CheckRun,
    CheckState,
    MergeMethod,
    PullState,
    Remark,
    RemarkKind,
    Required,
    Verdict,
)
from ralph.domain.delivery.texts import FailureLog
from ralph.engine.delivery.ports import Forge, NewPullRequest
from ralph.errors import ServiceAway, ServiceRefused

HEAD = "a" * 40
PULL: dict[str, Any] = {
    "number": 7,
    "node_id": "PR_7",
    "state": "open",
    "title": "Add a thing",
    "html_url": "https://github.com/o/r/pull/7",
    "body": None,
    "draft": False,
    "mergeable": True,
    "mergeable_state": "clean",
    "head": {"ref": "work", "sha": HEAD, "user": {"login": "O"}, "repo": None},
    "base": {"ref": "main", "sha": "b" * 40},
    "updated_at": "2026-01-01T00:00:00Z",
}
RUN = CheckRun("tests", CheckState.FAILED, HEAD, "11", 0.0, "https://ci/11")


def table(answers: dict[str, Any]) -> tuple[GitHub, FakeTransport]:
    transport = FakeTransport(answers)
    return GitHub(transport, "o", "r", now=lambda: 1_000.0), transport


def run(asked: Any) -> Any:
    return asyncio.run(asked)


def test_it_is_a_forge() -> None:
    forge: Forge = table({})[0]

    assert forge.look_cost == pytest.approx(CALLS_OF_A_LOOK * FakeTransport.cost)


# --- checks ---


@pytest.mark.parametrize(
    ("status", "conclusion", "state"),
    [
        ("completed", "success", CheckState.PASSED),
        ("completed", "neutral", CheckState.PASSED),
        ("completed", "skipped", CheckState.PASSED),
        ("completed", "failure", CheckState.FAILED),
        ("completed", "cancelled", CheckState.CANCELLED),
        ("completed", "stale", CheckState.CANCELLED),
        ("completed", "timed_out", CheckState.TIMED_OUT),
        ("completed", "startup_failure", CheckState.BROKEN),
        ("completed", "action_required", CheckState.HELD),
        ("completed", "", CheckState.HELD),
        ("completed", "invented_in_2031", CheckState.HELD),
        ("in_progress", "", CheckState.RUNNING),
        ("in_progress", "success", CheckState.RUNNING),
        ("queued", "", CheckState.QUEUED),
        ("waiting", "", CheckState.QUEUED),
        ("requested", "", CheckState.QUEUED),
        ("pending", "", CheckState.QUEUED),
        ("invented_in_2031", "success", CheckState.QUEUED),
        ("", "", CheckState.QUEUED),
    ],
)
def test_states(status: str, conclusion: str, state: CheckState) -> None:
    assert state_of(status, conclusion) is state


def test_of_commit_statuses_the_newest_of_each_context_counts() -> None:
    statuses = [
        {"id": 3, "context": "ci", "state": "success", "updated_at": "2026-01-01T00:00:02Z"},
        {"id": 2, "context": "ci", "state": "pending", "updated_at": "2026-01-01T00:00:01Z"},
        {"id": 4, "context": "cla", "state": "error", "updated_at": "2026-01-01T00:00:00Z"},
        {"id": 5, "context": "new", "state": "?", "updated_at": None},
    ]
    forge, _ = table(
        {
            f"GET commits/{HEAD}/check-runs": {"check_runs": []},
            f"GET commits/{HEAD}/statuses": statuses,
        }
    )

    found = {check.name: (check.state, check.id) for check in run(forge.checks(HEAD))}

    assert found == {
        "ci": (CheckState.PASSED, "status-3"),
        "cla": (CheckState.FAILED, "status-4"),
        "new": (CheckState.HELD, "status-5"),
    }


def test_a_commit_that_github_does_not_know_yet_has_no_checks() -> None:
    forge, _ = table({f"GET commits/{HEAD}/check-runs": refusal(422, f"No commit found for SHA: {HEAD}")})

    assert run(forge.checks(HEAD)) == ()


@pytest.mark.parametrize("runs", [[{"status": "completed"}], ["x"], {"a": 1}, None])
def test_a_check_that_cannot_be_read_is_not_left_out(runs: Any) -> None:
    forge, _ = table({f"GET commits/{HEAD}/check-runs": {"check_runs": runs}})

    with pytest.raises(ServiceAway):
        run(forge.checks(HEAD))


def test_a_list_without_end_is_refused() -> None:
    page = answer(200, {"check_runs": [{"name": "x"}]}, link='<x>; rel="next"')
    forge, transport = table({f"GET commits/{HEAD}/check-runs": page})

    with pytest.raises(ServiceRefused, match="too many"):
        run(forge.checks(HEAD))
    assert len(transport.asked) == 50


# --- what is required ---


def test_rules_of_both_kinds_count() -> None:
    forge, _ = table(
        {
            "GET branches/release%2F1/protection": {
                "required_status_checks": {
                    "strict": False,
                    "contexts": ["tests"],
                    "checks": [{"context": "tests"}, {"context": "lint"}],
                },
                "required_pull_request_reviews": {"required_approving_review_count": 1},
            },
            "GET rules/branches/release%2F1": [
                {
                    "type": "required_status_checks",
                    "parameters": {
                        "required_status_checks": [{"context": "types"}],
                        "strict_required_status_checks_policy": True,
                    },
                },
                {"type": "pull_request", "parameters": {"required_approving_review_count": 2}},
                {"type": "merge_queue", "parameters": None},
            ],
        }
    )

    assert run(forge.required("release/1")) == Required(("tests", "lint", "types"), 2, True)


@pytest.mark.parametrize("hidden", [refusal(404, "Branch not protected"), refusal(403, "Must be admin")])
def test_who_may_not_see_the_rules_sees_the_names_of_the_checks(hidden: Answer) -> None:
    checks = {"enforcement_level": "everyone", "contexts": ["tests"], "checks": []}
    forge, _ = table(
        {
            "GET branches/main/protection": hidden,
            "GET branches/main": {"protection": {"enabled": True, "required_status_checks": checks}},
            "GET rules/branches/main": hidden,
        }
    )

    assert run(forge.required("main")) == Required(("tests",))


def test_rules_are_not_taken_for_none_when_the_login_is_gone() -> None:
    forge, _ = table({"GET branches/main/protection": refusal(401, "Bad credentials")})

    with pytest.raises(ServiceRefused, match="not logged in"):
        run(forge.required("main"))


# --- people ---


def said(number: int, login: str, text: str, relation: str = "COLLABORATOR", **more: Any) -> dict[str, Any]:
    kind = "Bot" if login.endswith("[bot]") else "User"
    return {
        "id": number,
        "user": {"login": login, "type": kind},
        "body": text,
        "author_association": relation,
        "created_at": f"2026-01-01T00:00:{number:02}Z",
        **more,
    }


def reviewed(number: int, login: str, state: str, text: str = "", **more: Any) -> dict[str, Any]:
    moment = f"2026-01-01T00:00:{number:02}Z"
    return said(number, login, text, state=state, submitted_at=moment, commit_id=HEAD, **more)


def opinions(
    reviews: Any = (), threads: Any = (), comments: Any = (), rights: Any = None, me: Any = None
) -> Any:
    forge, _ = table(
        {
            "GET pulls/7/reviews": list(reviews),
            "GET pulls/7/comments": list(threads),
            "GET issues/7/comments": list(comments),
            "GET user": me if me is not None else {"login": "me"},
            **{
                f"GET collaborators/{quote(login)}/permission": given
                if isinstance(given, Answer)
                else {"permission": given}
                for login, given in (rights or {}).items()
            },
        }
    )
    return run(forge.opinions(7))


@pytest.mark.parametrize(
    ("login", "relation", "rights", "is_trusted"),
    [
        ("a", "OWNER", "admin", True),
        ("a", "MEMBER", "write", True),
        ("a", "MEMBER", "maintain", True),
        ("a", "MEMBER", "read", False),
        ("a", "COLLABORATOR", "none", False),
        ("a", "COLLABORATOR", refusal(404, "not a user"), False),
        ("a", "COLLABORATOR", refusal(403, "no push access"), False),
        ("a", "OWNER", refusal(403, "no push access"), True),
        ("a", "OWNER", refusal(404, "not a user"), True),
        ("a", "MEMBER", "", False),
        ("a", "MEMBER", "something new", False),
        ("a", "MEMBER", refusal(403, "no push access"), False),
        ("a", "CONTRIBUTOR", "admin", False),
        ("a", "NONE", "write", False),
        ("a[bot]", "OWNER", "admin", False),
        ("", "OWNER", "admin", False),
    ],
)
def test_who_is_trusted(login: str, relation: str, rights: Any, is_trusted: bool) -> None:
    found = opinions(comments=[said(1, login, "hello", relation)], rights={login: rights})

    assert [remark.is_trusted for remark in found.remarks] == [is_trusted]


def test_rights_are_asked_for_once_and_not_of_strangers() -> None:
    comments = [said(number, "a", "x") for number in range(1, 5)] + [said(9, "b", "y", "NONE")]
    forge, transport = table(
        {
            "GET pulls/7/reviews": [],
            "GET pulls/7/comments": [],
            "GET issues/7/comments": comments,
            "GET user": refusal(403, "Resource not accessible by integration"),
            "GET collaborators/a/permission": {"permission": "write"},
        }
    )
    run(forge.opinions(7))
    run(forge.opinions(7))

    asked = [request.path for request in transport.asked]
    assert sum("permission" in path for path in asked) == 1
    assert asked.count("user") == 1


def test_the_newest_verdict_of_each_counts() -> None:
    rights = {"a": "write", "b": "write", "c": "read", "d": "admin"}
    reviews = [
        reviewed(5, "a", "COMMENTED", "hm"),
        reviewed(2, "a", "CHANGES_REQUESTED", "no"),
        reviewed(1, "a", "APPROVED"),
        reviewed(3, "b", "APPROVED"),
        reviewed(4, "b", "DISMISSED", "was an approval"),
        reviewed(6, "c", "APPROVED"),
        reviewed(7, "d", "PENDING", "not sent"),
    ]

    found = opinions(reviews, rights=rights)

    assert [(one.author, one.verdict, one.commit) for one in found.reviews] == [("a", Verdict.OBJECTS, HEAD)]
    assert [(one.text, one.kind) for one in found.remarks] == [
        ("no", RemarkKind.REVIEW),
        ("hm", RemarkKind.REVIEW),
    ]


def test_remarks_of_every_kind_have_ids_of_their_own() -> None:
    found = opinions(
        [reviewed(1, "a", "COMMENTED", "r"), reviewed(2, "a", "APPROVED", "fine")],
        [
            said(1, "a", "t", path="x.py", line=None, original_line=3),
            said(2, "a", "answer", path="x.py", line=4, in_reply_to_id=1),
        ],
        [said(1, "a", "c"), said(2, "a", "  \n")],
        {"a": "write"},
    )

    assert {(one.id, one.kind, one.line, one.thread) for one in found.remarks} == {
        ("review-1", RemarkKind.REVIEW, None, ""),
        ("review-2", RemarkKind.COMMENT, None, ""),
        ("thread-1", RemarkKind.THREAD, 3, ""),
        ("thread-2", RemarkKind.THREAD, 4, "thread-1"),
        ("comment-1", RemarkKind.COMMENT, None, ""),
    }


OURS = "Addressed in abc.\n\n<!-- ralph:answer comment-1 -->"


@pytest.mark.parametrize(
    ("author", "text", "me", "is_heard"),
    [
        ("me", OURS, {"login": "Me"}, False),
        ("me", "No, it is not.", {"login": "me"}, True),
        ("me", "> Addressed in abc.\n> <!-- ralph:answer -->\n\nNo, it is not.", {"login": "me"}, True),
        ("eve", OURS, {"login": "me"}, True),
        ("github-actions[bot]", OURS, refusal(403, "integration"), False),
        ("me", "words", refusal(403, "integration"), True),
    ],
)
def test_our_own_words_are_left_out(author: str, text: str, me: Any, is_heard: bool) -> None:
    found = opinions(comments=[said(1, author, text)], me=me)

    assert bool(found.remarks) is is_heard


def test_ghosts_and_nothings_are_borne() -> None:
    ghost = {"id": 1, "user": None, "body": "boo", "author_association": None}
    found = opinions([{}], [{"id": 2, "body": None}], [ghost, {"body": "no id"}])

    assert [(one.author, one.is_trusted) for one in found.remarks] == [("ghost", False)]


# --- pull requests ---


def test_who_closed_it_is_asked_for() -> None:
    closed = {**PULL, "state": "closed", "merged": False}
    forge, _ = table({"GET pulls/7": closed, "GET issues/7": {"closed_by": {"login": "eve"}}})
    pull = run(forge.pull(7))
    assert (pull.state, pull.by, pull.body) == (PullState.CLOSED, "eve", "")

    unseen, _ = table({"GET pulls/7": closed, "GET issues/7": refusal(403, "no")})
    assert run(unseen.pull(7)).by == ""


@pytest.mark.parametrize(
    ("mergeable", "state", "wanted"),
    [
        (True, "clean", True),
        (False, "dirty", False),
        (None, "unknown", None),
        (None, "dirty", False),
        ("x", 1, None),
    ],
)
def test_mergeability(mergeable: Any, state: Any, wanted: bool | None) -> None:
    forge, _ = table({"GET pulls/7": {**PULL, "mergeable": mergeable, "mergeable_state": state}})

    assert run(forge.pull(7)).is_mergeable is wanted


def test_a_branch_of_a_fork_is_not_ours() -> None:
    fork = {**PULL, "number": 8, "head": {**PULL["head"], "user": {"login": "eve"}}}
    other = {**PULL, "number": 9, "head": {**PULL["head"], "ref": "work2"}}
    forge, _ = table({"GET pulls": [fork, other, {**PULL, "state": "closed"}], "GET pulls/7": PULL})

    assert run(forge.find("work")).number == 7


def test_a_pull_request_that_someone_opened_meanwhile_is_taken() -> None:
    exists = answer(
        422, {"message": "Validation Failed", "errors": [{"message": "A pull request already exists"}]}
    )
    forge, _ = table({"GET pulls": Answers([[], [PULL]]), "POST pulls": exists, "GET pulls/7": PULL})

    pull, told = run(forge.open(NewPullRequest(branch="work", base="main", title="t", body="b")))

    assert (pull.number, told) == (7, ())


def test_what_could_not_be_done_as_wanted_is_told() -> None:
    forge, transport = table(
        {
            "GET pulls": [],
            "POST pulls": Answers([refusal(422, "Draft pull requests are not supported"), answer(201, PULL)]),
            "POST issues/7/labels": refusal(403, "no"),
            "POST issues/7/assignees": {"assignees": [{"login": "Ann"}]},
            "POST pulls/7/requested_reviewers": Answers(
                [answer(201, {}), refusal(422, "not a collaborator")]
            ),
        }
    )
    wanted = NewPullRequest(
        branch="work",
        base="main",
        title="t",
        body="b",
        is_draft=True,
        labels=("bug",),
        assignees=("ann", "bob"),
        reviewers=("acme/core", "eve"),
    )

    pull, told = run(forge.open(wanted))

    assert pull.number == 7
    assert [line.split(":")[0] for line in told] == [
        "opened as a regular pull request",
        "labels could not be set",
        "assignee bob could not be set",
        "reviewer eve could not be set",
    ]
    assert transport.sent("POST", "pulls/7/requested_reviewers") == [
        {"team_reviewers": ["core"]},
        {"reviewers": ["eve"]},
    ]


# --- failures ---


def test_a_failure_without_a_log_is_told_in_the_words_of_its_service() -> None:
    output = {"title": "2 problems", "summary": "bad", "text": None, "annotations_count": 3}
    annotations = [
        {"path": "a.py", "start_line": 3, "annotation_level": "warning", "message": "hm"},
        {"path": "b.py", "start_line": 5, "annotation_level": "failure", "message": "boom\nbang"},
        {"path": ".github", "start_line": 9, "annotation_level": "failure", "message": "exit code 1"},
        {"path": "c.py", "annotation_level": "notice", "message": "fyi"},
    ]
    forge, _ = table({"GET check-runs/11": {"output": output}, "GET check-runs/11/annotations": annotations})

    found = run(forge.failure(RUN))

    assert found == FailureLog(
        "tests", "2 problems\n\nbad", "", ("b.py:5: boom bang", "a.py:3: hm"), "https://ci/11"
    )


def test_a_failed_status_is_told_by_its_description() -> None:
    status = CheckRun("ci", CheckState.FAILED, HEAD, "status-3")
    forge, _ = table({f"GET commits/{HEAD}/statuses": [{"id": 3, "description": "build 7 failed"}]})

    assert run(forge.failure(status)).text == "build 7 failed"


@pytest.mark.parametrize("status", [401, 403, 404, 410, 422])
def test_a_failure_that_may_not_be_seen_is_no_error(status: int) -> None:
    forge, _ = table({"GET check-runs/11": refusal(status, "no")})

    assert run(forge.failure(RUN)) == FailureLog("tests", url="https://ci/11")


# --- once more ---


def test_the_jobs_of_one_workflow_are_started_together_and_once() -> None:
    job = {"run_id": 5, "run_attempt": 1, "conclusion": "cancelled"}
    forge, transport = table(
        {
            "GET actions/jobs/11": job,
            "GET actions/jobs/12": job,
            "POST actions/runs/5/rerun-failed-jobs": answer(201, {}),
        }
    )

    for number in ("11", "12"):
        run(forge.rerun(CheckRun("x", CheckState.CANCELLED, HEAD, number)))

    assert len(transport.sent("POST", "actions/runs/5/rerun-failed-jobs")) == 1


def test_a_job_that_passed_is_started_alone() -> None:
    job = {"run_id": 5, "run_attempt": 1, "conclusion": "success"}
    forge, transport = table({"GET actions/jobs/11": job, "POST actions/jobs/11/rerun": answer(201, {})})

    run(forge.rerun(RUN))

    assert transport.sent("POST", "actions/jobs/11/rerun") == [{}]


def test_a_rerun_that_is_under_way_is_none_to_start() -> None:
    running = refusal(403, "The workflow run containing this job is already running")
    forge, _ = table({"GET actions/jobs/11": {"run_id": 5}, "POST actions/runs/5/rerun-failed-jobs": running})

    run(forge.rerun(RUN))


def test_checks_of_other_apps_are_requested_again() -> None:
    forge, transport = table({"POST check-runs/11/rerequest": answer(201, {})})
    run(forge.rerun(RUN))
    assert transport.sent("POST", "check-runs/11/rerequest") == [{}]

    suite, transport = table(
        {
            "POST check-runs/11/rerequest": refusal(422, "This check run is not rerequestable"),
            "GET check-runs/11": {"check_suite": {"id": 3}},
            "POST check-suites/3/rerequest": answer(201, {}),
        }
    )
    run(suite.rerun(RUN))
    assert transport.sent("POST", "check-suites/3/rerequest") == [{}]


@pytest.mark.parametrize("run_id", ["status-3", ""])
def test_a_status_cannot_be_run_again(run_id: str) -> None:
    with pytest.raises(ServiceRefused, match="another service"):
        run(table({})[0].rerun(CheckRun("ci", CheckState.FAILED, HEAD, run_id)))


# --- answers ---


def remark(kind: RemarkKind, remark_id: str, thread: str = "") -> Remark:
    return Remark(remark_id, kind, "ann", "Please\nrename " + "it " * 500, True, thread=thread)


def test_an_answer_goes_to_the_root_of_its_thread() -> None:
    forge, transport = table({"GET pulls/7/comments": [], "POST pulls/7/comments/3/replies": answer(201, {})})

    run(forge.answer(7, remark(RemarkKind.THREAD, "thread-5", "thread-3"), "Done."))

    assert transport.sent("POST", "pulls/7/comments/3/replies") == [{"body": "Done."}]


def test_an_answer_in_the_conversation_says_to_whom() -> None:
    forge, transport = table({"GET issues/7/comments": [], "POST issues/7/comments": answer(201, {})})

    run(forge.answer(7, remark(RemarkKind.REVIEW, "review-5"), "Done."))

    (sent,) = transport.sent("POST", "issues/7/comments")
    assert sent["body"].startswith("> ann: Please rename it it")
    assert sent["body"].endswith("…\n\nDone.")


def test_an_answer_whose_thread_is_gone_goes_to_the_conversation() -> None:
    forge, transport = table(
        {"GET pulls/7/comments": [], "GET issues/7/comments": [], "POST issues/7/comments": answer(201, {})}
    )

    run(forge.answer(7, remark(RemarkKind.THREAD, "thread-5"), "Done."))

    assert len(transport.sent("POST", "issues/7/comments")) == 1


@pytest.mark.parametrize("kind", [RemarkKind.THREAD, RemarkKind.COMMENT])
def test_an_answer_that_is_there_is_not_written_again(kind: RemarkKind) -> None:
    there = [{"id": 9, "body": "> ann: Please\r\n\r\nDone.\r\n\r\n<!-- ralph:answer -->"}]
    forge, transport = table({"GET pulls/7/comments": there, "GET issues/7/comments": there})

    run(forge.answer(7, remark(kind, "x-5"), "Done.\n\n<!-- ralph:answer -->"))

    assert all(request.method == "GET" for request in transport.asked)


# --- merging ---


def merge(answers: dict[str, Any]) -> tuple[Any, FakeTransport]:
    forge, transport = table({"GET pulls/7": PULL, **answers})
    return forge.merge(7, head=HEAD, method=MergeMethod.SQUASH, title="T"), transport


def test_it_is_merged() -> None:
    asked, transport = merge({"PUT pulls/7/merge": {"merged": True, "sha": "c" * 40}})

    assert run(asked) == f"merged as {'c' * 12}"
    assert transport.sent("PUT", "pulls/7/merge") == [
        {"sha": HEAD, "merge_method": "squash", "commit_title": "T"}
    ]


@pytest.mark.parametrize(
    ("status", "words", "pull"),
    [
        (409, "Head branch was modified. Review and try the merge again.", PULL),
        (405, "Base branch was modified. Review and try the merge again.", PULL),
        (405, "Head branch is out of date.", PULL),
        (405, "Pull Request is not mergeable", {**PULL, "mergeable": None}),
        (405, "Pull Request is not mergeable", {**PULL, "mergeable": False}),
        (405, "whatever", {**PULL, "head": {**PULL["head"], "sha": "e" * 40}}),
        (502, "Server Error", PULL),
        (200, "", PULL),
    ],
)
def test_what_has_changed_meanwhile_is_looked_at_again(status: int, words: str, pull: Any) -> None:
    body = {"merged": False} if status == 200 else {"message": words}
    asked, _ = merge({"PUT pulls/7/merge": answer(status, body), "GET pulls/7": pull})

    with pytest.raises(ServiceAway):
        run(asked)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (405, "Squash merges are not allowed on this repository."),
        (405, "Pull Request is still a draft"),
        (405, "Pull Request is not mergeable"),
        (403, "Resource not accessible by integration"),
        (404, "no such"),
        (422, "Invalid merge_method"),
    ],
)
def test_a_refusal_has_githubs_words(status: int, words: str) -> None:
    asked, _ = merge({"PUT pulls/7/merge": refusal(status, words)})

    with pytest.raises(ServiceRefused, match=words):
        run(asked)


def test_what_someone_merged_meanwhile_is_merged() -> None:
    merged = {**PULL, "state": "closed", "merged": True, "merge_commit_sha": "d" * 40}
    asked, _ = merge(
        {"PUT pulls/7/merge": refusal(405, "Pull Request is not mergeable"), "GET pulls/7": merged}
    )

    assert run(asked) == f"merged as {'d' * 12}"


QUEUE = refusal(405, "Changes must be made through the merge queue")
RULES = refusal(405, 'Repository rule violations found\n\nRequired status check "x" is expected.')


def errors(*messages: str, kind: str = "UNPROCESSABLE") -> Answer:
    return answer(200, {"data": None, "errors": [{"type": kind, "message": each} for each in messages]})


@pytest.mark.parametrize(
    ("refused", "graphql", "told"),
    [
        (QUEUE, {"data": {"enqueuePullRequest": {}}}, "in the merge queue"),
        (QUEUE, errors("Pull request is already in the merge queue"), "in the merge queue"),
        (QUEUE, Answers([errors("not ready"), {"data": {}}]), "auto-merge is on"),
        (RULES, {"data": {"enablePullRequestAutoMerge": {}}}, "auto-merge is on"),
    ],
)
def test_github_merges_it_itself(refused: Answer, graphql: Any, told: str) -> None:
    asked, transport = merge({"PUT pulls/7/merge": refused, "POST graphql": graphql})

    assert run(asked) == told
    variables = transport.sent("POST", "graphql")[-1]["variables"]
    assert (variables["id"], variables["head"]) == ("PR_7", HEAD)
    assert variables.get("method") == ("SQUASH" if refused is RULES else None)


def test_auto_merge_is_not_switched_on_twice() -> None:
    asked, transport = merge(
        {"PUT pulls/7/merge": RULES, "GET pulls/7": {**PULL, "auto_merge": {"merge_method": "squash"}}}
    )

    assert run(asked) == "auto-merge is on"
    assert not transport.sent("POST", "graphql")


def test_without_auto_merge_the_first_refusal_is_told() -> None:
    no = errors("Auto merge is not allowed for this repository")
    asked, _ = merge({"PUT pulls/7/merge": RULES, "POST graphql": no})

    with pytest.raises(ServiceRefused, match="is expected") as caught:
        run(asked)
    assert "not allowed" in caught.value.hint


@pytest.mark.parametrize(
    "graphql",
    [errors("Pull request is in clean status"), errors("x", kind="RATE_LIMITED"), refusal(502, "x")],
)
def test_github_may_change_its_mind(graphql: Answer) -> None:
    asked, _ = merge({"PUT pulls/7/merge": RULES, "POST graphql": graphql})

    with pytest.raises(ServiceAway):
        run(asked)


# --- the pulse ---


def test_a_pulse_is_two_requests_for_all() -> None:
    runs = [{"id": 1, "head_sha": HEAD, "status": "in_progress", "conclusion": None, "updated_at": "x"}]
    done = [{**runs[0], "status": "completed", "conclusion": "failure"}]
    pulls = [PULL, {**PULL, "number": 8, "head": {**PULL["head"], "sha": "f" * 40}}]
    transport = FakeTransport(
        {
            "GET pulls": pulls,
            "GET actions/runs": Answers([{"workflow_runs": each} for each in (runs, runs, done)]),
        }
    )
    at = [1_000.0]
    forge = GitHub(transport, "o", "r", now=lambda: at[0])

    def felt() -> Any:
        at[0] += PULSE_SECONDS
        return run(forge.pulse())

    first, second, third = (felt() for _ in range(3))

    assert first == second
    assert set(first) == {7, 8}
    assert third[7] != first[7]
    assert third[8] == first[8]
    assert run(forge.pulse()) == third
    assert len(transport.asked) == 6, "and whoever comes soon after gets the same"


def test_a_pulse_without_actions() -> None:
    assert set(run(table({"GET pulls": [PULL]})[0].pulse())) == {7}


# --- whatever it sends ---

WORDS = st.sampled_from(
    [
        "open", "closed", "completed", "success", "failure", "APPROVED", "DISMISSED", "OWNER", "User", "write", "work",
        "main", HEAD, "2026-01-01T00:00:00Z", "9999-99-99T00:00:00Z", "0001-01-01T00:00:00+23:59", "merge queue",
        "is expected", "not mergeable", "required_status_checks", "pull_request", "Done.", "\x1b[2J", "",
    ]
)  # fmt: skip
KEYS = st.sampled_from(
    [
        "number", "id", "state", "head", "base", "sha", "ref", "user", "login", "type", "body", "message", "errors",
        "check_runs", "name", "status", "conclusion", "started_at", "completed_at", "steps", "output", "text",
        "annotations_count", "workflow_runs", "permission", "author_association", "submitted_at", "in_reply_to_id",
        "path", "line", "required_status_checks", "contexts", "checks", "parameters", "object", "full_name",
        "default_branch", "permissions", "merged", "mergeable", "auto_merge", "data", "run_id", "assignees", "context",
        "updated_at", "start_line", "annotation_level", "check_suite", "protection", "head_sha", "repo", "owner",
    ]
)  # fmt: skip
NUMBERS = st.one_of(st.integers(-3, 20), st.just(2**70), st.floats(allow_nan=False, allow_infinity=False))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, WORDS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=8)),
    max_leaves=25,
)
ANSWERS = st.builds(
    Answer,
    st.sampled_from([200, 200, 200, 200, 201, 204, 302, 304, 403, 404, 405, 409, 422, 429, 500]),
    st.dictionaries(
        st.sampled_from(["link", "etag", "retry-after", "x-ratelimit-remaining", "x-ratelimit-reset"]),
        st.sampled_from(['<x>; rel="next"', "0", "17", "-1", "²", "nan", ""]),
        max_size=2,
    ),
    st.one_of(
        VALUES.map(lambda value: json.dumps(value).encode()),
        st.lists(st.dictionaries(KEYS, VALUES, max_size=10), max_size=3).map(
            lambda value: json.dumps(value).encode()
        ),
        st.dictionaries(KEYS, VALUES, max_size=25).map(lambda value: json.dumps(value).encode()),
        st.binary(max_size=20),
        st.sampled_from([b"[" * 5_000, b'{"a": "\\ud800"}', b"1e999", b"9" * 5_000]),
    ),
)


JOB = {
    "run_id": 5,
    "run_attempt": 1,
    "conclusion": "failure",
    "steps": [{"name": "s", "conclusion": "failure"}],
}
CHECKS = {"strict": True, "contexts": ["a"], "checks": [{"context": "b"}]}
GOOD: dict[str, Any] = {
    "GET ": {"full_name": "o/r", "default_branch": "main", "permissions": {"push": True}},
    "GET user": {"login": "me"},
    "GET pulls": [PULL],
    "GET pulls/7": {**PULL, "state": "closed", "merged": False},
    "GET issues/7": {"closed_by": {"login": "x"}},
    "POST pulls": PULL,
    "PATCH pulls/7": PULL,
    "POST issues/7/labels": [],
    "POST issues/7/assignees": {"assignees": [{"login": "a"}]},
    "POST pulls/7/requested_reviewers": PULL,
    "GET git/ref/heads/main": {"object": {"sha": HEAD}},
    f"GET commits/{HEAD}/check-runs": {
        "check_runs": [
            {"name": "x", "id": 1, "status": "completed", "conclusion": "success", "head_sha": HEAD}
        ]
    },
    f"GET commits/{HEAD}/statuses": [{"id": 3, "context": "ci", "state": "failure", "updated_at": "x"}],
    "GET branches/main/protection": {
        "required_status_checks": CHECKS,
        "required_pull_request_reviews": {"required_approving_review_count": 1},
    },
    "GET rules/branches/main": [
        {"type": "required_status_checks", "parameters": {"required_status_checks": [{"context": "c"}]}},
        {"type": "pull_request", "parameters": {"required_approving_review_count": 1}},
    ],
    "GET pulls/7/reviews": [reviewed(1, "a", "APPROVED", "fine"), reviewed(2, "a", "DISMISSED", "no")],
    "GET pulls/7/comments": [said(3, "a", "here", path="x", line=1, in_reply_to_id=2)],
    "GET issues/7/comments": [said(4, "b", "there", "NONE")],
    "POST issues/7/comments": {},
    "GET collaborators/a/permission": {"permission": "write"},
    "GET check-runs/11": {"output": {"title": "t", "annotations_count": 1}, "check_suite": {"id": 3}},
    "GET check-runs/11/annotations": [
        {"path": "a", "start_line": 1, "annotation_level": "failure", "message": "m"}
    ],
    "GET actions/jobs/11": JOB,
    "GET actions/jobs/11/logs": answer(200, b"2026-01-01T10:00:00.0000000Z boom"),
    "POST actions/runs/5/rerun-failed-jobs": {},
    "GET actions/runs": {"workflow_runs": [{"id": 1, "head_sha": HEAD, "status": "queued"}]},
    "PUT pulls/7/merge": QUEUE,
    "POST graphql": {"data": {}},
}


class Babbling(FakeTransport):
    """Answers whatever it likes instead, or spoils a part of a good answer."""

    def __init__(self, data: st.DataObject) -> None:
        super().__init__(GOOD)
        self._data = data
        self._left = 20

    async def ask(self, request: Request) -> Answer:
        good = await super().ask(request)
        self._left -= 1
        if self._left < 0:
            return answer(500)
        how = self._data.draw(st.sampled_from(["good", "spoilt", "spoilt", "any"]))
        if how == "any":
            return self._data.draw(ANSWERS)
        is_json = good.body[:1] in (b"{", b"[")
        return answer(good.status, self._spoil(json.loads(good.body))) if how != "good" and is_json else good

    def _spoil(self, value: Any) -> Any:
        """With one part of it, however deep, replaced or left out."""
        inner = (
            list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
        )
        key = self._data.draw(st.sampled_from([None, *inner, *inner]))
        if key is None:
            return self._data.draw(VALUES)
        if isinstance(value, dict) and self._data.draw(st.booleans()):
            return {name: each for name, each in value.items() if name != key}
        copy = dict(value) if isinstance(value, dict) else list(value)
        copy[key] = self._spoil(value[key])
        return copy


WANTED = NewPullRequest(
    branch="work",
    base="main",
    title="t",
    body="b",
    labels=("l",),
    assignees=("a",),
    reviewers=("r",),
    is_draft=True,
)
QUESTIONS = {
    "repository": lambda forge: forge.repository(),
    "pulse": lambda forge: forge.pulse(),
    "find": lambda forge: forge.find("work"),
    "pull": lambda forge: forge.pull(7),
    "open": lambda forge: forge.open(WANTED),
    "describe": lambda forge: forge.describe(7, body="b"),
    "tip": lambda forge: forge.tip("main"),
    "checks": lambda forge: forge.checks(HEAD),
    "required": lambda forge: forge.required("main"),
    "opinions": lambda forge: forge.opinions(7),
    "failure": lambda forge: forge.failure(RUN),
    "status": lambda forge: forge.failure(CheckRun("ci", CheckState.FAILED, HEAD, "status-3")),
    "rerun": lambda forge: forge.rerun(RUN),
    "answer": lambda forge: forge.answer(7, remark(RemarkKind.THREAD, "thread-3"), "Done."),
    "merge": lambda forge: forge.merge(7, head=HEAD, method=MergeMethod.MERGE),
}


@pytest.mark.parametrize("question", QUESTIONS)
@settings(max_examples=40)
@given(data=st.data())
def test_nothing_that_a_forge_says_breaks_anything(question: str, data: st.DataObject) -> None:
    forge = GitHub(Babbling(data), "o", "r", now=lambda: 1_000.0)
    expected = (ServiceAway,) if question in ("failure", "status") else (ServiceAway, ServiceRefused)

    with suppress(*expected):
        run(QUESTIONS[question](forge))
