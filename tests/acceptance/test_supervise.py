"""``ralph supervise``: a root agent that is restarted until it is really done."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import Project
from .running import alive, ended, running, wait_for

RALPH = '"$PYTHON" -m ralph'


@pytest.fixture(autouse=True)
def python(project: Project) -> Iterator[None]:
    project.environment["PYTHON"] = sys.executable
    yield
    (project.root / "let_go").touch()  # a child of a test that failed must not stay


def gone(pid_file: Path) -> bool:
    """Also if it was ended before it could write its pid down."""
    return not pid_file.exists() or not pid_file.read_text().strip() or not alive(pid_file)


def task(project: Project, name: str = "t") -> Path:
    return project.root / ".ralph" / "tasks" / name


def bus(project: Project, *arguments: str) -> list[dict[str, object]]:
    out = project.ralph("bus", "read", "--json", *arguments, check=0).stdout
    return [json.loads(line) for line in out.splitlines()]


def supervise(project: Project, *arguments: str, body: str) -> list[str]:
    """The arguments of a run of a shell script, without delays."""
    agent = project.program("agent.sh", body)
    return ["--task", "t", "--restart-delay", "0", *arguments, "--", str(agent)]


def test_the_agent_is_restarted_until_done_is_there_and_finds_its_surroundings(project: Project) -> None:
    body = """
echo "$RALPH_ATTEMPT|$TASK_FOLDER|$RUN_FOLDER|$RALPH_PROJECT_ID|$RALPH_TASK_ID|$RALPH_PARENT_RUN_ID" >> seen
test -d "$TASK_FOLDER" && test -d "$RUN_FOLDER" && test -n "$RALPH_RUN_ID" || exit 9
test "$TASK_MESSAGE_BUS" = "$TASK_FOLDER/TASK-MESSAGE-BUS.md" || exit 9
[ "$RALPH_ATTEMPT" = 2 ] && : > "$TASK_FOLDER/DONE"
exit "$RALPH_ATTEMPT"
"""
    ran = project.ralph("supervise", "--project", "shop", *supervise(project, body=body), check=0)

    run_id = project.rows("SELECT id FROM runs")[0][0]
    folder, run_folder = task(project), project.root / ".ralph" / "runs" / run_id
    assert (project.root / "seen").read_text().splitlines() == [
        f"{attempt}|{folder}|{run_folder}|shop|t|" for attempt in range(3)
    ]
    assert "Agent failed with exit code 1, restarting (attempt 3/100)" in ran.stderr
    assert "task completed (DONE marker present, no active children)" in ran.stderr
    assert [message["type"] for message in bus(project, "--task", "t")] == [
        "RUN_START", "RESTART", "RESTART", "RUN_STOP",
    ]  # fmt: skip
    (fact,) = bus(project, "--project-bus")
    assert (fact["type"], fact["task"], fact["project"], fact["run"]) == ("FACT", "t", "shop", run_id)

    again = project.ralph("supervise", "--project", "shop", *supervise(project, body=body), check=0)
    assert f"to start over, give another --task, or: rm {folder / 'DONE'}" in again.stderr
    assert "task completed before this run, which launched no agent" in again.stderr


def test_restarts_that_are_used_up_end_with_1_and_an_error_on_the_bus(project: Project) -> None:
    ran = project.ralph("supervise", *supervise(project, "--max-restarts", "3", body="exit 7\n"), check=1)

    assert "max restarts exceeded (3)" in ran.stderr
    assert "exit code 7; DONE is not there" in ran.stderr
    assert len(project.rows("SELECT 1 FROM iterations")) == 3
    assert [message["body"] for message in bus(project, "--task", "t", "--type", "error")] == [
        "max restarts exceeded (3)"
    ]


def test_the_end_is_told_to_whom_the_user_names(project: Project) -> None:
    body = "touch $TASK_FOLDER/DONE"
    command = f'echo "$RALPH_TEXT" > {project.root / "told"}'
    arguments = supervise(project, "--notify", command, "--max-time", "600", body=body)
    project.ralph("supervise", *arguments, check=0)
    assert "completed" in (project.root / "told").read_text()


def test_an_exhausted_run_goes_on_with_a_new_limit(project: Project) -> None:
    body = '[ "$RALPH_ATTEMPT" = 3 ] && : > "$TASK_FOLDER/DONE"\nexit 1\n'
    project.ralph("supervise", *supervise(project, "--max-restarts", "2", body=body), check=1)
    project.ralph("resume", "-m", "9", check=0)
    assert len(project.rows("SELECT 1 FROM iterations")) == 4


def test_a_done_that_is_there_already_starts_nothing(project: Project) -> None:
    task(project).mkdir(parents=True)
    (task(project) / "DONE").touch()
    project.ralph("supervise", *supervise(project, body="touch started\n"), check=0)
    assert not (project.root / "started").exists()


def test_an_agent_that_hangs_after_done_gets_its_grace_and_no_more(project: Project) -> None:
    body = ': > "$TASK_FOLDER/DONE"\necho $$ > pid\nsleep 600\n'
    arguments = supervise(project, "--done-grace", "0.1", "--max-restarts", "1", body=body)
    ran = project.ralph("supervise", *arguments, check=0)
    assert "the agent has 0.1s to finish" in ran.stderr
    assert not alive(project.root / "pid")


def test_an_agent_that_takes_too_long_is_ended_with_its_tree_and_counts_as_failed(project: Project) -> None:
    body = "sleep 600 & echo $! > sleeper\necho $$ > pid\nwait\n"
    arguments = supervise(project, "--agent-timeout", "0.5", "--max-restarts", "2", body=body)
    ran = project.ralph("supervise", *arguments, check=1)
    assert "Agent timeout after 0.5s" in ran.stderr
    assert gone(project.root / "pid")
    assert gone(project.root / "sleeper")


def test_what_an_agent_leaves_behind_is_ended_and_named(project: Project) -> None:
    body = """
setsid sleep 543 > /dev/null 2>&1 &
echo $! > sleeper
until ps -o args= -p "$(cat sleeper)" | grep -q "^sleep 543"; do sleep 0.02; done
: > "$TASK_FOLDER/DONE"
"""
    ran = project.ralph("supervise", *supervise(project, body=body), check=0)
    assert "sleep 543" in ran.stderr
    assert not alive(project.root / "sleeper")


# --- waiting ---


@pytest.mark.parametrize(
    ("signals", "reason"),
    [
        ("exit 42\n", "exit 42"),
        (': > "$TASK_FOLDER/WAIT_WITHOUT_RESTART"\n', "file WAIT_WITHOUT_RESTART"),
        (f'{RALPH} bus post --type wait_without_restart "for a key"\n', "for a key"),
    ],
)
def test_an_agent_that_waits_is_not_restarted_and_resume_goes_on(
    project: Project, signals: str, reason: str
) -> None:
    body = f"""
[ -f go ] && {{ : > "$TASK_FOLDER/DONE"; echo "$RALPH_ATTEMPT" > last; exit 0; }}
{signals}"""
    ran = project.ralph("supervise", *supervise(project, body=body), check=5)

    assert "Wait-without-restart signal detected" in ran.stderr
    assert reason in ran.stderr
    assert [row[0] for row in project.rows("SELECT outcome FROM runs")] == ["waiting"]
    (stopped,) = bus(project, "--task", "t", "--type", "RUN_STOP")
    assert str(stopped["body"]).startswith("run stopped after 1 launch:")

    (project.root / "go").touch()
    project.ralph("resume", check=0)
    assert not (task(project) / "WAIT_WITHOUT_RESTART").exists()
    assert (project.root / "last").read_text() == "1\n"  # the attempts go on


# --- children ---


CHILD = f"""{RALPH} supervise --task child --restart-delay 0 -- sh -c '
echo "$RALPH_PARENT_RUN_ID" > parent_seen
while [ ! -f let_go ]; do sleep 0.05; done; : > "$TASK_FOLDER/DONE"' > child.log 2>&1 &
echo $! > child_pid
while [ ! -f parent_seen ]; do sleep 0.05; done
: > "$TASK_FOLDER/DONE"
"""


def test_a_ralph_that_the_agent_started_is_a_child_that_is_spared_and_waited_for(project: Project) -> None:
    with running(
        project, *supervise(project, "--poll-interval", "0.05", body=CHILD), command="supervise"
    ) as process:
        # It waits: the launch is over, and the child is still there.
        wait_for(lambda: _waits_for_children(project), "the parent waits for its child", 40)
        assert alive(project.root / "child_pid")
        tree = project.ralph("status", "--tree", check=0).stdout.splitlines()
        assert tree[1].startswith("20")
        assert tree[2].startswith("└─ 20")
        (project.root / "let_go").touch()
        code, err = ended(process)

    assert code == 0, err
    assert "no active children" in err
    parent, child = project.rows("SELECT id, parent_id, outcome FROM runs ORDER BY started_at, parent_id")
    assert child[1] == parent[0]
    assert (parent[2], child[2]) == ("completed", "completed")
    assert (project.root / "parent_seen").read_text().strip() == parent[0]


def test_done_is_judged_after_the_children_ended_and_their_failures_are_told(project: Project) -> None:
    body = CHILD.replace("--task child", "--task child --max-restarts 1").replace(
        ': > "$TASK_FOLDER/DONE"\'', ": > broken'"
    )
    guardrail = ("--guardrail", "echo >> judged; test ! -f broken")
    flags = (*guardrail, "--proof", "trusting", "--max-restarts", "1", "--poll-interval", "0.05")
    with running(project, *supervise(project, *flags, body=body), command="supervise") as process:
        wait_for(lambda: _waits_for_children(project), "the parent waits for its child", 40)
        assert not (project.root / "judged").exists()
        (project.root / "let_go").touch()
        code, err = ended(process)

    assert code == 1, err
    child = project.rows("SELECT id FROM runs WHERE parent_id <> ''")[0][0]
    assert f"child run {child} ended as exhausted: max restarts exceeded (1)" in err
    assert "DONE was denied" in err


def test_children_that_outlast_the_wait_keep_done_from_being_judged(project: Project) -> None:
    flags = ("--guardrail", "echo >> judged", "--proof", "trusting", "--wait-timeout", "0.2")
    ran = project.ralph("supervise", *supervise(project, *flags, body=CHILD), check=1)

    assert "DONE is not judged yet: child runs still running after 0.2s" in ran.stderr
    assert not (project.root / "judged").exists()
    (project.root / "let_go").touch()
    wait_for(lambda: not alive(project.root / "child_pid"), "the child ended by itself", 40)
    project.ralph("resume", _root_run(project), check=0)
    assert (project.root / "judged").exists()


def test_a_child_that_is_resumed_by_hand_still_knows_its_parent(project: Project) -> None:
    child = project.program(
        "child.sh",
        """echo "$RALPH_PARENT_RUN_ID" >> parents
[ -f go ] || exit 42
: > "$TASK_FOLDER/DONE"
""",
    )
    body = f'{RALPH} supervise --task child -- {child}\n: > "$TASK_FOLDER/DONE"\n'
    project.ralph("supervise", *supervise(project, body=body), check=0)
    ((parent, waiting),) = project.rows("SELECT parent_id, id FROM runs WHERE outcome = 'waiting'")
    (project.root / "go").touch()

    project.ralph("resume", waiting, check=0)

    assert (project.root / "parents").read_text().split() == [parent, parent]


def test_children_that_outlast_the_wait_are_named_and_left_alone(project: Project) -> None:
    arguments = supervise(project, "--wait-timeout", "0.2", "--poll-interval", "0.05", body=CHILD)
    ran = project.ralph("supervise", *arguments, check=0)

    pid = (project.root / "child_pid").read_text().strip()
    assert "child runs still running after 0.2s" in ran.stderr
    assert f"(pid {pid})" in ran.stderr
    assert alive(project.root / "child_pid")
    busy = project.ralph("supervise", "--task", "other", "--", "true", check=2).stderr
    assert "is in use by run" in busy, "the child holds the project that it shared with its parent"
    assert f"pid {pid}" in busy
    project.ralph("stop", "--now", check=0)
    wait_for(lambda: not alive(project.root / "child_pid"), "the child was found and stopped", 40)


def test_a_child_whose_process_died_does_not_count(project: Project) -> None:
    body = CHILD.replace(
        ': > "$TASK_FOLDER/DONE"\n',
        'kill -9 "$(cat child_pid)"; : > "$TASK_FOLDER/DONE"\n',
    )
    ran = project.ralph("supervise", *supervise(project, body=body), check=0)
    assert "no active children" in ran.stderr


def test_stopping_at_once_ends_the_children_too(project: Project) -> None:
    body = CHILD.rsplit(": >", 1)[0] + "sleep 600\n"
    with running(project, *supervise(project, body=body), command="supervise") as process:
        wait_for(lambda: (project.root / "parent_seen").exists(), "the child runs", 40)
        project.ralph("stop", "--now", _root_run(project), check=0)
        code, err = ended(process)
    assert code == 130, err
    wait_for(lambda: not alive(project.root / "child_pid"), "the child is ended", 40)


def test_stopping_at_once_while_waiting_for_children_ends_them(project: Project) -> None:
    with running(
        project, *supervise(project, "--poll-interval", "0.05", body=CHILD), command="supervise"
    ) as process:
        wait_for(lambda: _waits_for_children(project), "the parent waits for its child", 40)
        project.ralph("stop", "--now", _root_run(project), check=0)
        code, err = ended(process)
    assert code == 0, err  # its own work was done
    assert "child runs still running" in err
    wait_for(lambda: not alive(project.root / "child_pid"), "the child is ended", 40)


def test_a_run_that_was_killed_goes_on_where_it_was(project: Project) -> None:
    body = """
echo "$RALPH_ATTEMPT" >> attempts
case "$RALPH_ATTEMPT" in
0) exit 1 ;;
1) : > waiting; exec sleep 600 ;;
2) : > "$TASK_FOLDER/DONE" ;;
esac
"""
    with running(project, *supervise(project, body=body), command="supervise") as process:
        wait_for(lambda: (project.root / "waiting").exists(), "the second launch")
        process.kill()
        process.wait()

    project.ralph("resume", check=0)

    # Every launch counts, also one that was cut off.
    assert (project.root / "attempts").read_text().split() == ["0", "1", "2"]
    assert (task(project) / "DONE").exists()


def _root_run(project: Project) -> str:
    return str(project.rows("SELECT id FROM runs WHERE parent_id = ''")[0][0])


def _waits_for_children(project: Project) -> bool:
    if not (project.root / "parent_seen").exists():
        return False
    rows = project.rows(
        "SELECT data FROM events JOIN runs ON runs.id = run_id WHERE kind = 'pause_began' AND parent_id = ''"
    )
    return any("active child" in str(data) for (data,) in rows)


# --- guardrails ---


def test_guardrails_of_the_profile_deny_a_done_and_the_agent_is_told(project: Project) -> None:
    project.settings(
        agent={"command": "worker", "adapter": "plain"},
        guardrails=[{"command": "false"}],  # of the other profiles: not asked here
        profiles={"supervised": {"guardrails": ["test -f proof"], "restartDelay": 0}},
    )
    project.program(
        "worker",
        'cat >> prompts\n[ -e "$TASK_FOLDER/DONE.rejected-1" ] && : > proof\n: > "$TASK_FOLDER/DONE"\n',
    )

    ran = project.ralph("supervise", "--task", "t", "-p", "work until DONE", check=0)

    assert "DONE was denied by test -f proof; it is kept as DONE.rejected-1" in ran.stderr
    assert (task(project) / "DONE.rejected-1").exists()
    assert "test -f proof" in (project.root / "prompts").read_text()
    assert len(project.rows("SELECT 1 FROM iterations")) == 2


def test_a_prompt_that_never_says_how_to_finish_is_warned_of(project: Project) -> None:
    project.settings(agent={"command": "worker", "adapter": "plain"})
    project.program("worker", ': > "$TASK_FOLDER/DONE"\n')
    ran = project.ralph("supervise", "-p", "just work", check=0)
    assert "$TASK_FOLDER/DONE" in ran.stderr


# --- what a user can get wrong ---


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--task", "../x", "--", "true"], 2, "path separator"),
        (["--task", "..", "--", "true"], 2, "not a plain name"),
        (["--task", "", "--", "true"], 2, "--task is empty"),
        (["--project", "a b", "--", "true"], 2, "not a plain name"),
        ([], 2, "exactly one of a prompt and a command"),
        (["-p", "x", "--", "true"], 2, "exactly one of a prompt and a command"),
        (["-p", " "], 2, "the prompt is empty"),
        (["-p", "x", "-f", "y"], 2, "only one of"),
        (["-f", "nowhere.md"], 2, "agent"),
        (["--max-restarts", "0", "--", "true"], 2, "--max-restarts"),
        (["--restart-delay", "-1", "--", "true"], 2, "not at least zero"),
        (["--poll-interval", "0", "--", "true"], 2, "not above zero"),
        (["--agent-timeout", "soon", "--", "true"], 2, "not a number of seconds"),
        (["--", "no-such-program"], 4, "command not found: no-such-program"),
        (["--", "./plain.txt"], 4, "permission denied"),
        (["--task-dir", "plain.txt", "--", "true"], 4, "in the way"),
        (["--task-dir", "/proc/none/below", "--", "true"], 4, "cannot be made"),
        (["--task-dir", "plain.txt/below", "--", "true"], 4, "in the way"),
    ],
)
def test_bad_input_is_told_without_a_traceback(
    project: Project, arguments: list[str], code: int, words: str
) -> None:
    (project.root / "plain.txt").write_text("x")
    ran = project.ralph("supervise", *arguments, check=code)
    assert words in ran.stderr
    assert "Traceback" not in ran.stderr


def test_an_agent_that_removes_its_task_folder_finds_a_new_one(project: Project) -> None:
    body = """
test -d "$TASK_FOLDER" || exit 9
[ "$RALPH_ATTEMPT" = 1 ] && : > "$TASK_FOLDER/DONE" && exit
rm -rf "$TASK_FOLDER"
"""
    ran = project.ralph("supervise", *supervise(project, "--max-restarts", "2", body=body), check=0)
    assert "the task folder was missing" in ran.stderr
    assert "RESTART" in [message["type"] for message in bus(project, "--task", "t")]


def test_a_done_that_is_a_directory_ends_the_run_with_a_word(project: Project) -> None:
    ran = project.ralph("supervise", *supervise(project, body='mkdir "$TASK_FOLDER/DONE"\n'), check=4)
    assert "DONE is a directory" in ran.stderr
    assert [row[0] for row in project.rows("SELECT outcome FROM runs")] == ["failed"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_task_folder_that_cannot_be_written_to_is_told(project: Project) -> None:
    task(project).mkdir(parents=True)
    task(project).chmod(0o500)
    ran = project.ralph("supervise", *supervise(project, body="true\n"), check=4)
    assert "not writable" in ran.stderr


def test_a_damaged_bus_is_reported_and_ends_no_run(project: Project) -> None:
    task(project).mkdir(parents=True)
    (task(project) / "TASK-MESSAGE-BUS.md").mkdir()
    (project.root / ".ralph" / "PROJECT-MESSAGE-BUS.md").write_bytes(b"\xff\xfe## FACT torn")
    body = ': > "$TASK_FOLDER/DONE"\n'
    ran = project.ralph("supervise", *supervise(project, body=body), check=0)
    assert "TASK-MESSAGE-BUS.md" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert [message["type"] for message in bus(project, "--project-bus")] == ["FACT"]


def test_a_run_that_cannot_deliver_says_so(project: Project) -> None:
    project.settings(delivery="pr")
    ran = project.ralph("supervise", *supervise(project, body=': > "$TASK_FOLDER/DONE"'), check=0)

    assert "ralph supervise does not deliver: ship what it leaves with `ralph ship`" in ran.stderr
