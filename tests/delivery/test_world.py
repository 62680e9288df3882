"""The test world behaves like GitHub where deliveries depend on it; asked by gh, by git and over plain HTTP."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import psutil
import pytest

from .conftest import CACHE
from .world.forge import COLLEAGUE, READER, STRANGER, Forge
from .world.github import Job
from .world.remote import run_git

REPO = "repos/owner1/demo"
WORKFLOW = """
name: CI
on: push
jobs:
  unit:
    name: unit tests
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - name: Count
        run: echo counting && grep -q good answer.txt
  lint:
    runs-on: ubuntu-latest
    steps:
      - run: echo tidy
  after:
    needs: unit
    runs-on: ubuntu-latest
    steps:
      - run: echo after
"""


def gh(forge: Forge, *arguments: str, user: str = "owner") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["gh", "api", *arguments],
        env={**os.environ, **forge.environment(user)},
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )


def asked(forge: Forge, *arguments: str, user: str = "owner") -> Any:
    done = gh(forge, *arguments, user=user)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def refused(forge: Forge, *arguments: str, user: str = "owner") -> str:
    done = gh(forge, *arguments, user=user)
    assert done.returncode != 0
    return done.stdout + done.stderr


def get(forge: Forge, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Over plain HTTP, as where gh is missing."""
    own = forge.environment_https()
    request = urllib.request.Request(
        f"{own['GITHUB_API_URL']}/{path}",
        headers={"Authorization": f"Bearer {own['GITHUB_TOKEN']}", **headers},
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=30) as response:
            return response.status, dict(response.headers), response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, dict(error.headers), error.read()


class Work:
    """A clone in which a test writes, commits and pushes."""

    def __init__(self, forge: Forge, folder: Path) -> None:
        self.folder = forge.clone(folder)

    def git(self, *arguments: str) -> str:
        return run_git(self.folder, *arguments, environment=dict(os.environ))

    def push(self, branch: str, files: dict[str, str], *options: str) -> str:
        self.git("checkout", "-q", "-B", branch)
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", f"change {', '.join(files)}")
        self.git("push", "-q", *options, "origin", f"HEAD:refs/heads/{branch}")
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def work(forge: Forge, tmp_path: Path) -> Work:
    return Work(forge, tmp_path / "work")


def test_a_pull_request_follows_its_branch(forge: Forge, work: Work) -> None:
    first = work.push("topic", {"a.txt": "1\n"})
    opened = asked(forge, f"{REPO}/pulls", "-f", "head=topic", "-f", "base=main", "-f", "title=One")
    assert (opened["number"], opened["head"]["sha"], opened["mergeable_state"]) == (1, first, "clean")

    second = work.push("topic", {"a.txt": "2\n", "deep/er/b.txt": "b\n"})
    assert asked(forge, f"{REPO}/pulls/1")["head"]["sha"] == second
    assert [commit["sha"] for commit in asked(forge, f"{REPO}/pulls/1/commits")] == [first, second]
    assert [file["filename"] for file in asked(forge, f"{REPO}/pulls/1/files")] == ["a.txt", "deep/er/b.txt"]

    work.git("reset", "-q", "--hard", first)
    third = work.push("topic", {"a.txt": "3\n"}, "--force")
    assert asked(forge, f"{REPO}/pulls/1")["head"]["sha"] == third
    listed = asked(forge, f"{REPO}/pulls?head=owner1:topic&state=open")
    assert [pull["head"]["sha"] for pull in listed] == [third]
    assert "mergeable" not in listed[0]


def test_a_commit_has_the_same_id_on_both_sides_however_it_was_made(forge: Forge, work: Work) -> None:
    work.push("topic", {"ä ö.txt": "ü\n"})
    tree = work.git("rev-parse", "HEAD^{tree}")
    raw = work.folder / "raw"
    raw.write_text(
        f"tree {tree}\nauthor A <a@b> 1700000000 -0330\ncommitter A <a@b> 1700000000 +0545\n\nno newline"
    )
    odd = work.git("hash-object", "-t", "commit", "-w", str(raw))
    work.git("push", "-q", "origin", f"{odd}:refs/heads/odd")
    work.git("tag", "-a", "v1", "-m", "one", odd)
    work.git("push", "-q", "origin", "v1")

    assert asked(forge, f"{REPO}/branches/odd")["commit"]["sha"] == odd
    assert asked(forge, f"{REPO}/commits/{odd}")["sha"] == odd
    number = forge.check(odd, "build", "success")
    assert [run["id"] for run in asked(forge, f"{REPO}/commits/{odd}/check-runs")["check_runs"]] == [number]


def test_a_conflict_is_what_git_says_it_is(forge: Forge, work: Work) -> None:
    work.push("topic", {"a.txt": "mine\n"})
    number = forge.open_pull("topic")
    assert forge.pull(number)["mergeable"] is True
    forge.push_as_someone_else("main", {"a.txt": "theirs\n"})
    pull = asked(forge, f"{REPO}/pulls/{number}")
    assert (pull["mergeable"], pull["mergeable_state"]) == (False, "dirty")
    assert "(HTTP 405)" in refused(forge, "-X", "PUT", f"{REPO}/pulls/{number}/merge")
    assert "(HTTP 422)" in refused(forge, "-X", "PUT", f"{REPO}/pulls/{number}/update-branch")


def test_mergeable_can_be_unknown_for_a_while(forge: Forge, work: Work) -> None:
    work.push("topic", {"a.txt": "1\n"})
    number = forge.open_pull("topic")
    forge.unknown_reads = 2
    work.push("topic", {"a.txt": "2\n"})
    assert [forge.pull(number)["mergeable"] for _ in range(4)] == [None, None, True, True]


@pytest.mark.parametrize(("method", "parents"), [("merge", 2), ("squash", 1), ("rebase", 1)])
def test_a_merge_is_a_merge_in_git(forge: Forge, work: Work, method: str, parents: int) -> None:
    head = work.push("topic", {"a.txt": "1\n"})
    number = forge.open_pull("topic", title="Add a")
    theirs = forge.push_as_someone_else("main", {"b.txt": "b\n"})

    stale = refused(forge, "-X", "PUT", f"{REPO}/pulls/{number}/merge", "-f", f"sha={theirs}")
    assert "(HTTP 409)" in stale
    merged = asked(
        forge,
        "-X",
        "PUT",
        f"{REPO}/pulls/{number}/merge",
        "-f",
        f"sha={head}",
        "-f",
        f"merge_method={method}",
    )
    assert merged["sha"] == forge.tip("main")
    assert forge.git("ls-tree", "--name-only", "main").split() == ["README.md", "a.txt", "b.txt"]
    line = forge.git("rev-list", "--parents", "-1", "main").split()
    assert (line[1], len(line) - 1) == (theirs, parents)

    after = asked(forge, f"{REPO}/pulls/{number}")
    assert (after["merged"], after["state"], after["merge_commit_sha"]) == (True, "closed", merged["sha"])
    assert after["head"]["sha"] == head
    assert asked(forge, f"{REPO}/branches/main")["commit"]["sha"] == merged["sha"]
    assert "(HTTP 405)" in refused(forge, "-X", "PUT", f"{REPO}/pulls/{number}/merge")
    work.push("next", {"c.txt": "c\n"})  # and the forge goes on from there
    assert forge.pull(forge.open_pull("next"))["mergeable_state"] == "clean"


def test_update_branch_merges_the_base_into_the_head(forge: Forge, work: Work) -> None:
    forge.protect("main", strict=True)
    head = work.push("topic", {"a.txt": "1\n"})
    number = forge.open_pull("topic")
    theirs = forge.push_as_someone_else("main", {"b.txt": "b\n"})
    assert forge.pull(number)["mergeable_state"] == "behind"
    asked(forge, "-X", "PUT", f"{REPO}/pulls/{number}/update-branch", "-f", f"expected_head_sha={head}")
    new = forge.pull(number)["head"]["sha"]
    assert forge.git("rev-list", "--parents", "-1", "topic").split() == [new, head, theirs]
    assert forge.pull(number)["mergeable_state"] == "clean"


def test_rules_of_a_branch_are_enforced(forge: Forge, work: Work) -> None:
    forge.protect("main", checks=["build"], approvals=1)
    forge.refuse_pushes("main")
    head = work.push("topic", {"a.txt": "1\n"})
    number = forge.open_pull("topic")
    merge = ("-X", "PUT", f"{REPO}/pulls/{number}/merge")

    assert forge.pull(number)["mergeable_state"] == "blocked"
    assert 'Required status check "build" is expected.' in refused(forge, *merge)
    check = forge.check(head, "build", status="in_progress")
    assert 'Required status check "build" is pending.' in refused(forge, *merge)
    forge.finish(check, "success")
    forge.review(READER, "APPROVED")  # has no write access: does not count
    assert "approving review" in refused(forge, *merge)
    forge.review(COLLEAGUE, "APPROVED")
    assert forge.pull(number)["mergeable_state"] == "clean"

    with pytest.raises(AssertionError, match="GH006"):
        work.git("push", "-q", "origin", "topic:main")
    assert asked(forge, *merge)["merged"]


def test_protection_is_for_admins_and_its_contexts_for_everyone(forge: Forge) -> None:
    protection = f"{REPO}/branches/main/protection"
    assert "Branch not protected" in refused(forge, protection)
    forge.protect("main", checks=["build"], strict=True)
    assert asked(forge, protection)["required_status_checks"]["contexts"] == ["build"]
    assert "(HTTP 404)" in refused(forge, protection, user=COLLEAGUE)
    branch = asked(forge, f"{REPO}/branches/main", user=COLLEAGUE)
    assert branch["protection"]["required_status_checks"]["contexts"] == ["build"]
    assert asked(forge, f"{REPO}/rules/branches/main") == []


def test_who_may_what(forge: Forge, work: Work) -> None:
    work.push("topic", {"a.txt": "1\n"})
    number = forge.open_pull("topic")
    people = ("owner1", COLLEAGUE, READER, STRANGER)
    found = {
        login: asked(forge, f"{REPO}/collaborators/{login}/permission")["permission"] for login in people
    }
    assert found == {"owner1": "admin", COLLEAGUE: "write", READER: "read", STRANGER: "read"}
    assert asked(forge, REPO, user=READER)["permissions"]["push"] is False
    assert "(HTTP 403)" in refused(forge, "-X", "PUT", f"{REPO}/pulls/{number}/merge", user=STRANGER)
    assert "(HTTP 422)" in refused(forge, f"{REPO}/pulls/{number}/reviews", "-f", "event=APPROVE")
    assert asked(forge, "user", user=STRANGER)["login"] == STRANGER
    forge.comment(STRANGER, "do as I say")
    assert forge.comments(number)[0]["author_association"] == "NONE"


def test_one_branch_has_one_pull_request_even_if_two_ask_at_once(forge: Forge, work: Work) -> None:
    work.push("topic", {"a.txt": "1\n"})
    codes: list[int] = []

    def ask() -> None:
        codes.append(
            gh(forge, f"{REPO}/pulls", "-f", "head=topic", "-f", "base=main", "-f", "title=T").returncode
        )

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(codes) == [0, 1, 1, 1]
    assert len(forge.pulls()) == 1
    assert len(forge.requested(r"POST .*/pulls$")) == 4


def test_what_cannot_be_a_pull_request(forge: Forge, work: Work) -> None:
    opening = ("-f", "base=main", "-f", "title=T")
    assert "(HTTP 422)" in refused(forge, f"{REPO}/pulls", "-f", "head=nowhere", *opening)
    work.git("push", "-q", "origin", "main:same")
    assert "No commits between" in refused(forge, f"{REPO}/pulls", "-f", "head=same", *opening)
    assert forge.pulls() == []


def test_a_branch_that_goes_away_closes_its_pull_request(forge: Forge, work: Work) -> None:
    work.push("topic", {"a.txt": "1\n"})
    number = forge.open_pull("topic")
    work.git("push", "-q", "origin", ":topic")
    assert (forge.pull(number)["state"], forge.pull(number)["merged"]) == ("closed", False)


def test_a_pull_request_whose_commits_were_pushed_to_the_base_is_merged(forge: Forge, work: Work) -> None:
    head = work.push("topic", {"a.txt": "1\n"})
    number = forge.open_pull("topic")
    work.git("push", "-q", "origin", "topic:main")
    assert (forge.pull(number)["merged"], forge.pull(number)["merge_commit_sha"]) == (True, head)


def test_checks_have_pages_logs_and_reruns(forge: Forge, work: Work) -> None:
    head = work.push("topic", {"a.txt": "1\n"})
    forge.open_pull("topic")
    for place in range(33):
        forge.check(head, f"check {place}", "success")
    red = forge.check(head, "build", "failure", log="one\ntwo", step="Run make")
    first = asked(forge, f"{REPO}/commits/{head}/check-runs")
    assert (first["total_count"], len(first["check_runs"])) == (34, 30)
    every = asked(forge, "--paginate", "--slurp", f"{REPO}/commits/{head}/check-runs")
    assert sum(len(page["check_runs"]) for page in every) == 34

    job = asked(forge, f"{REPO}/actions/jobs/{red}")
    assert [step["name"] for step in job["steps"] if step["conclusion"] == "failure"] == ["Run make"]
    log = gh(forge, f"{REPO}/actions/jobs/{red}/logs").stdout
    assert [line.split(" ", 1)[1] for line in log.splitlines()] == ["one", "two"]
    assert get(forge, f"{REPO}/actions/jobs/{red}/logs")[2].decode() == log.replace("\n", "\r\n").replace(
        "\r\r", "\r"
    )

    again: list[Job] = []
    forge.on_rerun = again.append
    assert asked(forge, "-X", "POST", f"{REPO}/actions/jobs/{red}/rerun") == {}
    assert "already running" in refused(forge, "-X", "POST", f"{REPO}/actions/jobs/{again[0].id}/rerun")
    forge.finish(again[0].id, "success")
    runs = [run["conclusion"] for run in forge.checks(head, every=True) if run["name"] == "build"]
    assert runs == ["success", "failure"]
    assert len(forge.requested("/rerun$")) == 2


def test_statuses_of_the_older_kind(forge: Forge) -> None:
    commit = forge.tip("main")
    assert commit
    assert asked(forge, f"{REPO}/commits/main/status")["state"] == "pending"
    forge.status(commit, "ci/old", "failure")
    forge.status(commit, "ci/old", "success")
    combined = asked(forge, f"{REPO}/commits/{commit}/status")
    assert (combined["state"], combined["total_count"]) == ("success", 1)
    assert len(asked(forge, f"{REPO}/commits/{commit}/statuses")) == 2


def test_a_reply_stays_in_its_thread(forge: Forge, work: Work) -> None:
    head = work.push("topic", {"a.txt": "1\n2\n"})
    number = forge.open_pull("topic")
    forge.review(COLLEAGUE, "CHANGES_REQUESTED", "see below", comments=[("a.txt", 2, "why two?")])
    [comment] = asked(forge, f"{REPO}/pulls/{number}/comments")
    assert (comment["path"], comment["line"], comment["commit_id"]) == ("a.txt", 2, head)
    asked(forge, f"{REPO}/pulls/{number}/comments/{comment['id']}/replies", "-f", "body=fixed")
    assert [(line.get("in_reply_to_id"), line["body"]) for line in forge.line_comments(number)] == [
        (None, "why two?"),
        (comment["id"], "fixed"),
    ]
    missing = refused(forge, f"{REPO}/pulls/{number}/comments/999/replies", "-f", "body=x")
    assert "(HTTP 404)" in missing


def test_what_has_not_changed_is_not_sent_again(forge: Forge) -> None:
    status, headers, body = get(forge, f"api/v3/{REPO}/branches/main")
    assert (status, json.loads(body)["name"]) == (200, "main")
    assert get(forge, f"api/v3/{REPO}/branches/main", **{"If-None-Match": headers["ETag"]})[0] == 304
    forge.push_as_someone_else("main", {"a.txt": "1\n"})
    assert get(forge, f"api/v3/{REPO}/branches/main", **{"If-None-Match": headers["ETag"]})[0] == 200


def test_it_misbehaves_when_told(forge: Forge, work: Work) -> None:
    forge.misbehave(r"GET .*/branches/main", status=503, headers={"Retry-After": "7"}, times=1)
    status, headers, _ = get(forge, f"{REPO}/branches/main")
    assert (status, headers["Retry-After"]) == (503, "7")
    assert get(forge, f"{REPO}/branches/main")[0] == 200
    forge.misbehave(body="<html>", times=1)
    assert get(forge, REPO)[2] == b"<html>"
    forge.misbehave(close=True, times=1)
    with pytest.raises(OSError, match=r"closed|reset|Remote"):
        get(forge, REPO)

    work.push("topic", {"a.txt": "1\n"})
    forge.misbehave(r"POST .*/pulls$", status=502, after=True, times=1)
    assert "(HTTP 502)" in refused(
        forge, f"{REPO}/pulls", "-f", "head=topic", "-f", "base=main", "-f", "title=T"
    )
    assert len(forge.pulls()) == 1, "it was done, and not told"


def test_a_request_can_be_held_at_the_door(forge: Forge) -> None:
    with forge.hold(r"GET .*/branches/main") as held:
        thread = threading.Thread(target=get, args=(forge, f"{REPO}/branches/main"))
        thread.start()
        assert held.arrived.wait(30)
        assert thread.is_alive()
    thread.join(30)
    assert not thread.is_alive()


def test_it_remembers_who_asked_what_and_no_token(forge: Forge) -> None:
    asked(forge, f"{REPO}/branches/main", user=COLLEAGUE)
    assert [(request.method, request.user) for request in forge.requests] == [("GET", COLLEAGUE)]
    assert forge.token(COLLEAGUE) not in repr(forge.requests)
    environment = {**os.environ, **forge.environment(), "GH_TOKEN": "ghp_wrong"}
    done = subprocess.run(["gh", "api", REPO], env=environment, capture_output=True, text=True, timeout=60)
    assert "Bad credentials" in done.stderr


def test_act_is_red_and_then_green(forge: Forge, work: Work) -> None:
    red = work.push("topic", {".github/workflows/ci.yml": WORKFLOW, "answer.txt": "bad\n"})
    assert forge.run_actions(red) == {"unit tests": "failure", "lint": "success", "after": "skipped"}
    [unit] = [run for run in forge.checks(red) if run["name"] == "unit tests"]
    log = gh(forge, f"{REPO}/actions/jobs/{unit['id']}/logs").stdout
    assert "counting" in log
    assert "##[error]Process completed with exit code 1." in log
    failed = [
        step["name"]
        for step in asked(forge, f"{REPO}/actions/jobs/{unit['id']}")["steps"]
        if step["conclusion"] == "failure"
    ]
    assert failed == ["Count"]

    forge.auto_ci = True
    green = work.push("topic", {"answer.txt": "good\n"})
    assert {run["name"] for run in forge.checks(green)} == {"unit tests", "lint", "after"}, (
        "known when the push ends"
    )
    forge.wait_for_ci()
    assert {run["conclusion"] for run in forge.checks(green)} == {"success"}

    asked(forge, "-X", "POST", f"{REPO}/actions/jobs/{unit['id']}/rerun")
    forge.wait_for_ci()
    again = [run["conclusion"] for run in forge.checks(red, every=True) if run["name"] == "unit tests"]
    assert again == ["failure", "failure"]


def test_a_pull_request_with_conflicts_starts_no_workflow_of_pull_requests(forge: Forge, work: Work) -> None:
    forge.auto_ci = True
    workflow = WORKFLOW.replace("on: push", "on: pull_request")
    head = work.push("topic", {".github/workflows/ci.yml": workflow, "answer.txt": "good\n"})
    assert forge.checks(head) == []
    forge.open_pull("topic")
    forge.wait_for_ci()
    assert {run["conclusion"] for run in forge.checks(head)} == {"success"}
    forge.push_as_someone_else("main", {"answer.txt": "theirs\n"})
    head = work.push("topic", {"answer.txt": "good and mine\n"})
    forge.wait_for_ci()
    assert forge.checks(head) == []


def enable_auto_merge(forge: Forge, number: int) -> subprocess.CompletedProcess[str]:
    query = (
        "mutation($id: ID!, $method: PullRequestMergeMethod) { enablePullRequestAutoMerge("
        "input: {pullRequestId: $id, mergeMethod: $method}) { clientMutationId } }"
    )
    node = forge.pull(number)["node_id"]
    return gh(forge, "graphql", "-f", f"query={query}", "-f", f"id={node}", "-f", "method=SQUASH")


def test_auto_merge_waits_for_the_rules_and_merges_by_itself(forge: Forge, work: Work) -> None:
    forge.protect("main", checks=["build"])
    head = work.push("topic", {"a.txt": "1\n"})
    number = forge.open_pull("topic")
    assert "not allowed" in enable_auto_merge(forge, number).stderr
    forge.allow_auto_merge()
    assert enable_auto_merge(forge, number).returncode == 0
    assert asked(forge, f"{REPO}/pulls/{number}")["auto_merge"]["merge_method"] == "squash"
    assert forge.pull(number)["state"] == "open"
    forge.check(head, "build", "success")
    assert (forge.pull(number)["merged"], forge.pull(number)["merge_commit_sha"]) == (True, forge.tip("main"))


def test_a_merge_queue_merges_in_its_own_time(forge: Forge, work: Work) -> None:
    forge.require_merge_queue()
    work.push("topic", {"a.txt": "1\n"})
    number = forge.open_pull("topic")
    assert "merge queue" in refused(forge, "-X", "PUT", f"{REPO}/pulls/{number}/merge")
    query = "mutation($id: ID!) { enqueuePullRequest(input: {pullRequestId: $id}) { clientMutationId } }"
    enqueue = ("graphql", "-f", f"query={query}", "-f", f"id={forge.pull(number)['node_id']}")
    asked(forge, *enqueue)
    assert "already in the merge queue" in refused(forge, *enqueue)
    assert forge.pull(number)["merged"] is False
    assert forge.merge_queued() == [forge.tip("main")]
    assert forge.pull(number)["merged"] is True


def test_a_check_of_another_app_has_no_job_but_annotations(forge: Forge) -> None:
    commit = forge.tip("main")
    assert commit
    place = {
        "path": "README.md",
        "start_line": 1,
        "end_line": 1,
        "annotation_level": "failure",
        "message": "bad",
    }
    output = {"title": "1 error", "summary": "see below", "annotations": [place]}
    number = forge.check(commit, "other", "failure", app="other-ci", output=output)
    [run] = asked(forge, f"{REPO}/commits/{commit}/check-runs")["check_runs"]
    assert (run["app"]["slug"], run["output"]["title"]) == ("other-ci", "1 error")
    assert [line["message"] for line in asked(forge, f"{REPO}/check-runs/{number}/annotations")] == ["bad"]
    assert "(HTTP 404)" in refused(forge, f"{REPO}/actions/jobs/{number}")
    assert gh(forge, "-X", "POST", f"{REPO}/check-runs/{number}/rerequest").returncode == 0
    assert [run["status"] for run in forge.checks(commit)] == ["queued"]
    forge.finish(number, "success")
    assert [run["conclusion"] for run in forge.checks(commit)] == ["success"]


def test_a_long_history_is_seen_at_once(forge: Forge, work: Work) -> None:
    work.push("topic", {"a.txt": "1\n"})
    number = forge.open_pull("topic")
    lines = [f"reset refs/heads/main\nfrom {forge.tip('main')}\n\n"]
    for place in range(10_000):  # younger than what they stand on, or git would miscount
        text = f"{place}\n"
        head = f"commit refs/heads/main\ncommitter a <a@b> {1_800_000_000 + place} +0000\ndata 2\nc\n"
        lines.append(f"{head}M 100644 inline n.txt\ndata {len(text)}\n{text}\n")
    subprocess.run(
        ["git", "fast-import", "--quiet"],
        cwd=forge.remote,
        input="".join(lines),
        text=True,
        check=True,
        timeout=60,
    )
    forge.sync()
    compared = asked(forge, f"{REPO}/compare/main...topic")
    assert (compared["ahead_by"], compared["behind_by"], compared["status"]) == (1, 10_000, "diverged")
    assert asked(forge, f"{REPO}/git/ref/heads/main")["object"]["sha"] == forge.tip("main")
    assert forge.merge_by("owner", number) == forge.tip("main")


def test_nothing_is_left_when_it_closes_in_the_middle_of_a_job(tmp_path: Path) -> None:
    workflow = WORKFLOW.replace("echo counting &&", "echo counting; sleep 3600;")
    with Forge(CACHE, tmp_path) as forge:
        forge.auto_ci = True
        head = forge.push_as_someone_else("topic", {".github/workflows/ci.yml": workflow})
        ends = time.monotonic() + 60
        while not any(run["status"] == "in_progress" for run in forge.checks(head)):
            assert time.monotonic() < ends
    left = [
        process.info["cmdline"]
        for process in psutil.process_iter(["cmdline"])
        if str(tmp_path) in str(process.info)
    ]
    assert left == []
    assert list(tmp_path.iterdir()) == []
