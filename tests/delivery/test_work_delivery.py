"""`ralph work` and plans that deliver: each task by its own branch and pull request, proven, green and merged."""

from __future__ import annotations

import json
import shlex
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.acceptance.conftest import DONE
from tests.plan_documents import story_json, tasks_json

from .killing import SECONDS, Gate, shipping
from .shipping import GREEN, RED, ShipProject, on_each_push, says, ship_project
from .world.forge import Forge

WORKFLOW = """
on: push
jobs:
  build:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - name: Check the sum
        run: sh check.sh
"""
CHECK = 'grep -q "^4$" sum.txt || { echo "sum.txt says $(cat sum.txt), but 2 + 2 is 4"; exit 1; }\n'
CODER = """
prompt=$(cat)
number=$(cat "{here}/launches" 2>/dev/null | grep -c "^$RALPH_TASK_ID$")
echo "$RALPH_TASK_ID" >> "{here}/launches"
printf '%s' "$prompt" > "{here}/prompt-$RALPH_TASK_ID-$number"
case $prompt in
  *"2 + 2 is 4"*) echo 4 > sum.txt ;;
  *) echo 5 > sum.txt; {writes} ;;
esac
{then}
echo '<promise>IMPLEMENTATION_COMPLETE</promise>'
"""
MARK = """import json, sys
path = "ralph/tasks.json"
document = json.load(open(path))
document["userStories"][0].update(json.loads(sys.argv[1]))
json.dump(document, open(path, "w"), indent=2)
"""
DIFFERS = 'echo "$RALPH_TASK_ID, $number" > "$RALPH_TASK_ID.txt"'
"""What a session changes besides, each time."""
COMMIT = {"run": "git add -A && git commit -qm session"}


@pytest.fixture
def project(forge: Forge, tmp_path: Path) -> ShipProject:
    project = ship_project(forge, tmp_path)
    project.git("checkout", "-q", "main")
    return project


def tasks(project: ShipProject, *entries: dict[str, Any], **settings: Any) -> None:
    coder = CODER.replace("{here}", str(project.programs))
    coder = coder.replace("{writes}", settings.pop("writes", DIFFERS)).replace(
        "{then}", settings.pop("then", "")
    )
    project.program("worker", coder)
    pull_request = settings.pop("pullRequest", {})
    project.setting(
        guardrails=["test -f sum.txt"],
        delivery="pr",
        pullRequest=pull_request,
        profiles={"verified": {"stages": ["coder"], **settings.pop("verified", {})}},
        **settings,
    )
    values = json.loads((project.root / ".ralph" / "settings.json").read_text())
    values["agent"] = {"command": str(project.programs / "worker")}
    project.settings(**values)
    written = [
        {
            "title": f"Add the sum {entry['id']}",
            "description": "Write 2 + 2 into sum.txt.",
            "completion": {
                "outcome": "sum.txt has the sum",
                "acceptance_criteria": ["sum.txt exists"],
                "coder": {
                    "verification_method": "external",
                    "verification_config": {"command": "test -f sum.txt"},
                },
            },
            **entry,
        }
        for entry in entries
    ]
    (project.root.parent / "tasks.yaml").write_text(yaml.safe_dump({"tasks": written}))
    project.ralph("task", "add", "-f", str(project.root.parent / "tasks.yaml"), check=0)


def status(project: ShipProject) -> dict[str, str]:
    return dict(project.rows("SELECT id, status FROM tasks"))


def told(project: ShipProject, task: str, number: int) -> str:
    return (project.programs / f"prompt-{task}-{number}").read_text()


def test_the_whole_way_from_an_accepted_task_to_a_merged_one(project: ShipProject, forge: Forge) -> None:
    """Accepted → pushed → pull request → red by a real workflow → its log in the next prompt → green → merged."""
    forge.push_as_someone_else(
        "main", {".github/workflows/ci.yml": WORKFLOW, "check.sh": CHECK}, user="owner"
    )
    forge.protect("main", checks=["build"])
    commits: list[str] = []

    def run_ci(branch: str, commit: str) -> None:
        if branch == "ralph/T-1" and commit == forge.tip(branch):
            commits.append(commit)
            forge.run_actions(commit)

    forge.github.on_push = run_ci
    tasks(project, {"id": "T-1"}, pullRequest={"merge": "squash"})

    ran = project.ralph("work", check=0)

    (pull,) = forge.pulls()
    assert pull["merged_at"]
    assert pull["title"] == "Add the sum T-1 (T-1)"
    assert "sum.txt exists" in pull["body"]
    assert "test -f sum.txt  →  exit code 0" in pull["body"]
    red, green = commits
    assert [run["conclusion"] for run in forge.checks(red)] == ["failure"]
    assert [run["conclusion"] for run in forge.checks(green)] == ["success"]
    assert pull["head"]["sha"] == green
    assert "2 + 2 is 4" not in told(project, "T-1", 0)
    assert "sum.txt says 5, but 2 + 2 is 4" in told(project, "T-1", 1)
    assert "Check the sum" in told(project, "T-1", 1)
    assert forge.git("show", "main:sum.txt") == "4"
    assert status(project) == {"T-1": "done"}
    assert "1 done" in ran.stderr
    assert project.git("rev-parse", "main") != forge.tip("main"), "the user's own branch is theirs"
    assert not (project.root / ".ralph" / "worktrees" / "T-1").exists()
    assert len(forge.requested(r"POST .*/pulls$")) == 1
    assert len(forge.requested(r"PUT .*/merge$")) == 1


def test_green_without_merging_is_ready_and_done_when_a_person_has_merged(
    project: ShipProject, forge: Forge
) -> None:
    on_each_push(forge, [("build", GREEN)], branch="ralph/T-1")
    on_each_push(forge, [("build", GREEN)], branch="ralph/T-2")
    tasks(project, {"id": "T-1"}, {"id": "T-2", "dependencies": ["T-1"]})

    waits = project.ralph("work", check=5)

    assert status(project) == {"T-1": "accepted", "T-2": "open"}
    assert "ready to be merged" in waits.stderr
    assert "T-2 waits for T-1" in waits.stderr or "1 waiting: T-2" in waits.stderr
    forge.merge_by("colleague", 1, "squash")
    forge.check(str(forge.tip("main")), "build", "success")

    project.ralph("work", check=0)

    assert status(project) == {"T-1": "done", "T-2": "accepted"}
    second = forge.pulls()[0]
    assert second["head"]["ref"] == "ralph/T-2"
    assert "T-1.txt" in forge.git("ls-tree", "--name-only", "ralph/T-2"), (
        "it began with what was merged there"
    )


def test_each_task_has_its_base(project: ShipProject, forge: Forge) -> None:
    forge.push_as_someone_else("develop", {"develop.txt": "d\n"}, user="owner")
    forge.check(str(forge.tip("develop")), "build", "success")
    for branch in ("ralph/T-1", "ralph/T-2"):
        on_each_push(forge, [("build", GREEN)], branch=branch)
    tasks(project, {"id": "T-1", "base": "develop"}, {"id": "T-2"})

    project.ralph("work", "--max-parallel", "2", check=0)

    bases = {pull["head"]["ref"]: pull["base"]["ref"] for pull in forge.pulls()}
    assert bases == {"ralph/T-1": "develop", "ralph/T-2": "main"}
    assert "develop.txt" in forge.git("ls-tree", "--name-only", "ralph/T-1")
    assert "develop.txt" not in forge.git("ls-tree", "--name-only", "ralph/T-2")


def test_unpushed_commits_of_the_user_are_in_nobodys_pull_request(project: ShipProject, forge: Forge) -> None:
    project.commit({"private.txt": "mine\n"}, "Not pushed")
    on_each_push(forge, [("build", GREEN)], branch="ralph/T-1")
    tasks(project, {"id": "T-1"})

    project.ralph("work", check=0)

    assert "private.txt" not in forge.git("ls-tree", "--name-only", "ralph/T-1")


def test_a_task_that_stays_red_fails_after_as_many_rejections_as_any_other(
    project: ShipProject, forge: Forge
) -> None:
    on_each_push(forge, [("build", RED)], branch="ralph/T-1")
    tasks(project, {"id": "T-1"}, verified={"maxRejections": 1})

    ran = project.ralph("work", check=1)

    assert status(project) == {"T-1": "failed"}
    assert "failed: build" in ran.stderr
    assert forge.pulls()[0]["state"] == "open", "the work is kept, and a person may look at it"


def test_a_session_that_finds_nothing_to_change_is_not_asked_again_and_again(
    project: ShipProject, forge: Forge
) -> None:
    """The check is run again, and then a person is asked: no session could do more."""
    on_each_push(forge, [("build", RED)], branch="ralph/T-1")
    tasks(project, {"id": "T-1"}, writes='echo same > "$RALPH_TASK_ID.txt"')

    ran = project.ralph("work", check=5)

    assert "a session found nothing to change" in ran.stderr
    assert status(project) == {"T-1": "accepted"}
    assert len((project.programs / "launches").read_text().split()) == 2


def test_what_a_killed_process_merged_from_the_base_is_proven_and_pushed(
    project: ShipProject, forge: Forge
) -> None:
    """Killed between the merge and the note that it counts as accepted."""
    on_each_push(forge, [("build", GREEN)], branch="ralph/T-1")
    tasks(project, {"id": "T-1"})
    project.ralph("work", check=0)
    base = forge.push_as_someone_else("main", {"theirs.txt": "theirs\n"})
    worktree = str(project.root / ".ralph" / "worktrees" / "T-1")
    project.git("-C", worktree, "fetch", "-q", "origin", "main")
    project.git("-C", worktree, "merge", "-q", "--no-ff", "-m", "Merge main into ralph/T-1", base)
    with closing(sqlite3.connect(project.root / ".ralph" / "ralph.db")) as database, database:
        changed = "UPDATE deliveries SET delivered = json_set(delivered, '$.updating', ?)"
        assert database.execute(changed, (base,)).rowcount == 1

    ran = project.ralph("work", check=0)

    assert "changed after the work was accepted" not in ran.stderr
    assert len((project.programs / "launches").read_text().split()) == 1, "nothing is worked on again"
    assert forge.tip("ralph/T-1") == project.git("rev-parse", "ralph/T-1").strip()
    assert "theirs.txt" in forge.git("ls-tree", "--name-only", "ralph/T-1")
    assert status(project) == {"T-1": "accepted"}


def test_what_is_accepted_after_a_person_merged_gets_another_pull_request(
    project: ShipProject, forge: Forge, tmp_path: Path
) -> None:
    """A person merges while a session works on it: its work is not lost, and the task not done without it."""
    gate = Gate(tmp_path / "gate")
    on_each_push(forge, [("build", RED)], [("build", GREEN)], branch="ralph/T-1")
    then = f'[ "$number" = 0 ] || {{ {gate.script}; }}'
    tasks(project, {"id": "T-1"}, then=then, pullRequest={"checks": ["build"]})

    with shipping(project, "work") as process:
        gate.wait()
        forge.merge_by("colleague", 1, "merge")
        gate.open()
        assert process.wait(SECONDS) == 0

    assert status(project) == {"T-1": "accepted"}, "the second one is ready"
    second = forge.pull(2)
    assert (second["state"], second["head"]["ref"]) == ("open", "ralph/T-1")
    assert forge.git("show", "ralph/T-1:T-1.txt") == "T-1, 1"
    assert forge.git("show", "main:T-1.txt") == "T-1, 0"
    forge.merge_by("colleague", 2, "merge")

    project.ralph("work", check=0)

    assert status(project) == {"T-1": "done"}
    assert not (project.root / ".ralph" / "worktrees" / "T-1").exists()


def test_a_run_delivers_on_a_branch_of_its_own(project: ShipProject, forge: Forge) -> None:
    pushed: list[str] = []

    def green(branch: str, commit: str) -> None:
        if branch.startswith("ralph/"):
            pushed.append(branch)
            forge.check(commit, "build", **(RED if len(pushed) == 1 else GREEN))

    forge.github.on_push = green
    project.setting(guardrails=["test -f made.txt"])
    project.agent(says(DONE, made__txt="1\n"), says(DONE, made__txt="2\n"))

    project.ralph("run", "Make made.txt", "--deliver", "pr", check=0)

    (pull,) = forge.pulls()
    assert pull["title"] == "Make made.txt"
    assert pull["head"]["ref"] == pushed[0] == project.git("branch", "--show-current").strip()
    assert pushed[0].startswith("ralph/make-made-txt-"), "and main is as it was"
    first, second = project.prompts()
    assert first.startswith("Make made.txt")
    assert 'Check "build" failed' in second
    assert "> Make made.txt" in second, "and what it was all for"
    assert "claims were denied" in pull["body"]
    assert len({run_id for (run_id,) in project.rows("SELECT id FROM runs")}) == 1, "one run, one budget"


def test_what_is_not_committed_is_not_swept_into_a_pull_request(project: ShipProject, forge: Forge) -> None:
    (project.root / "notes.txt").write_text("mine\n")

    refused = project.ralph("run", "Make made.txt", "--deliver", "pr", check=2)

    assert "notes.txt" in refused.stderr
    assert "git stash -u" in refused.stderr
    assert not project.prompts()
    assert forge.pulls() == []


def test_a_plan_delivers_its_branch_when_every_story_is_approved(project: ShipProject, forge: Forge) -> None:
    on_each_push(forge, [("build", RED)], [("build", GREEN)], branch="ralph/search")
    project.setting(guardrails=["test -f made.txt"])
    project.ralph("plan", "new", "--name", "search", check=0)
    document = tasks_json(story_json("A"), branchName="ralph/search", description="Search by date")
    (project.root / "ralph" / "tasks.json").write_text(json.dumps(document, indent=2))
    project.git("add", "-A")
    project.git("commit", "-qm", "plan")
    project.git("push", "-q", "origin", "main")
    mark = project.programs / "mark.py"
    mark.write_text(MARK)

    def marks(**fields: Any) -> dict[str, str]:
        return {"run": shlex.join([sys.executable, str(mark), json.dumps(fields)])}

    tampers = marks(notes="fixed in CI")
    project.agent(
        [*says("ok", made__txt="1\n"), marks(reviewStatus="needs_review", notes="built"), COMMIT],
        [marks(reviewStatus="approved", passes=True, notes="built", reviewCount=1), COMMIT, {"say": "ok"}],
        [*says(made__txt="2\n"), tampers, {"say": DONE}],
        [{"run": "git checkout -q ralph/tasks.json"}, *says(DONE, made__txt="3\n")],
    )

    project.ralph("plan", "run", "--no-sandbox", "--deliver", "pr", check=0)

    (pull,) = forge.pulls()
    assert pull["title"] == "Search by date"
    assert (pull["head"]["ref"], pull["base"]["ref"]) == ("ralph/search", "main")
    assert forge.git("show", "ralph/search:made.txt") == "3"
    prompts = project.prompts()
    assert 'Check "build" failed' in prompts[2]
    assert "ralph/tasks.json has changed" in prompts[3], "approved stories are not a fix session's to change"


def test_a_sandboxed_agent_works_on_a_pull_request_that_ralph_pushes(
    project: ShipProject, forge: Forge
) -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    project.git("checkout", "-q", "feature")
    on_each_push(forge, [("build", RED)], [("build", GREEN)])
    project.agent([{"run": "git push origin HEAD:evil || echo no"}, *says(DONE, work__txt="2\n")])

    project.setting(sandbox={"writable": [str(project.programs)]})

    project.ship("--sandbox", "bwrap", check=0)

    (pull,) = forge.pulls()
    assert pull["head"]["sha"] == project.tip
    assert forge.git("show", "feature:work.txt") == "2"
    assert forge.tip("evil") is None
