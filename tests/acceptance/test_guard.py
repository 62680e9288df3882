"""``ralph guard`` as a user and as a program calls it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from .conftest import Project


def guard(project: Project, *arguments: str, stdin: str | bytes = b"") -> subprocess.CompletedProcess[str]:
    given = stdin.encode() if isinstance(stdin, str) else stdin
    ran = subprocess.run(
        [sys.executable, "-m", "ralph", "guard", *arguments],
        cwd=project.root,
        env=project.env(),
        input=given,
        capture_output=True,
        timeout=90,
        check=False,
    )
    return subprocess.CompletedProcess(ran.args, ran.returncode, ran.stdout.decode(), ran.stderr.decode())


def batch(project: Project, *lines: str | bytes, arguments: tuple[str, ...] = ()) -> list[dict[str, object]]:
    stdin = b"".join((line.encode() if isinstance(line, str) else line) + b"\n" for line in lines)
    ran = guard(project, "--batch", *arguments, stdin=stdin)
    assert (ran.returncode, ran.stderr) == (0, "")
    return [json.loads(line) for line in ran.stdout.splitlines()]


def test_a_harmless_command_is_allowed(project: Project) -> None:
    ran = guard(project, "rm -rf build && make")

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "allow\n", "")


def test_a_dangerous_command_is_denied_with_a_reason(project: Project) -> None:
    ran = guard(project, "cd src; sudo rm -rf /")

    assert ran.returncode == 1
    assert ran.stdout.startswith("block: this removes /, the root of the file system. Instead: ")


def test_a_command_may_be_given_as_several_words(project: Project) -> None:
    assert guard(project, "rm", "-rf", "/").returncode == 1
    assert guard(project, "git", "commit", "-m", "rm -rf /").returncode == 0


def test_the_judgement_as_json(project: Project) -> None:
    for arguments in (("--json", "git reset --hard"), ("git reset --hard", "--json")):
        ran = guard(project, *arguments)

        assert ran.returncode == 1
        judgement = json.loads(ran.stdout)
        assert judgement["command"] == "git reset --hard"
        assert (judgement["decision"], judgement["family"]) == ("block", "git")
        assert "Instead: " in judgement["reason"]


@pytest.mark.parametrize(
    "arguments", [(), ("--batch", "ls"), ("--pack", "nonsense", "ls"), ("--project-dir", "missing", "ls")]
)
def test_wrong_usage_is_exit_code_2(project: Project, arguments: tuple[str, ...]) -> None:
    ran = guard(project, *arguments)

    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr
    assert ran.stdout == ""


def test_escape_sequences_in_a_command_do_not_reach_the_terminal(project: Project) -> None:
    ran = guard(project, "rm -rf '/\x1b[2J\x1b]0;title\x07'")

    assert ran.returncode == 1
    assert "\x1b" not in ran.stdout


def test_settings_allow_commands_and_choose_packs(project: Project) -> None:
    project.settings(guard={"allow": ["git clean -fdx", "git push --force origin mine*"], "packs": ["cloud"]})

    assert guard(project, "git clean -fdx").returncode == 0
    assert guard(project, "git push --force origin mine/topic").returncode == 0
    assert guard(project, "git push --force origin main").returncode == 1
    assert guard(project, "terraform taint x").returncode == 1
    assert guard(project, "npm publish").returncode == 0
    assert guard(project, "--pack", "publish", "npm publish").returncode == 1


def test_one_word_of_the_settings_allows_a_family(project: Project) -> None:
    assert guard(project, "terraform destroy").returncode == 1

    project.settings(guard={"allow": ["cloud"]})

    assert guard(project, "terraform destroy").returncode == 0
    assert guard(project, "kubectl delete namespace production").returncode == 1


def test_wrong_settings_are_named_and_nothing_is_allowed(project: Project) -> None:
    project.settings(guard={"packs": ["clowd"]})

    ran = guard(project, "ls")

    assert ran.returncode == 2
    assert "guard.packs" in ran.stderr


def test_the_working_directory_makes_absolute_paths_the_projects_own(project: Project) -> None:
    folder = "/home/me/project"

    assert guard(project, f"rm -rf {folder}/dist").returncode == 1
    assert guard(project, "--cwd", folder, f"rm -rf {folder}/dist").returncode == 0
    assert guard(project, "--cwd", folder, f"rm -rf {folder}").returncode == 1


def test_a_batch_answers_every_line_and_keeps_what_it_was_given(project: Project) -> None:
    answers = batch(
        project,
        json.dumps({"command": "ls", "id": 1}),
        json.dumps({"id": 2, "command": "rm -rf /", "decision": "allow"}),
        "",
        json.dumps({"command": "echo \ud800 ü\n"}),
    )

    assert [(answer["decision"], answer.get("id")) for answer in answers] == [
        ("allow", 1),
        ("block", 2),
        ("allow", None),
    ]
    assert answers[0]["reason"] == ""
    assert "Instead: " in str(answers[1]["reason"])


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "[1]",
        '"ls"',
        '{"command": 3}',
        "{}",
        b'{"command": "\xff"}',
        "[" * 5_000,
        '{"command": "ls"',
    ],
    ids=["words", "list", "string", "number", "empty", "bytes", "deep", "torn"],
)
def test_a_line_that_cannot_be_read_is_blocked_and_the_batch_goes_on(
    project: Project, line: str | bytes
) -> None:
    broken, following = batch(project, line, '{"command": "ls"}')

    assert broken["decision"] == "block"
    assert broken["error"]
    assert following["decision"] == "allow"


def test_a_line_that_is_too_long_is_blocked_and_the_batch_goes_on(project: Project) -> None:
    long = json.dumps({"command": "x" * 9_000_000})

    broken, following = batch(project, long, '{"command": "rm -rf /"}')

    assert broken["error"]
    assert (following["decision"], following["command"]) == ("block", "rm -rf /")


def test_a_batch_answers_before_the_next_line_comes(project: Project) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "ralph", "guard", "--batch"],
        cwd=project.root,
        env=project.env(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for command, decision in (("ls", "allow"), ("rm -rf ~", "block"), ("make", "allow")):
            process.stdin.write(json.dumps({"command": command}) + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["decision"] == decision
        process.stdin.close()
        assert process.wait(timeout=60) == 0


def test_packs_count_in_a_batch_too(project: Project) -> None:
    line = json.dumps({"command": "npm publish"})

    assert batch(project, line)[0]["decision"] == "allow"
    assert batch(project, line, arguments=("--pack", "all"))[0]["decision"] == "block"
