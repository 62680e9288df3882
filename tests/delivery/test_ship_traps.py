"""Each rule of `ralph ship` as one trap, by the command line: what looks green and is not, what looks red and is not ours."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.acceptance.conftest import DONE, Session

from .shipping import GREEN, RED, ShipProject, on_each_push, over_https, says, ship_project
from .world.forge import Forge

TESTS = "def test_it() -> None:\n    assert True\n"
SECRET = "ghp_" + "Zq3" * 12


@pytest.fixture
def project(forge: Forge, tmp_path: Path) -> ShipProject:
    return over_https(ship_project(forge, tmp_path))


def meanwhile(project: ShipProject, match: str, happens: Callable[[], object]) -> int:
    """What happens while ralph waits for the answer to its first request that matches. Gives ralph's exit code."""
    with ThreadPoolExecutor(1) as threads:
        with project.forge.hold(match) as held:
            ship = threads.submit(project.ship)
            assert held.arrived.wait(60), "ralph never asked for that"
            happens()
        return ship.result(100).returncode


def resolves(text: str) -> Session:
    return [*says(README__md=text), {"run": "git add --all && git commit -qm 'Merge main'"}, {"say": DONE}]


def reruns(forge: Forge) -> int:
    return len(forge.requested(r"POST .*/(rerun|rerun-failed-jobs|rerequest)$"))


# --- what is not green ---


def test_no_check_at_all_is_not_green_unless_the_settings_say_so(forge: Forge, tmp_path: Path) -> None:
    project = over_https(ship_project(forge, tmp_path, knows_checks=False))
    project.setting(pullRequest={"merge": "squash"})

    waiting = project.ship(check=5)

    assert "no check has started, and a pull request without checks is not green" in waiting.stderr
    (pull,) = forge.pulls()
    assert pull["state"] == "open"
    assert not forge.requested(r"PUT .*/merge$")

    project.setting(pullRequest={"ci": False})
    shipped = project.ship(check=0)

    assert "no checks, as the settings say" in shipped.stderr
    assert not project.prompts()
    assert len(forge.requested(r"POST .*/pulls$")) == 1


def test_a_queued_check_is_not_green_and_resume_continues(project: ShipProject, forge: Forge) -> None:
    on_each_push(forge, [("build", {"status": "queued"}), ("lint", GREEN)])

    waiting = project.ship("--merge", "merge", check=5)

    assert "waits for build" in waiting.stderr
    assert not forge.requested(r"PUT .*/merge$")
    (build,) = [check for check in forge.checks(project.tip) if check["name"] == "build"]
    forge.finish(build["id"], "success")
    project.ralph("resume", check=0)
    assert forge.pulls()[0]["merged_at"]
    assert not project.prompts()


def test_results_of_an_older_commit_never_count(project: ShipProject, forge: Forge) -> None:
    on_each_push(forge, [("build", GREEN)], [])
    project.ship(check=0)
    first = project.tip
    project.commit({"work.txt": "2\n"})

    waiting = project.ship("--merge", "merge", check=5)

    assert forge.tip("feature") == project.tip != first
    assert "waits for build, which ran on main and has not started here" in waiting.stderr
    assert not forge.requested(r"PUT .*/merge$")


def test_a_check_that_is_late_is_waited_for_where_nobody_says_which_there_are(
    forge: Forge, tmp_path: Path
) -> None:
    project = over_https(ship_project(forge, tmp_path, knows_checks=False))
    on_each_push(forge, [("lint", GREEN)])

    waiting = project.ship("--merge", "merge", check=5)

    assert "waits a moment for checks that may still start" in waiting.stderr
    assert not forge.requested(r"PUT .*/merge$")


def test_a_check_that_failed_before_is_expected_on_the_next_commit(forge: Forge, tmp_path: Path) -> None:
    project = over_https(ship_project(forge, tmp_path, knows_checks=False))
    on_each_push(forge, [("test", RED), ("lint", GREEN)], [("lint", GREEN)])
    project.agent(says(DONE, work__txt="2\n"))

    waiting = project.ship("--merge", "merge", check=5)

    assert len(project.prompts()) == 1
    assert "waits for test" in waiting.stderr
    assert not forge.requested(r"PUT .*/merge$")


@pytest.mark.parametrize("by", ["protection", "ruleset"])
def test_a_required_check_that_never_starts_is_waited_for_and_others_decide_nothing(
    project: ShipProject, forge: Forge, by: str
) -> None:
    if by == "protection":
        forge.protect("main", checks=["build", "deploy"])
    else:
        forge.require_by_ruleset("main", ["build", "deploy"])
    on_each_push(forge, [("build", GREEN), ("lint", RED)])

    waiting = project.ship(check=5)

    assert "waits for deploy, which has not started" in waiting.stderr
    forge.check(project.tip, "deploy", "success")
    shipped = project.ralph("resume", check=0)
    assert "not required: lint" in shipped.stderr + waiting.stderr
    assert not project.prompts(), "a check that decides nothing is worth no session"


# --- what is red, and not the work's fault ---


def test_a_check_that_fails_on_the_base_too_is_told_and_not_blamed(
    project: ShipProject, forge: Forge
) -> None:
    broken = forge.tip("main")
    assert broken
    forge.check(broken, "build", **RED)
    on_each_push(forge, [("build", RED)], [("build", GREEN)])

    asking = project.ship(check=5)

    assert "build fails on main too: that is not this branch's doing" in asking.stderr
    assert "ralph resume" in asking.stderr
    assert not project.prompts()

    forge.check(forge.push_as_someone_else("main", {"fixed.txt": "1\n"}), "build", **GREEN)
    project.ralph("resume", check=0)
    assert (project.root / "fixed.txt").exists(), "the branch was updated from the repaired base"
    assert forge.tip("feature") == project.tip
    assert not project.prompts()


def test_two_results_on_one_commit_are_run_once_more_and_recorded_as_flaky(
    project: ShipProject, forge: Forge
) -> None:
    on_each_push(forge, [("build", RED), ("build", GREEN)])
    forge.on_rerun = lambda job: forge.finish(job.id, "success")

    shipped = project.ship(check=0)

    assert "build is flaky: it passed and failed on" in shipped.stderr
    assert "ready to be merged: every check passed (build is flaky)" in shipped.stderr
    assert reruns(forge) == 1
    assert not project.prompts()
    assert "Flaky (passed and failed on one commit): build" in forge.pulls()[0]["body"]


def test_a_flaky_check_that_fails_again_is_a_failure(project: ShipProject, forge: Forge) -> None:
    on_each_push(forge, [("build", GREEN), ("build", RED)], [("build", GREEN)])
    forge.on_rerun = lambda job: forge.finish(job.id, "failure", log="again: assert 3 == 2")
    project.agent(says(DONE, work__txt="2\n"))

    project.ship(check=0)

    assert reruns(forge) == 1
    (prompt,) = project.prompts()
    assert "again: assert 3 == 2" in prompt
    assert "Flaky (passed and failed on one commit): build" in forge.pulls()[0]["body"]


def test_what_says_nothing_about_the_work_is_run_once_more(project: ShipProject, forge: Forge) -> None:
    stopped = ("cancelled", "timed_out", "startup_failure")
    results = [(name, {"conclusion": name, "workflow": name}) for name in stopped]
    on_each_push(forge, [*results, ("build", GREEN)])
    forge.on_rerun = lambda job: forge.finish(job.id, "success")

    shipped = project.ship(check=0)

    assert reruns(forge) == 3
    assert "cancelled was cancelled" in shipped.stderr
    assert not project.prompts()


def test_what_is_cancelled_twice_is_a_persons_business(project: ShipProject, forge: Forge) -> None:
    on_each_push(forge, [("build", {"conclusion": "cancelled"}), ("lint", GREEN)])
    forge.on_rerun = lambda job: forge.finish(job.id, "startup_failure")

    asking = project.ship(check=5)

    assert "twice without a result: build could not start" in asking.stderr
    assert reruns(forge) == 1
    assert not project.prompts()


def test_what_times_out_twice_is_the_works_own(project: ShipProject, forge: Forge) -> None:
    on_each_push(forge, [("build", {"conclusion": "timed_out"})], [("build", GREEN)])
    forge.on_rerun = lambda job: forge.finish(job.id, "timed_out", log="still waiting for the lock")
    project.agent(says(DONE, work__txt="2\n"))

    project.ship(check=0)

    assert reruns(forge) == 1
    (prompt,) = project.prompts()
    assert "timed out twice: build" in prompt
    assert "still waiting for the lock" in prompt


# --- the base ---


def test_a_conflict_is_fixed_although_the_checks_shown_are_green(project: ShipProject, forge: Forge) -> None:
    project.commit({"README.md": "# ours\n"}, "Ours")
    theirs = forge.push_as_someone_else("main", {"README.md": "# theirs\n", "tests/test_it.py": TESTS})
    on_each_push(forge, [("build", GREEN)])
    project.agent(resolves("# ours and theirs\n"))

    project.ship(check=0)

    (prompt,) = project.prompts()
    assert "feature conflicts with main" in prompt
    assert "- README.md" in prompt
    parents = project.git("log", "-1", "--format=%P").split()
    assert theirs in parents
    assert len(parents) == 2, "a merge keeps what both sides did"
    assert (project.root / "README.md").read_text() == "# ours and theirs\n"
    assert (project.root / "tests" / "test_it.py").read_text() == TESTS
    assert forge.tip("feature") == project.tip
    assert forge.pull(1)["mergeable"] is True


@pytest.mark.parametrize("leaves", ["true", "git add --all && git commit -qm merged"])
def test_marks_of_a_conflict_that_are_left_in_place_are_denied(
    project: ShipProject, forge: Forge, leaves: str
) -> None:
    project.commit({"README.md": "# ours\n"}, "Ours")
    forge.push_as_someone_else("main", {"README.md": "# theirs\n"})
    on_each_push(forge, [("build", GREEN)])
    project.agent([{"run": leaves}, {"say": DONE}], resolves("# both\n"))

    project.ship(check=0)

    _, second = project.prompts()
    assert "The merge conflict in README.md is not resolved" in second
    assert "<<<<<<<" not in forge.git("show", "feature:README.md")
    assert forge.git("show", "feature:README.md") == "# both"
    merges = forge.git("log", "--merges", "--format=%H", "main..feature").split()
    assert len(merges) == 1


def test_a_base_that_moves_meanwhile_is_merged_proven_pushed_and_waited_for(
    project: ShipProject, forge: Forge, tmp_path: Path
) -> None:
    proven = tmp_path / "proven"
    project.setting(guardrails=[f"git rev-parse HEAD >> {proven}"])
    on_each_push(forge, [("build", GREEN)])
    first = project.tip

    code = meanwhile(
        project, r"GET .*/pulls/1$", lambda: forge.push_as_someone_else("main", {"new.txt": "1\n"})
    )

    assert code == 0
    assert proven.read_text().split() == [first, project.tip], "what was merged is another commit"
    assert forge.tip("feature") == project.tip != first
    assert project.git("log", "-1", "--format=%s").strip() == "Merge main into feature"
    assert [check["conclusion"] for check in forge.checks(project.tip)] == ["success"]
    assert project.tip[:12] in forge.pulls()[0]["body"]
    assert not project.prompts()


def test_an_update_that_breaks_the_guardrails_is_fixed_before_it_is_pushed(
    project: ShipProject, forge: Forge
) -> None:
    project.setting(guardrails=["test ! -f strict || grep -q strict work.txt"])
    forge.push_as_someone_else("main", {"strict": "1\n"})
    on_each_push(forge, [("build", GREEN)])
    first = project.tip
    project.agent(says(DONE, work__txt="strict\n"))

    project.ship(check=0)

    (prompt,) = project.prompts()
    assert "does not pass what must pass first" in prompt
    assert "grep -q strict work.txt" in prompt
    assert forge.tip("feature") == project.tip
    pushed = forge.git("log", "--format=%H", "feature").split()
    assert first in pushed
    assert (project.root / "strict").exists()


def test_what_the_base_did_to_the_tests_is_not_the_agents_doing(project: ShipProject, forge: Forge) -> None:
    """After an update a session is compared with the tests that came with it, and still may not weaken them."""
    project.setting(guardrails=["test -f work.txt"], maximumIterations=3)
    forge.push_as_someone_else("main", {"tests/test_it.py": TESTS, ".github/workflows/ci.yml": "on: push\n"})
    on_each_push(forge, [("build", GREEN)], [("build", RED)], [("build", GREEN)])
    project.agent(
        [{"run": "rm .github/workflows/ci.yml"}, *says(DONE, work__txt="2\n")],
        [{"run": "git checkout -q HEAD -- .github"}, *says(DONE, work__txt="3\n")],
    )

    project.ship(check=0)

    first, second = project.prompts()
    assert 'Check "build" failed' in first
    assert ".github/workflows/ci.yml" in second, "what the session itself did is its doing"
    assert "tests/test_it.py" not in first + second
    assert forge.git("show", "feature:.github/workflows/ci.yml") == "on: push"
    assert forge.tip("feature") == project.tip


# --- people ---


def test_someone_merged_it_meanwhile(project: ShipProject, forge: Forge) -> None:
    on_each_push(forge, [("build", {"status": "in_progress"})])
    project.ship(check=5)
    forge.merge_by("colleague", 1)

    ended = project.ralph("resume", check=0)

    assert "merged by colleague as " in ended.stderr
    assert project.git("branch", "--list", "feature").strip()


def test_someone_closed_it_meanwhile(project: ShipProject, forge: Forge) -> None:
    on_each_push(forge, [("build", {"status": "in_progress"})])
    project.ship(check=5)
    forge.close_by("colleague", 1)

    ended = project.ralph("resume", check=5)

    assert "reopen it on the forge" in ended.stderr
    assert "closed by colleague without being merged; feature keeps the work" in ended.stderr
    assert forge.tip("feature") == project.tip
    assert len(forge.requested(r"POST .*/pulls$")) == 1
    assert not project.prompts()


def test_work_after_a_merge_is_another_pull_request(project: ShipProject, forge: Forge) -> None:
    """The record of the first one must not make the second look shipped."""
    on_each_push(forge, [("build", GREEN)])
    project.ship("--merge", "squash", check=0)
    project.commit({"more.txt": "1\n"}, "Add more")

    project.ship(check=0)

    open_now = forge.pulls("open")
    assert [pull["head"]["sha"] for pull in open_now] == [project.tip]
    assert open_now[0]["number"] != 1


# --- what a session gets, and may not touch ---


def test_a_secret_in_the_log_reaches_neither_prompt_nor_record_nor_screen(
    project: ShipProject, forge: Forge
) -> None:
    log = f"export DEPLOY_TOKEN={SECRET}\ncurl -H 'Authorization: Bearer {SECRET}'\nfailed: 401\n"
    on_each_push(forge, [("build", {"conclusion": "failure", "log": log})], [("build", GREEN)])
    project.agent([{"echo_prompt": True}, *says(DONE, work__txt="2\n")])

    shipped = project.ship("--verbose", check=0)

    (prompt,) = project.prompts()
    assert "failed: 401" in prompt
    assert SECRET not in prompt + shipped.stdout + shipped.stderr
    files = [path for path in (project.root / ".ralph").rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if SECRET.encode() in path.read_bytes()]


def test_a_long_log_keeps_both_ends(project: ShipProject, forge: Forge) -> None:
    log = "\n".join(("the very beginning", *(f"line {number}" for number in range(60_000)), "the very end"))
    on_each_push(forge, [("build", {"conclusion": "failure", "log": log})], [("build", GREEN)])
    project.agent(says(DONE, work__txt="2\n"))

    project.ship(check=0)

    (prompt,) = project.prompts()
    assert "the very beginning" in prompt
    assert "the very end" in prompt
    assert "line 30000\n" not in prompt
    assert len(prompt) < 10_000


@pytest.mark.parametrize(
    ("does", "file"),
    [
        ("echo 'on: {}' > .github/workflows/ci.yml", ".github/workflows/ci.yml"),
        ("rm .github/workflows/ci.yml", ".github/workflows/ci.yml"),
        ("git mv .github/workflows/ci.yml ci.yml", ".github/workflows/ci.yml"),
        ("mkdir -p .github/actions/x && echo > .github/actions/x/action.yml", ".github/actions/x/action.yml"),
        ("echo 'test: {}' > .gitlab-ci.yml", ".gitlab-ci.yml"),
    ],
    ids=["changed", "deleted", "moved", "made", "of another forge"],
)
def test_the_files_of_ci_are_not_the_agents(project: ShipProject, forge: Forge, does: str, file: str) -> None:
    project.setting(maximumIterations=1)
    project.commit({".github/workflows/ci.yml": "on: push\n"}, "CI")
    on_each_push(forge, [("build", RED)])
    shipped = project.tip
    project.agent([{"run": f"{does} && git add --all && git commit -qm fix"}, {"say": DONE}])

    ended = project.ship(check=1)

    assert forge.tip("feature") == shipped
    assert file in ended.stderr


HIDDEN = (
    "echo evil > .github/workflows/ci.yml && echo 2 > work.txt && git add -A && git commit -qm evil"
    " && git update-index --skip-worktree .github/workflows/ci.yml && git show HEAD~1:.github/workflows/ci.yml > .github/workflows/ci.yml"
)
UNTRACKED = (
    "git rm -q --cached .github/workflows/ci.yml && echo .github/ >> .git/info/exclude && echo 2 > work.txt"
    " && git add work.txt && git commit -qm evil"
)


@pytest.mark.parametrize("hides", [HIDDEN, UNTRACKED], ids=["skip-worktree", "untracked"])
@pytest.mark.parametrize("guardrails", [["test -f work.txt"], []], ids=["guarded", "unguarded"])
def test_the_commit_is_judged_and_not_what_the_files_look_like(
    project: ShipProject, forge: Forge, hides: str, guardrails: list[str]
) -> None:
    project.setting(maximumIterations=1, guardrails=guardrails)
    project.commit({".github/workflows/ci.yml": "on: push\n"}, "CI")
    on_each_push(forge, [("build", RED)])
    project.agent([{"run": hides}, {"say": DONE}])
    shipped = project.tip

    ran = project.ship(check=1)

    assert forge.tip("feature") == shipped
    assert ".github/workflows/ci.yml" in ran.stderr
