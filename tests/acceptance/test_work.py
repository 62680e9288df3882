"""``ralph work``: tasks through their roles, each in a worktree, merged when verified."""

from __future__ import annotations

import json

import pytest

from .conftest import Project
from .task_project import NO, TaskProject


@pytest.fixture
def tasks(project: Project) -> TaskProject:
    return TaskProject(project)


def test_a_relative_program_of_your_own_agent_starts_at_the_project(tasks: TaskProject) -> None:
    tasks.settings(
        roles={"coder": {"agent": "helper"}}, others={"agents": {"helper": {"command": "tools/helper"}}}
    )
    tasks.write("tools/helper", f"#!/bin/sh\nexec '{tasks.programs / 'worker'}'\n")
    (tasks.root / "tools/helper").chmod(0o755)  # not committed: no worktree has it
    tasks.task()

    tasks.work(check=0)

    assert tasks.shown()["status"] == "done"


def test_a_task_goes_through_its_roles_and_is_merged(tasks: TaskProject) -> None:
    tasks.settings(stages=[])
    tasks.task(coder={"verification_config": {"command": "test -f T-1.txt"}})

    told = tasks.work(check=0)

    assert tasks.shown()["status"] == "done"
    assert tasks.launches() == [
        "T-1 coder",
        "T-1 reviewer",
        "T-1 tester",
        "T-1 qa",
    ]
    assert "T-1.txt" in tasks.files()
    assert (tasks.root / "T-1.txt").read_text() == "made\n"
    assert tasks.git("branch", "--list", "ralph/*") == ""
    assert not tasks.worktree().exists()
    assert "[T-1] " in told
    (row,) = [line for line in told.splitlines() if line.startswith("T-1 ")]
    assert row.split()[1] == "done"
    assert "  4           0          " in row


def test_a_task_whose_verification_held_before_any_work_is_told(tasks: TaskProject) -> None:
    tasks.settings(stages=["coder"])
    tasks.role("coder", "true")
    tasks.task(coder={"verification_config": {"command": "true"}})

    told = tasks.work(check=0)

    assert tasks.shown()["status"] == "done"
    assert "T-1: accepted without any change" in told


def test_a_rejection_sends_it_back_to_the_coder_with_the_reason(tasks: TaskProject) -> None:
    tasks.settings(stages=["coder", "reviewer"])
    tasks.role("coder", 'echo "try $number" > sum.txt')
    tasks.role(
        "reviewer",
        'if [ "$number" = 1 ]; then echo "<reject>sum.txt says try 1</reject>"; exit; fi',
    )
    tasks.task()

    tasks.work(check=0)

    assert tasks.launches() == ["T-1 coder", "T-1 reviewer"] * 2
    assert "reviewer: sum.txt says try 1" in tasks.prompt("coder", 2)
    assert "sum.txt says try 1" not in tasks.prompt("coder", 1)
    assert tasks.shown()["rejections"] == 1
    assert (tasks.root / "sum.txt").read_text() == "try 2\n"


def test_a_task_that_is_sent_back_too_often_fails_and_its_branch_stays(tasks: TaskProject) -> None:
    tasks.settings(stages=["coder", "reviewer"], maxRejections=1)
    tasks.role("reviewer", "", says="<reject>no good</reject>")
    tasks.task()

    told = tasks.work(check=1)

    shown = tasks.shown()
    assert shown["status"] == "failed"
    assert "no good" in shown["reason"]
    assert "T-1.txt" not in tasks.files()
    assert tasks.git("branch", "--list", "ralph/T-1")
    assert "failed" in told


def test_a_role_that_never_passes_its_verification_gives_up_and_the_others_go_on(tasks: TaskProject) -> None:
    tasks.settings(roles={"coder": {"maxIterations": 2}})
    tasks.verified("test -f T-2.txt", "T-1")
    tasks.verified("test -f T-2.txt", "T-2")

    told = tasks.work(check=1)

    assert tasks.shown("T-1")["status"] == "failed"
    assert tasks.shown("T-2")["status"] == "done"
    assert tasks.launches() == ["T-1 coder", "T-1 coder", "T-2 coder"]
    assert "Command exited with 1, expected 0" in tasks.prompt("coder", 2)
    assert "1 failed; 1 done" in told


def test_dependencies_come_first_and_see_each_others_work(tasks: TaskProject) -> None:
    tasks.role("coder", 'ls > "$RALPH_TASK_ID.txt"')
    tasks.tasks(
        {"id": "C", "dependencies": ["A", "B"], "priority": 1},
        {"id": "A"},
        {"id": "B", "dependencies": ["A"]},
    )

    tasks.work("--max-parallel", "3", check=0)

    assert tasks.launches() == ["A coder", "B coder", "C coder"]
    assert (tasks.root / "C.txt").read_text().split() == ["A.txt", "B.txt", "C.txt", "start.txt"]


def test_tasks_run_at_the_same_time(tasks: TaskProject) -> None:
    # Each waits until all three have begun: one after the other they would never end.
    tasks.role(
        "coder",
        'touch "$here/begun-$RALPH_TASK_ID"\n'
        'while [ "$(ls "$here" | grep -c ^begun-)" -lt 3 ]; do sleep 0.05; done\n'
        'echo made > "$RALPH_TASK_ID.txt"',
    )
    tasks.tasks({"id": "A"}, {"id": "B"}, {"id": "C"})

    told = tasks.work("--max-parallel", "3", check=0)

    assert {"A.txt", "B.txt", "C.txt"} <= tasks.files()
    assert all(f"[{name}] " in told for name in "ABC")


def test_a_task_that_waits_for_a_failed_one_is_not_begun(tasks: TaskProject) -> None:
    tasks.settings(roles={"coder": {"maxIterations": 1}})
    tasks.tasks(
        {"id": "A", "completion": {"coder": {"verification_config": {"command": "false"}}}},
        {"id": "B", "dependencies": ["A"]},
    )

    told = tasks.work(check=1)

    assert tasks.launches() == ["A coder"]
    assert tasks.shown("B")["status"] == "open"
    assert "1 blocked: B" in told
    assert "waits for A, which failed" in told


def test_only_the_named_tasks_are_worked_on(tasks: TaskProject) -> None:
    tasks.tasks({"id": "A"}, {"id": "B"})

    tasks.work("b", check=0)

    assert tasks.launches() == ["B coder"]
    assert tasks.shown("A")["status"] == "open"


def test_a_conflict_becomes_an_iteration_of_the_coder(tasks: TaskProject) -> None:
    # Both begin from the same commit; the second one to be merged meets the first one's line.
    tasks.role(
        "coder",
        "if [ -f .git ] && git rev-parse -q --verify MERGE_HEAD > /dev/null; then\n"
        '  printf "A\\nB\\n" > start.txt; git add -A; git commit -qm "both"\n'
        "else\n"
        '  echo "$RALPH_TASK_ID" > start.txt; git add -A; git commit -qm "$RALPH_TASK_ID"\n'
        '  touch "$here/begun-$RALPH_TASK_ID"\n'
        '  while [ "$(ls "$here" | grep -c ^begun-)" -lt 2 ]; do sleep 0.05; done\n'
        "fi",
    )
    tasks.tasks({"id": "A"}, {"id": "B"})

    tasks.work("--max-parallel", "2", check=0)

    assert (tasks.root / "start.txt").read_text() == "A\nB\n"
    assert sorted(tasks.launches())[:1] == ["A coder"]
    assert len(tasks.launches()) == 3
    (again,) = [name for name in "AB" if tasks.launches().count(f"{name} coder") == 2]
    assert tasks.shown(again)["rejections"] == 0, "to be merged second is no fault"
    assert "merge conflict with main in start.txt" in tasks.prompt("coder", 2, again)
    assert tasks.git("status", "--porcelain", "--", ".", ":(exclude).ralph") == ""


def test_what_is_right_apart_and_wrong_together_goes_back(tasks: TaskProject) -> None:
    tasks.role(
        "coder",
        'if [ "$number" = 1 ]; then\n'
        '  touch "$here/begun-$RALPH_TASK_ID"\n'
        '  while [ "$(ls "$here" | grep -c ^begun-)" -lt 2 ]; do sleep 0.05; done\n'
        '  touch "$RALPH_TASK_ID.txt"\n'
        "else\n"
        '  git rm -qf "$RALPH_TASK_ID.txt"; touch fine.txt\n'
        "fi",
    )
    command = "! { test -f A.txt && test -f B.txt; }"
    tasks.verified(command, "A")
    tasks.verified(command, "B")

    tasks.work("--max-parallel", "2", check=0)

    (again,) = [name for name in "AB" if tasks.launches().count(f"{name} coder") == 2]
    assert tasks.shown(again)["rejections"] == 0, "to be merged second is no fault"
    assert "after merging with main" in tasks.prompt("coder", 2, again)
    assert len(tasks.files() & {"A.txt", "B.txt"}) == 1
    assert "fine.txt" in tasks.files()


def test_guardrails_hold_for_the_merged_tree_too(tasks: TaskProject) -> None:
    tasks.settings(
        others={"guardrails": [{"command": "test ! -e A.txt -o ! -e B.txt"}]},
        roles={"coder": {"maxIterations": 2}},
        maxRejections=0,
    )
    tasks.role(
        "coder",
        'touch "$here/begun-$RALPH_TASK_ID"\n'
        'while [ "$(ls "$here" | grep -c ^begun-)" -lt 2 ]; do sleep 0.05; done\n'
        'touch "$RALPH_TASK_ID.txt"',
    )
    tasks.tasks({"id": "A"}, {"id": "B"})

    tasks.work("--max-parallel", "2", check=1)

    assert sorted(tasks.shown(name)["status"] for name in "AB") == ["done", "failed"]
    assert len(tasks.files() & {"A.txt", "B.txt"}) == 1


def test_own_changes_in_the_way_are_kept_and_the_task_waits(tasks: TaskProject) -> None:
    tasks.role("coder", "echo theirs > start.txt")
    tasks.task()
    tasks.write("start.txt", "mine\n")

    told = tasks.work(check=5)

    assert (tasks.root / "start.txt").read_text() == "mine\n"
    assert tasks.shown()["status"] == "accepted"
    assert "your working tree is in the way" in told

    tasks.git("checkout", "-q", "--", "start.txt")
    tasks.work(check=0)
    assert (tasks.root / "start.txt").read_text() == "theirs\n"
    assert tasks.launches() == ["T-1 coder"]


def test_own_changes_elsewhere_are_no_obstacle(tasks: TaskProject) -> None:
    tasks.task()
    tasks.write("start.txt", "mine\n")
    tasks.write("new.txt", "mine too\n")

    tasks.work(check=0)

    assert "T-1.txt" in tasks.files()
    assert (tasks.root / "start.txt").read_text() == "mine\n"
    assert (tasks.root / "new.txt").read_text() == "mine too\n"


def test_a_role_that_is_not_enabled_gets_a_single_pass(tasks: TaskProject) -> None:
    tasks.settings(roles={"coder": {"enabled": False}})
    tasks.verified("false")

    tasks.work(check=1)

    assert tasks.launches() == ["T-1 coder"]
    assert tasks.shown()["status"] == "failed"
    assert "Iteration**: 1/1" in tasks.prompt()


def test_the_loop_can_be_turned_off_for_all_roles(tasks: TaskProject) -> None:
    tasks.settings(stages=["coder", "tester"], enabled=False)
    tasks.role("tester", "", says="not sure")
    tasks.task()

    tasks.work(check=1)

    # The tester's single pass failed, so the coder got it back, until it was too often.
    assert tasks.launches().count("T-1 tester") == 4


def test_a_stage_of_the_users_own_has_its_turn(tasks: TaskProject) -> None:
    tasks.settings(
        stages=["coder", "writer"],
        roles={"writer": {"promise": "WRITTEN", "command": "test -f docs.md", "maxIterations": 3}},
    )
    (tasks.programs / "writer.sh").write_text("echo words > docs.md\necho '<promise>WRITTEN</promise>'\n")
    tasks.task()

    tasks.work(check=0)

    assert tasks.launches() == ["T-1 coder", "T-1 writer"]
    assert "docs.md" in tasks.files()


def test_each_role_can_have_an_agent_of_its_own(tasks: TaskProject) -> None:
    tasks.settings(
        stages=["coder", "reviewer"],
        roles={"reviewer": {"agent": str(tasks.programs / "other"), "verification": "string_match"}},
    )
    tasks.project.program(
        "other",
        f"cat > /dev/null; echo other >> '{tasks.programs}/launches'; echo '<promise>REVIEW_PASSED</promise>'",
    )
    tasks.task()

    tasks.work(check=0)

    assert tasks.launches() == ["T-1 coder", "other"]


@pytest.mark.parametrize(
    "verified",
    [{"roles": {"reviewer": {"agent": "no-such-agent"}}}, {"semanticAgent": "no-such-agent"}],
)
def test_an_agent_of_a_role_that_is_missing_is_told_before_anything_is_started(
    tasks: TaskProject, verified: dict[str, object]
) -> None:
    tasks.settings(stages=["coder", "reviewer"], **verified)
    tasks.task()

    assert "agent not found: no-such-agent" in tasks.work(check=4)

    assert tasks.launches() == []
    assert tasks.project.rows("SELECT id FROM runs") == []


def test_a_task_has_a_budget_of_its_own(tasks: TaskProject) -> None:
    tasks.project.agent(
        [{"say": "not yet"}],
        [{"write": {"path": "B.txt", "content": "x"}}, {"say": "<promise>B_DONE</promise>"}],
    )
    tasks.project.settings(
        agent={"command": "claude"}, profiles={"verified": {"stages": ["coder"], "maxParallel": 1}}
    )
    tasks.tasks(
        {"id": "A", "priority": 1, "budget": {"cost_usd": 0.001}},
        {"id": "B", "completion": {"coder": {"promise": "B_DONE", "verification_method": "string_match"}}},
    )

    told = tasks.work(check=1)

    assert tasks.shown("A")["status"] == "open"
    assert tasks.shown("B")["status"] == "done"
    assert "budget reached: $0.01 of $0.00" in told

    # What is used is used: another `ralph work` does not begin it again, until it may use more.
    sessions = (tasks.programs / "claude.sessions").read_text()
    tasks.work(check=1)
    assert (tasks.programs / "claude.sessions").read_text() == sessions
    tasks.project.ralph("task", "edit", "A", "--max-cost", "1", "--coder-promise", "B_DONE", check=0)
    tasks.project.ralph("task", "edit", "A", "--coder-verify", "string_match", check=0)
    tasks.work(check=0)
    assert tasks.shown("A")["status"] == "done"


@pytest.mark.parametrize("limit", [("--max-cost", "0.02"), ("-m", "2")])
def test_the_whole_work_has_a_budget(tasks: TaskProject, limit: tuple[str, str]) -> None:
    tasks.project.agent([{"say": "not yet"}])
    tasks.project.settings(agent={"command": "claude"}, profiles={"verified": {"stages": ["coder"]}})
    tasks.tasks({"id": "A"}, {"id": "B"})

    tasks.work(*limit, check=1)

    assert int((tasks.programs / "claude.sessions").read_text()) == 2
    assert tasks.shown("B")["status"] == "open"


def test_json_lines_name_the_task(tasks: TaskProject) -> None:
    tasks.task()

    ran = tasks.project.ralph("work", "--json", check=0)

    events = [json.loads(line) for line in ran.stdout.splitlines()]
    kinds = [event["type"] for event in events if event.get("task") == "T-1"]
    assert kinds[0] == "run_started"
    assert kinds[-2:] == ["run_ended", "task_reported"]
    assert "check_ended" in kinds
    assert events[-1]["type"] == "run_ended"
    assert "task" not in events[-1]


def test_stats_show_what_the_work_teaches(tasks: TaskProject) -> None:
    tasks.settings(stages=["coder", "reviewer"])
    tasks.role("coder", 'echo "$number" > n.txt')
    tasks.tasks(
        {"id": "A", "completion": {"coder": {"verification_config": {"command": "grep -q 2 n.txt"}}}},
    )

    tasks.work(check=0)

    found = json.loads(tasks.project.ralph("stats", "--json", check=0).stdout)
    rows = {(row["role"], row["method"]): row for row in found["stages"]}
    assert rows["coder", "external"]["iterations"] == 2
    assert rows["coder", "external"]["first_pass"] == 0
    assert rows["reviewer", "semantic"]["first_pass"] == 1
    table = tasks.project.ralph("stats", check=0).stdout
    assert "coder" in table
    assert "limits of iterations" in table

    tasks.tasks({"id": "B", "completion": {"coder": {"verification_config": {"command": "false"}}}})
    launched = tasks.launches()
    estimate = json.loads(
        tasks.project.ralph("work", "--dry-run", "--json", "--max-cost", "5", check=0).stdout
    )
    (one,) = estimate["tasks"]
    assert (one["task"], one["like"], one["iterations"]) == ("B", 1, {"p50": 3, "p90": 3})
    assert (one["cost_usd"], estimate["unknown"], estimate["most_cost_usd"]) == (None, ["B"], 5.0)
    assert "unknown" in tasks.project.ralph("work", "--dry-run", check=0).stdout
    assert tasks.launches() == launched
    assert tasks.project.rows("SELECT count(*) FROM runs WHERE parent_id = ''") == [(1,)]


def test_a_task_without_a_spec_is_believed_with_a_warning(tasks: TaskProject) -> None:
    tasks.task()
    from contextlib import closing

    from ralph.adapters.storage.database import open_state_database

    with closing(open_state_database(tasks.root / ".ralph")) as database:
        database.execute("UPDATE tasks SET completion_spec = NULL")

    told = tasks.work(check=0)

    assert "has no completion spec: its promise is accepted without proof" in told
    assert "warning: 1 done" in told
    assert "T-1: accepted on its promise alone, because it has no completion spec" in told
    assert tasks.shown()["status"] == "done"


@pytest.mark.parametrize("names", [[], ["T-1"]], ids=["whatever is ready", "by its name"])
def test_what_failed_before_is_not_done_and_the_way_on_is_told(tasks: TaskProject, names: list[str]) -> None:
    tasks.settings(roles={"coder": {"maxIterations": 1}})
    tasks.verified("false")
    first = tasks.work(check=1)
    assert "`ralph task retry T-1`, then `ralph work`" in first
    assert "To continue" not in first

    again = tasks.work(*names, check=1)

    assert "`ralph task retry T-1`, then `ralph work`" in again
    assert "before this run: coder: " in again
    assert len(tasks.launches()) == 1
    tasks.project.ralph("task", "retry", "T-1", check=0)
    tasks.project.ralph("task", "edit", "T-1", "--coder-verify-cmd", "true", check=0)
    assert "retry" not in tasks.work(*names, check=0)


def test_what_is_accepted_with_the_last_iteration_is_merged(tasks: TaskProject) -> None:
    tasks.verified("true")

    assert "Completed: 1 done" in tasks.work("-m", "1", check=0)

    assert "T-1.txt" in tasks.files()


def test_tasks_side_by_side_are_sent_to_their_own_logs(tasks: TaskProject) -> None:
    """Each fails once, while the other is under way, and its agent reads the log that it is told of."""
    tasks.tasks(*({"id": name, "completion": {"coder": {"verification_config": {"command": f"echo log of {name}; test -f 2"}}}} for name in "AB"))  # fmt: skip
    log = "sed -n 's/^Full output: //p' \"$here/prompt-$RALPH_TASK_ID-coder-2\""
    tasks.role(
        "coder",
        'touch "$number"; touch "$here/$RALPH_TASK_ID-$number"\n'
        'while [ ! -e "$here/A-1" ] || [ ! -e "$here/B-1" ]; do sleep 0.05; done\n'
        f'if [ "$number" = 2 ]; then cat "$({log})" > "$here/read-$RALPH_TASK_ID"; rm 1 2; touch 2; fi',
    )

    tasks.work("--max-parallel", "2")

    for name in "AB":
        assert (tasks.programs / f"read-{name}").read_text() == f"log of {name}\n"


def test_one_that_waits_for_a_cancelled_one_says_so(tasks: TaskProject) -> None:
    tasks.tasks({"id": "A"}, {"id": "B", "dependencies": ["A"]}, {"id": "C", "dependencies": ["B"]})
    tasks.project.ralph("cancel", "A", check=0)

    assert "`ralph task retry A`, then `ralph work`" in tasks.work(check=5)
    assert "`ralph task retry A`, then `ralph work`" in tasks.work("B", check=5)
    assert "`ralph task retry A`, then `ralph work`" in tasks.work("C", check=5)
    assert "before this run: cancelled by the user" in tasks.work("A", check=1)


def test_a_rejection_is_on_record_with_its_reason(tasks: TaskProject) -> None:
    tasks.settings(stages=["coder", "reviewer"], maxRejections=0)
    tasks.verified("true")
    tasks.role("reviewer", "", says="<reject>no good</reject>")

    tasks.work(check=1)

    shown = json.loads(tasks.project.ralph("task", "show", "T-1", "--json", check=0).stdout)
    assert shown["verifications"][0]["reason"] == "no good"


def test_another_promise_than_the_stages_own_is_told_to_the_agent(tasks: TaskProject) -> None:
    tasks.verified("true")
    tasks.role("coder", 'if [ "$number" = 1 ]; then echo "<promise>ALL DONE</promise>"; exit; fi; touch x')

    tasks.work(check=0)

    assert "You said <promise>ALL DONE</promise>" in tasks.prompt("coder", 2)
    assert "say exactly <promise>IMPLEMENTATION_COMPLETE</promise>" in tasks.prompt("coder", 2)


def test_external_without_a_command_is_judged_but_not_silently(tasks: TaskProject) -> None:
    asked = ["task", "create", "T-1", "s", "t", "--outcome", "o", "--acceptance", "a"]

    made = tasks.project.ralph(*asked, "--coder-verify", "external", check=0)

    told = "coder is to be verified by external, but there is no command"
    assert told in made.stderr
    assert told in tasks.project.ralph("task", "show", "T-1", check=0).stdout
    assert told in tasks.work(check=0)
    assert tasks.judged() == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["NO-SUCH"], "there is no task NO-SUCH"),
        (["--max-parallel", "0"], "0 is not in the range x>=1"),
        (["--max-parallel", "many"], "is not a valid integer"),
    ],
)
def test_bad_arguments_are_refused(tasks: TaskProject, arguments: list[str], said: str) -> None:
    tasks.task()

    ran = tasks.project.ralph("work", *arguments, check=2)

    assert said in ran.stderr
    assert tasks.launches() == []


def test_without_tasks_it_says_how_to_make_some(tasks: TaskProject) -> None:
    assert "ralph task create" in tasks.work(check=2)


def test_without_git_it_says_what_to_do(project: Project) -> None:
    project.settings(agent={"command": "true"})

    ran = project.ralph("work", check=2, GIT_CEILING_DIRECTORIES=str(project.root.parent))

    assert "is not a git repository" in ran.stderr
    assert "git init" in ran.stderr


def test_without_a_first_commit_it_says_what_to_do(project: Project) -> None:
    project.git("init", "-q", "-b", "main")
    project.settings(agent={"command": "true"})
    project.ralph(
        "task", "create", "A", "s", "Do A", "--outcome", "it is there", "--acceptance", "it is there", check=0
    )

    assert "has no commit yet" in project.ralph("work", check=2).stderr


def test_a_detached_head_is_refused(tasks: TaskProject) -> None:
    tasks.task()
    tasks.git("checkout", "-q", "--detach")

    assert "no branch is checked out here" in tasks.work(check=2)


@pytest.mark.parametrize(
    ("verified", "said"),
    [
        ({"roles": {"coder": {"verification": "magic"}}}, "unknown verification method 'magic'"),
        ({"stages": ["coder", "coder"]}, "coder"),
        ({"maxParallel": 0}, "maxParallel"),
        ({"roles": {"coder": {"verificationConfig": {"command": "true", "timeout": 0}}}}, "timeout"),
        (
            {"roles": {"coder": {"verificationConfig": {"command": "true", "working_dir": "../x"}}}},
            "working_dir",
        ),
    ],
)
def test_bad_settings_are_refused(tasks: TaskProject, verified: dict[str, object], said: str) -> None:
    tasks.task()
    tasks.project.settings(
        agent={"command": str(tasks.programs / "worker")},
        profiles={"verified": {"stages": ["coder"], **verified}},
    )

    ran = tasks.project.ralph("work", check=2)

    assert said in ran.stderr
    assert tasks.launches() == []


def test_something_strange_where_the_worktree_should_be_is_put_aside(tasks: TaskProject) -> None:
    tasks.task()
    tasks.worktree().mkdir(parents=True)
    (tasks.worktree() / "precious.txt").write_text("mine")

    tasks.work(check=0)

    (aside,) = tasks.worktree().parent.glob("T-1.left-*/precious.txt")
    assert aside.read_text() == "mine"


def test_a_judge_that_says_no_is_told_to_the_coder(tasks: TaskProject) -> None:
    tasks.settings(roles={"coder": {"maxIterations": 2}})
    tasks.judge(NO)
    tasks.task()

    tasks.work(check=1)

    assert "it is there: the sum is wrong in sum.txt" in tasks.prompt("coder", 2)
