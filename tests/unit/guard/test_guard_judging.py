"""What the guard blocks and lets through, on tables of our own: tests/data/guard/*.jsonl, one JSON string a line."""

from __future__ import annotations

import importlib
import json
import pkgutil
from pathlib import Path

import pytest

import ralph.guard
from ralph.guard.guard import judge
from ralph.guard.judgement import GuardDecision, GuardRules
from ralph.guard.lazy_pattern import LazyPattern
from ralph.guard.limits import MAX_COMMAND_CHARS

DATA = Path(__file__).parents[2] / "data" / "guard"


def table(name: str) -> list[str]:
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def test_dangerous_commands_are_blocked_with_a_reason_that_says_what_to_do_instead() -> None:
    judgements = {command: judge(command) for command in table("dangerous")}

    assert [command for command, judgement in judgements.items() if not judgement.is_blocked] == []
    assert all("Instead: " in judgement.reason and judgement.family for judgement in judgements.values())


def test_harmless_commands_are_allowed_without_a_word() -> None:
    judgements = {command: judge(command) for command in table("harmless")}

    assert {
        command: judgement.reason for command, judgement in judgements.items() if judgement.is_blocked
    } == {}
    assert all(
        judgement.decision is GuardDecision.ALLOW and not judgement.reason
        for judgement in judgements.values()
    )


def test_the_tables_hold_whether_the_working_directory_is_known_or_not() -> None:
    rules = GuardRules(cwd="/home/me/project")

    assert [command for command in table("dangerous") if not judge(command, rules).is_blocked] == []
    assert [command for command in table("harmless") if judge(command, rules).is_blocked] == []


def test_the_hints_of_a_pattern_keep_no_match_from_being_found() -> None:
    names = [module.name for module in pkgutil.walk_packages(ralph.guard.__path__, "ralph.guard.")]
    patterns = {
        f"{name}.{key}": pattern
        for name in names
        for key, value in vars(importlib.import_module(name)).items()
        if isinstance(pattern := getattr(value, "__self__", value), LazyPattern)
    }
    lines = [*table("dangerous"), *table("harmless")]
    texts = {text for line in lines for text in (line, *line.split())}

    assert len(patterns) > 30
    assert {
        (name, text)
        for name, pattern in patterns.items()
        for text in texts
        if not pattern.may_match(text) and pattern.compiled.search(text)
    } == set()


WRAPPERS = [
    "{}",
    "sudo {}",
    "sudo -u root -- {}",
    "env X=1 {}",
    "nohup {} &",
    "nice -n 3 {}",
    "timeout -k 5 30 {}",
    "time {}",
    "command {}",
    "exec {}",
    "X=1 {}",
    "true && {}",
    "false || {}",
    "ls | {}",
    "({})",
    "{{ {}; }}",
    "if true; then {}; fi",
    "while true; do {}; done",
    "case a in a) {} ;; esac",
    "f() {{ {}; }}; f",
    "echo $({})",
    "echo `{}`",
    'echo "x $({}) y"',
    "cat <({})",
    "! {}",
    "ls # comment\n{}",
    "bash -c '{}'",
    "bash -lc '{}'",
    "sh -ec '{}'",
    "eval '{}'",
    "trap '{}' EXIT",
    "echo '{}' | sh",
    "printf '%s' '{}' | bash -s",
    "bash <<< '{}'",
    "bash <<'X'\n{}\nX",
    "cat <<'X' | sh\n{}\nX",
    "echo '{}' > s.sh && sh s.sh",
    "su -c '{}'",
    "watch -n 1 '{}'",
    "find . -maxdepth 1 -exec {} \\;",
    "c='{}'; $c",
    "c='{}'; eval \"$c\"",
    "alias x='{}'; x",
    "python3 -c 'import os; os.system(\"{}\")'",
    "perl -e 'system(\"{}\")'",
    "ruby -e 'system(\"{}\")'",
    'node -e \'require("child_process").execSync("{}")\'',
    "awk 'BEGIN {{ system(\"{}\") }}'",
]


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_wrapper_hides_no_danger_and_adds_none(wrapper: str) -> None:
    for dangerous in ("rm -rf /", "git reset --hard", "git push --force origin main", "mkfs.ext4 /dev/sda1"):
        assert judge(wrapper.format(dangerous)).is_blocked, wrapper.format(dangerous)
    for harmless in ("git status", "rm -f out.txt", "ls -la", "make test"):
        judgement = judge(wrapper.format(harmless))
        assert not judgement.is_blocked, (wrapper.format(harmless), judgement.reason)


@pytest.mark.parametrize(
    "wrapper",
    ["echo '{}'", "grep -n '{}' x", "git commit -m '{}'", "cat <<'X'\n{}\nX", "# {}", "echo hi # {}"],
)
def test_a_danger_that_is_only_text_is_allowed(wrapper: str) -> None:
    for dangerous in ("rm -rf /", "git reset --hard", "curl x | sh", "mkfs.ext4 /dev/sda1"):
        assert not judge(wrapper.format(dangerous)).is_blocked, wrapper.format(dangerous)


def test_a_command_that_was_left_open_is_read_strictly() -> None:
    assert not judge("rm -rf build").is_blocked
    assert judge("rm -rf build 'oops").is_blocked
    assert not judge("echo 'oops").is_blocked


@pytest.mark.parametrize(
    "command",
    [
        "x" * (MAX_COMMAND_CHARS + 1),
        "$(" * 500,
        "( " * 500 + "ls",
        "f() { f; }; f",
        "a=xx;" + "a=$a$a;" * 60 + "echo $a",
    ],
    ids=["long", "substitutions", "subshells", "endless", "doubling"],
)
def test_what_cannot_be_read_is_blocked(command: str) -> None:
    assert judge(command).is_blocked


def test_what_is_nested_in_moderation_is_read() -> None:
    for depth in range(1, 9):
        assert not judge("echo $(" * depth + "ls" + ")" * depth).is_blocked
        assert judge("echo $(" * depth + "rm -rf /" + ")" * depth).family == "files"


def test_two_brackets_are_arithmetic_only_if_two_close_them() -> None:
    assert not judge("((x = 1 + (2 * 3))); echo $((x / 2))").is_blocked
    assert judge("((rm -rf /) ; ls)").is_blocked
    assert judge("echo $((git reset --hard) ; ls)").is_blocked


def test_an_exact_command_of_the_allow_list_is_allowed_and_no_other() -> None:
    rules = GuardRules(allow=("git push --force origin mine",))

    assert not judge("git push --force origin mine", rules).is_blocked
    assert not judge("  git push --force origin mine\n", rules).is_blocked
    assert judge("git push --force origin main", rules).is_blocked


def test_an_allowed_pattern_covers_one_simple_command_and_not_what_hangs_on_it() -> None:
    rules = GuardRules(allow=("git clean -fd*",))

    assert not judge("git clean -fdx", rules).is_blocked
    assert not judge("cd sub && sudo git clean -fd src", rules).is_blocked
    assert judge("git clean -fdx; rm -rf /", rules).is_blocked
    assert judge("git clean -fd $(rm -rf /)", rules).is_blocked
    assert judge("git clean -f", rules).is_blocked


def test_absolute_paths_below_the_working_directory_are_the_projects_own() -> None:
    rules = GuardRules(cwd="/home/me/project")

    assert judge("rm -rf /home/me/project/dist").is_blocked
    assert not judge("rm -rf /home/me/project/dist", rules).is_blocked
    assert not judge("cd /home/me/project && rm -rf dist", rules).is_blocked
    for command in (
        "rm -rf /home/me/project",
        "rm -rf /home/me",
        "rm -rf ../other",
        "rm -rf /home/me/project/.git",
    ):
        assert judge(command, rules).is_blocked, command


def test_start_up_files_that_are_hard_to_read_do_not_add_up() -> None:
    """What a shell reads one day is followed, and followed no deeper the tenth time than the first."""
    line = "echo 'eval \"$(tool hook)$X\"' >> ~/.bashrc"

    assert not judge("; ".join([line] * 20)).is_blocked
    assert judge("; ".join([line] * 20 + ["echo 'rm -rf /' >> ~/.bashrc"])).family == "files"


def test_an_option_with_a_value_is_not_taken_for_the_command_that_parallel_runs() -> None:
    assert judge("parallel --max-procs 4 crontab ::: -r").family == "system"
    assert not judge("parallel --max-procs 4 gzip ::: a b").is_blocked


def test_a_tool_that_is_made_to_print_shell_code_may_be_evaluated() -> None:
    assert not judge('eval "$(register-python-argcomplete pipx)"').is_blocked


def test_signs_that_the_guard_uses_itself_mean_nothing_in_a_command() -> None:
    assert judge("rm -rf / \ue000 \ue001").is_blocked
    assert not judge("echo \ue000\ue001").is_blocked
