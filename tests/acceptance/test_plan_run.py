"""``ralph plan run`` as a user meets it: agents that lie, runs that are killed in the middle, what comes after."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from typing import Any

import pytest

from tests.plan_documents import story_json, tasks_json

from .conftest import Project, Session

RUN = ("plan", "run", "--no-sandbox")
KILLED = -signal.SIGKILL
LIMIT_REACHED = 1
REFUSED = 2
FAULT = 4
NEEDED = {"reviewStatus": "needs_review", "notes": "built"}
APPROVED = {"reviewStatus": "approved", "passes": True, "notes": "built", "reviewCount": 1}

MARK = """import json, sys
path = "ralph/tasks.json"
document = json.load(open(path))
document["userStories"][0].update(json.loads(sys.argv[1]))
json.dump(document, open(path, "w"), indent=2)
"""
COMMIT = "git add -A && git commit -qm session"
SIGNAL = """import json, os, sys
os.kill(json.load(open(".ralph-active"))["pid"], int(sys.argv[1]))
"""


class PlanRun:
    """A committed plan with one story in a repository, and an agent that plays sessions over it."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.mark, self.signal = project.programs / "mark.py", project.programs / "signal.py"
        self.mark.write_text(MARK)
        self.signal.write_text(SIGNAL)

    def write(self, **top: Any) -> None:
        project = self.project
        project.settings(agent={"command": "claude"})
        project.git("init", "-q", "-b", "main")
        (project.root / ".gitignore").write_text(".ralph/\n")
        project.ralph("plan", "new", "--name", "search", check=0)
        document = tasks_json(story_json("A"), branchName="ralph/search", **top)
        (project.root / "ralph" / "tasks.json").write_text(json.dumps(document, indent=2))
        project.git("add", "-A")
        project.git("commit", "-qm", "plan")

    def marks(self, fields: dict[str, Any]) -> str:
        return shlex.join([sys.executable, str(self.mark), json.dumps(fields)])

    def sends(self, number: signal.Signals) -> str:
        """To the ralph whose session it is."""
        return shlex.join([sys.executable, str(self.signal), str(int(number))])

    def plays(self, *shells: str) -> None:
        """One session each."""
        sessions: list[Session] = [[{"run": shell}, {"say": "ok"}] for shell in shells]
        self.project.agent(*sessions)
        (self.project.programs / "claude.sessions").unlink(missing_ok=True)

    @property
    def story(self) -> Any:
        return json.loads((self.project.root / "ralph" / "tasks.json").read_text())["userStories"][0]

    @property
    def branch(self) -> str:
        return self.project.git("branch", "--show-current").strip()

    def subjects(self) -> list[str]:
        return self.project.git("log", "--format=%s").splitlines()

    def runs(self) -> list[str]:
        return [run for (run,) in self.project.rows("SELECT id FROM runs ORDER BY started_at")]


@pytest.fixture
def plan(project: Project) -> PlanRun:
    made = PlanRun(project)
    made.write()
    return made


@pytest.fixture
def cut(plan: PlanRun) -> PlanRun:
    """A run that was killed in an implement session that had approved itself."""
    plan.plays(f"{plan.marks(APPROVED)}; echo less > ralph/prd.md; {COMMIT}; {plan.sends(signal.SIGKILL)}")
    plan.project.ralph(*RUN, check=KILLED)
    assert plan.story["passes"], "it was the session's last word"
    plan.plays(f"{plan.marks(NEEDED)}; {COMMIT}", f"{plan.marks(APPROVED)}; {COMMIT}")
    return plan


def test_a_story_is_built_reviewed_and_the_figures_are_told(plan: PlanRun) -> None:
    plan.plays(f"{plan.marks(NEEDED)}; {COMMIT}", f"{plan.marks(APPROVED)}; {COMMIT}")

    said = plan.project.ralph(*RUN, check=0).stderr

    assert "1 story × ~3 iterations each = ~3 iterations needed" in said  # noqa: RUF001
    assert "1 story approved; reviews: A 1" in said
    assert "no sandbox and no guard" in said
    assert plan.branch == "ralph/search"
    assert not (plan.project.root / ".ralph-active").exists()
    assert plan.project.git("status", "--porcelain") == ""


# --- after a kill ------------------------------------------------------------------------------------------


def test_a_resumed_run_does_not_believe_the_session_in_which_it_was_killed(cut: PlanRun) -> None:
    said = cut.project.ralph("resume", check=0).stderr

    assert "Story A was changed outside of a judged session" in said
    assert "1 story approved; reviews: A 1" in said
    assert cut.story["reviewCount"] == 1
    assert "less" not in (cut.project.root / "ralph" / "prd.md").read_text()
    assert not (cut.project.root / ".ralph-active").exists()


def test_nor_does_a_new_run(cut: PlanRun) -> None:
    first = cut.runs()[0]
    said = cut.project.ralph(*RUN, check=0).stderr

    assert f"run {first} was cut off in a session that was never judged" in said
    assert "1 story × ~3 iterations each = ~3 iterations needed" in said  # noqa: RUF001
    assert "Story A was changed outside of a judged session" in said
    assert "1 story approved; reviews: A 1" in said
    assert "ralph: put the plan back" in cut.subjects()
    assert "less" not in (cut.project.root / "ralph" / "prd.md").read_text()


def test_nor_does_one_after_the_killed_run_was_removed(cut: PlanRun) -> None:
    cut.project.ralph("runs", "prune", "--keep", "0", "--yes", check=0)
    cut.plays("true")

    said = cut.project.ralph(*RUN, "-n", "1", check=LIMIT_REACHED).stderr

    assert "was cut off in a session that was never judged" in said
    assert not cut.story["passes"]


def test_nor_does_one_after_the_project_was_moved(cut: PlanRun) -> None:
    cut.project.root = cut.project.root.rename(cut.project.root.with_name("moved"))
    cut.plays("true")

    cut.project.ralph(*RUN, "-n", "1", check=LIMIT_REACHED)

    assert not cut.story["passes"]


def test_nor_does_a_third_run_when_the_second_was_killed_as_well(cut: PlanRun) -> None:
    cut.plays(cut.sends(signal.SIGKILL))
    cut.project.ralph(*RUN, check=KILLED)
    cut.plays(f"{cut.marks(APPROVED)}; {COMMIT}")

    cut.project.ralph(*RUN, "-n", "1", check=LIMIT_REACHED)

    assert not cut.story["passes"]


def test_nor_does_one_whose_clock_says_that_another_run_was_later(plan: PlanRun) -> None:
    plan.plays("true")
    plan.project.ralph(*RUN, "-n", "1", check=LIMIT_REACHED)
    (memory,) = plan.project.root.glob(".ralph/plans/*.json")
    os.utime(memory, (4_000_000_000, 4_000_000_000))
    plan.plays(f"{plan.marks(APPROVED)}; {COMMIT}; {plan.sends(signal.SIGKILL)}")
    plan.project.ralph(*RUN, check=KILLED)
    plan.plays("true")

    plan.project.ralph(*RUN, "-n", "1", check=LIMIT_REACHED)

    assert not plan.story["passes"]


def test_what_nobody_judged_is_said_to_be_so_and_can_be_taken_as_it_is(cut: PlanRun) -> None:
    first = cut.runs()[0]
    said = cut.project.ralph("plan", "status", check=0).stdout
    assert f"the last session of run {first} is not judged, or never was" in said

    said = cut.project.ralph(*RUN, "--as-found", check=0).stderr

    assert "every story is done: no iterations needed" in said
    assert cut.story["passes"]
    assert "note:" not in cut.project.ralph("plan", "status", check=0).stdout


def test_a_plan_that_was_archived_after_a_kill_does_not_come_back(cut: PlanRun) -> None:
    assert "is not judged" in cut.project.ralph("plan", "archive", check=0).stderr
    tasks = cut.project.root / "ralph" / "tasks.json"
    tasks.write_text(json.dumps(tasks_json(story_json("B"), branchName="ralph/search")))
    cut.project.git("commit", "-qam", "another plan")

    said = cut.project.ralph(*RUN, check=0).stderr

    assert "1 story approved; reviews: B 1" in said


def test_a_memory_that_an_earlier_version_left_in_the_runs_folder_is_still_a_memory(cut: PlanRun) -> None:
    (memory,) = cut.project.root.glob(".ralph/plans/*.json")
    saved = json.loads(memory.read_text())
    memory.unlink()
    (run,) = cut.project.root.glob(".ralph/runs/*")
    request = json.loads((run / "request.json").read_text())
    request["arguments"]["ralphDir"] = str(cut.project.root / "ralph")
    (run / "request.json").write_text(json.dumps(request))
    old = {name: saved[name] for name in ("tasks", "told", "inSession", "guarded")}
    (run / "plan").mkdir(exist_ok=True)
    (run / "plan" / "plan.json").write_text(json.dumps(old))
    assert "is not judged" in cut.project.ralph("plan", "status", check=0).stdout

    said = cut.project.ralph(*RUN, check=0).stderr

    assert "1 story approved; reviews: A 1" in said


def test_a_memory_that_cannot_be_read_keeps_nobody_from_archiving(cut: PlanRun) -> None:
    (memory,) = cut.project.root.glob(".ralph/plans/*.json")
    memory.write_text("{")

    ran = cut.project.ralph("plan", "archive", check=0)

    assert "warning: what ralph remembered of the plan cannot be read" in ran.stderr
    assert ran.stdout.endswith("committed\n")
    tasks = cut.project.root / "ralph" / "tasks.json"
    tasks.write_text(json.dumps(tasks_json(story_json("B"), branchName="ralph/search")))
    cut.project.git("commit", "-qam", "another plan")
    assert "1 story approved; reviews: B 1" in cut.project.ralph(*RUN, check=0).stderr


def test_a_guardrail_of_the_command_line_must_pass_before_a_story_is_approved(plan: PlanRun) -> None:
    plan.plays(f"{plan.marks(NEEDED)}; {COMMIT}", f"{plan.marks(APPROVED)}; {COMMIT}")

    plan.project.ralph(*RUN, "-n", "2", "--guardrail", "test -f proof", check=LIMIT_REACHED)

    assert not plan.story["passes"]
    assert plan.story["reviewStatus"] == "changes_requested"


def test_a_plan_that_was_drafted_after_a_kill_is_not_undone(plan: PlanRun) -> None:
    plan.plays(plan.sends(signal.SIGKILL))
    plan.project.ralph(*RUN, check=KILLED)
    drafted = json.dumps(tasks_json(story_json("B"), branchName="ralph/search"))
    plan.plays(f"echo wanted > ralph/prd.md; echo {shlex.quote(drafted)} > ralph/tasks.json")
    plan.project.ralph("plan", "draft", "something else", "--yes", check=0)
    plan.plays(f"{plan.marks(NEEDED)}; {COMMIT}", f"{plan.marks(APPROVED)}; {COMMIT}")

    said = plan.project.ralph(*RUN, check=0).stderr

    assert "1 story approved; reviews: B 1" in said


def test_an_older_run_that_is_resumed_leaves_what_a_newer_one_has_achieved(cut: PlanRun) -> None:
    first = cut.runs()[0]
    cut.project.ralph(*RUN, check=0)

    said = cut.project.ralph("resume", first, check=0).stderr

    assert "1 story approved; reviews: A 1" in said
    assert cut.story["passes"]


def test_a_plan_that_a_killed_session_damaged_keeps_no_new_run_from_starting(plan: PlanRun) -> None:
    plan.plays(f"echo broken > ralph/tasks.json; {plan.sends(signal.SIGKILL)}")
    plan.project.ralph(*RUN, check=KILLED)
    plan.plays(f"{plan.marks(NEEDED)}; {COMMIT}", f"{plan.marks(APPROVED)}; {COMMIT}")

    said = plan.project.ralph(*RUN, check=0).stderr

    assert "tasks.json was damaged and has been put back" in said


def test_what_changed_in_the_code_since_a_review_that_was_killed_is_told_and_left(plan: PlanRun) -> None:
    """It may have been a person who changed it, after the kill."""
    plan.plays(
        f"echo 1 > code; {plan.marks(NEEDED)}; {COMMIT}",
        f"echo 2 > code; {COMMIT}; {plan.sends(signal.SIGKILL)}",
    )
    plan.project.ralph(*RUN, check=KILLED)
    plan.plays(f"{plan.marks(APPROVED)}; {COMMIT}")

    said = plan.project.ralph("resume", check=0).stderr

    told = "A review was cut off, and these files have changed since it began: code. Look at them too."
    assert told in said
    assert told in plan.project.prompt(2)
    assert (plan.project.root / "code").read_text() == "2\n"


@pytest.mark.parametrize("command", [("resume",), RUN])
def test_a_session_that_left_the_branch_and_killed_the_run_is_brought_back(
    plan: PlanRun, command: tuple[str, ...]
) -> None:
    plan.plays(f"git checkout -q main && {plan.marks(APPROVED)} && {COMMIT} && {plan.sends(signal.SIGKILL)}")
    plan.project.ralph(*RUN, check=KILLED)
    assert plan.branch == "main"
    plan.plays(f"{plan.marks(NEEDED)}; {COMMIT}", f"{plan.marks(APPROVED)}; {COMMIT}")

    plan.project.ralph(*command, check=0)

    assert plan.branch == "ralph/search"
    assert plan.subjects()[:2] == ["session", "session"]
    assert len(plan.subjects()) == 3, "the plan, an implementation, a review"


def test_where_it_is_not_known_which_plan_can_be_trusted_no_new_run_begins(plan: PlanRun) -> None:
    plan.plays(f"git checkout -q main && {plan.marks(APPROVED)} && {plan.sends(signal.SIGKILL)}")
    plan.project.ralph(*RUN, check=KILLED)

    for more in ((), ("--stay",)):
        said = plan.project.ralph(*RUN, *more, check=REFUSED).stderr
        assert "was cut off in a session on ralph/search, but main is checked out" in said


def test_a_run_that_was_killed_before_its_first_session_goes_to_its_branch_when_it_is_resumed(
    plan: PlanRun,
) -> None:
    plan.plays(f"{plan.marks(NEEDED)}; {COMMIT}", f"{plan.marks(APPROVED)}; {COMMIT}")
    dies = """
import os, signal, sys
from ralph.interfaces.cli.main import main
from ralph.wiring.runs.plan_run import PlanComposition
PlanComposition.compose = lambda self, kit: os.kill(os.getpid(), signal.SIGKILL)
main(sys.argv[1:])
"""
    command = [sys.executable, "-c", dies, *RUN]
    subprocess.run(command, cwd=plan.project.root, env=plan.project.env(), timeout=60, check=False)
    assert plan.branch == "main"

    plan.project.ralph("resume", check=0)

    assert plan.branch == "ralph/search"


def test_after_a_stop_the_plan_is_the_users_again(plan: PlanRun) -> None:
    """The session ends, but is not judged; what it did to the plan is put back at once, and then nobody's edits are."""
    plan.plays(f"{plan.sends(signal.SIGINT)}; {plan.marks(APPROVED)}; {COMMIT}")
    said = plan.project.ralph(*RUN, check=130).stderr
    assert "Story A was changed outside of a judged session" in said
    assert not plan.story["passes"]

    tasks = plan.project.root / "ralph" / "tasks.json"
    tasks.write_text(json.dumps(tasks_json(story_json("A", **APPROVED), branchName="ralph/search")))
    said = plan.project.ralph("resume", check=0).stderr
    assert "1 story approved; reviews: A 1" in said


# --- what a session is told, and tries -----------------------------------------------------------------------


def test_what_is_uncommitted_keeps_a_run_from_its_branch_and_so_from_beginning(plan: PlanRun) -> None:
    """It never works on main unless it is told to."""
    plan.plays(f"{plan.marks(NEEDED)}; {COMMIT}", f"{plan.marks(APPROVED)}; {COMMIT}")
    (plan.project.root / "notes.txt").write_text("a person's own")

    refused = plan.project.ralph(*RUN, check=REFUSED).stderr

    assert (
        "main has files that are not committed, so the plan's branch ralph/search cannot be taken: notes.txt"
        in refused
    )
    assert "(git switch -c ralph/search), or give --stay to work on main" in refused
    assert (plan.branch, len(plan.subjects())) == ("main", 1)
    named = plan.project.ralph(*RUN, "search", check=REFUSED).stderr
    assert "takes no name: search" in named
    plan.project.git("stash", "-qu")
    unknown = plan.project.ralph(*RUN, check=REFUSED, GIT_AUTHOR_NAME="", GIT_COMMITTER_NAME="").stderr
    assert 'set user.name and user.email with "git config"' in unknown
    plan.project.git("checkout", "-q", "--detach")
    assert "no branch is checked out here" in plan.project.ralph(*RUN, "--stay", check=REFUSED).stderr
    assert not (plan.project.programs / "claude.sessions").exists(), "no session was paid for"
    plan.project.git("checkout", "-q", "main")
    plan.project.git("stash", "pop", "-q")

    plan.project.ralph(*RUN, "--stay", "-n", "1", check=LIMIT_REACHED)
    assert plan.branch == "main"


def test_the_marker_names_the_run_and_what_was_uncommitted_before_it(plan: PlanRun) -> None:
    root = plan.project.root
    plan.project.git("checkout", "-qb", "ralph/search")
    (root / "my notes.txt").write_text("a person's own")
    copy = plan.project.programs / "marker.json"
    plan.plays(f"cp .ralph-active {shlex.quote(str(copy))}; {plan.marks(NEEDED)}; {COMMIT} ralph")

    plan.project.ralph(*RUN, "-n", "1", check=LIMIT_REACHED)

    marker = json.loads(copy.read_text())
    assert marker["runId"] == plan.runs()[0]
    assert marker["uncommittedBefore"] == ["my notes.txt"]
    assert marker["iterationMode"] == "implement"

    plan.project.git("checkout", "-q", "main")
    (root / "other.txt").write_text("a person's own")
    refused = plan.project.ralph("resume", "-m", "2", check=REFUSED).stderr
    assert "put them away (git stash -u), " in refused
    assert f"then `ralph resume {plan.runs()[0]}`" in refused
    assert marker["preIterationSnapshot"]["A"]["reviewStatus"] is None


def test_a_session_can_neither_archive_its_plan_nor_get_rid_of_its_run_by_the_marker(plan: PlanRun) -> None:
    ralph = f"{shlex.quote(sys.executable)} -m ralph plan"
    said = shlex.quote(str(plan.project.programs / "said"))
    plan.plays(
        f"rm .ralph-active; ({ralph} archive; {ralph} draft less --yes) 2> {said}; mkdir .ralph-active; {plan.marks(NEEDED)}; {COMMIT}",
        f'echo \'{{"pid": 1, "runId": "other"}}\' > .ralph-active; {plan.marks(APPROVED)}; {COMMIT}',
    )

    plan.project.ralph(*RUN, check=0)

    assert (plan.project.programs / "said").read_text().count("is in use by run") == 2
    assert not (plan.project.root / ".ralph-active").exists()


def test_sessions_are_fresh_whatever_the_settings_say(plan: PlanRun) -> None:
    plan.project.settings(agent={"command": "claude", "continueSession": True})
    plan.plays(f"{plan.marks(NEEDED)}; {COMMIT}", f"{plan.marks(APPROVED)}; {COMMIT}")

    said = plan.project.ralph(*RUN, check=0).stderr

    assert "agent.continueSession is ignored" in said
    (request,) = (plan.project.root / ".ralph/runs").glob("*/request.json")
    settings = json.loads(request.read_text())["settings"]
    assert settings["agent"]["continueSession"] is True, "else `ralph resume` would say that it has changed"


# --- git that fails, and ralph's own output ----------------------------------------------------------------


def test_a_review_that_breaks_the_repository_approves_nothing(plan: PlanRun) -> None:
    plan.plays(
        f"{plan.marks(NEEDED)}; echo good > code.py; {COMMIT}",
        f"{plan.marks(APPROVED)}; {COMMIT}; echo bad > code.py; echo junk > .git/index",
    )

    said = plan.project.ralph(*RUN, check=FAULT).stderr

    assert "index file" in said
    assert "git status" in said, "what to do"
    (plan.project.root / ".git" / "index").unlink()
    plan.project.git("reset", "-q")
    plan.plays(f"{plan.marks(APPROVED)}; {COMMIT}")
    said = plan.project.ralph(*RUN, check=0).stderr
    assert "outside of a judged session" in said
    assert "1 story approved; reviews: A 1" in said


def test_a_repository_that_is_locked_is_told_before_a_session_is_spent(plan: PlanRun) -> None:
    plan.plays(f"{plan.marks(NEEDED)}; {COMMIT}")
    (plan.project.root / ".git" / "index.lock").touch()

    said = plan.project.ralph(*RUN, check=FAULT).stderr

    assert "index.lock" in said
    assert "remove that file if no git is running" in said
    assert plan.story["reviewStatus"] is None


def test_an_approval_that_cannot_be_committed_is_an_error(plan: PlanRun) -> None:
    plan.plays(f"{plan.marks(NEEDED)}; {COMMIT}", f"{plan.marks(APPROVED)}; touch .git/index.lock")

    assert "index.lock" in plan.project.ralph(*RUN, check=FAULT).stderr


@pytest.mark.parametrize("log", ["plan.log", "logs/plan run.log"])
def test_a_log_of_the_run_in_the_project_is_no_change_of_the_agents(plan: PlanRun, log: str) -> None:
    plan.plays(
        f"{plan.marks(NEEDED)}; echo 1 > code.py; git add code.py ralph; git commit -qm session",
        f"{plan.marks(APPROVED)}; git add ralph; git commit -qm session",
    )
    path = plan.project.root / log
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as output:
        code = subprocess.run(
            [sys.executable, "-m", "ralph", *RUN], cwd=plan.project.root, env=plan.project.env(),
            stdout=output, stderr=subprocess.STDOUT, timeout=110, check=False,
        ).returncode  # fmt: skip

    assert "1 story approved; reviews: A 1" in path.read_text()
    assert code == 0
    assert plan.branch == "ralph/search", "the log keeps nobody from the plan's branch"
    assert plan.project.git("ls-files", log) == "", "nor is it committed"
