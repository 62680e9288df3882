"""Loading a project's settings: files, environment, flags, and everything that can be wrong with them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ralph.config.loading import Inspection, InvalidSettings, inspect, load, missing_for_run
from ralph.config.profile_settings import ProfilesSettings, PromiseSettings
from ralph.config.schema import (
    AgentSettings,
    GuardrailSettings,
    LimitsSettings,
    OutputSettings,
    ScmSettings,
    Settings,
    TruncationSettings,
    Use,
)
from ralph.config.sources import LOCAL_FILE, SETTINGS_FILE, Flag
from ralph.domain.loop.feedback import Placement
from ralph.domain.text.excerpt import Keep
from ralph.domain.text.reader import Problem

FULL_EXAMPLE: dict[str, Any] = {
    "maximumIterations": 10,
    "completionResponse": "DONE",
    "outputTruncateChars": 5000,
    "streamAgentOutput": True,
    "includeIterationCountInPrompt": False,
    "agent": {"command": "claude", "flags": ["--model opus", "--no-auto-compact"]},
    "guardrails": [
        {
            "command": "make lint",
            "failAction": "APPEND",
            "hint": "Fix lint errors only. Do not change behavior.",
        },
        {"command": "make test", "failAction": "APPEND"},
    ],
    "scm": {"command": "git", "tasks": ["commit", "push"]},
}


def write(root: Path, content: object, name: str = SETTINGS_FILE) -> None:
    path = root / name
    path.parent.mkdir(exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def look(
    root: Path,
    content: object = None,
    *,
    environ: Mapping[str, str] | None = None,
    flags: tuple[Flag, ...] = (),
) -> Inspection:
    if content is not None:
        write(root, content)
    return inspect(root, environ=environ or {}, flags=flags)


# --- what is read ------------------------------------------------------------------------------------------


def test_without_any_settings_everything_is_default(tmp_path: Path) -> None:
    loaded = load(tmp_path, environ={})
    assert loaded.settings == Settings()
    assert loaded.files == ()
    assert loaded.warnings == ()
    assert loaded.origin("maximumIterations").label == "default"


def test_the_defaults_are_those_that_were_promised() -> None:
    assert Settings() == Settings(
        maximum_iterations=10,
        completion_response="DONE",
        output_truncate_chars=5000,
        stream_agent_output=True,
        include_iteration_count_in_prompt=False,
        agent=AgentSettings(
            command="", flags=(), adapter=None, timeout=None, idle_timeout=1800, environment={}
        ),
        guardrails=(),
        guardrail_timeout=None,
        truncation=TruncationSettings(keep=Keep.BOTH),
        scm=None,
        output=OutputSettings(emoji=Use.AUTO, color=Use.AUTO, timestamps=False, max_lines=10, max_chars=1000),
        limits=LimitsSettings(max_attempts=4),
        profiles=ProfilesSettings(),
    )


def test_a_full_example_is_read(tmp_path: Path) -> None:
    write(tmp_path, FULL_EXAMPLE)
    loaded = load(tmp_path, environ={})
    assert loaded.warnings == ()
    assert loaded.settings.agent == AgentSettings(
        command="claude", flags=("--model opus", "--no-auto-compact")
    )
    assert loaded.settings.guardrails == (
        GuardrailSettings(command="make lint", hint="Fix lint errors only. Do not change behavior."),
        GuardrailSettings(command="make test"),
    )
    assert loaded.settings.scm == ScmSettings(command="git", tasks=("commit", "push"))


def test_a_file_with_only_the_agents_command_is_enough(tmp_path: Path) -> None:
    write(tmp_path, {"agent": {"command": "claude"}})
    loaded = load(tmp_path, environ={})
    assert loaded.settings == Settings(agent=AgentSettings(command="claude"))
    assert missing_for_run(loaded.settings) is None


def test_an_empty_object_is_valid_but_not_enough_for_a_run(tmp_path: Path) -> None:
    write(tmp_path, {})
    missing = missing_for_run(load(tmp_path, environ={}).settings)
    assert missing is not None
    assert missing.key == "agent.command"


def test_every_key_is_read_into_its_field(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "$schema": "./schema.json",
            "maximumIterations": 3.0,
            "completionResponse": "FERTIG",
            "outputTruncateChars": 1,
            "streamAgentOutput": False,
            "includeIterationCountInPrompt": True,
            "agent": {
                "command": "./agent",
                "flags": ["-x"],
                "adapter": "plain",
                "timeout": 1.5,
                "idleTimeout": 60,
                "environment": {"A": "b"},
            },
            "guardrails": [
                {
                    "command": "make",
                    "failAction": "prepend",
                    "hint": "h",
                    "timeout": 5,
                    "keep": "both",
                    "name": "n",
                }
            ],
            "guardrailTimeout": 600,
            "truncation": {"keep": "tail"},
            "scm": {"command": "jj"},
            "output": {
                "emoji": "never",
                "color": "always",
                "timestamps": True,
                "maxLines": 0,
                "maxChars": 0,
            },
            "limits": {"maxAttempts": 1},
            "profiles": {"promise": {"maximumIterations": 3, "completionPromise": "OK"}},
        },
    )
    loaded = load(tmp_path, environ={})
    assert loaded.warnings == ()
    assert loaded.settings == Settings(
        maximum_iterations=3,
        completion_response="FERTIG",
        output_truncate_chars=1,
        stream_agent_output=False,
        include_iteration_count_in_prompt=True,
        agent=AgentSettings("./agent", ("-x",), "plain", 1.5, 60.0, environment={"A": "b"}),
        guardrails=(GuardrailSettings("make", Placement.PREPEND, "h", 5.0, Keep.BOTH, "n"),),
        guardrail_timeout=600.0,
        truncation=TruncationSettings(Keep.TAIL),
        scm=ScmSettings("jj", ()),
        output=OutputSettings(Use.NEVER, Use.ALWAYS, True, 0, 0),
        limits=LimitsSettings(1),
        profiles=ProfilesSettings(promise=PromiseSettings(3, "OK")),
    )
    assert type(loaded.settings.maximum_iterations) is int


@pytest.mark.parametrize("off", [None, 0, 0.0])
def test_the_idle_timeout_can_be_switched_off(tmp_path: Path, off: object) -> None:
    write(tmp_path, {"agent": {"idleTimeout": off}})
    assert load(tmp_path, environ={}).settings.agent.idle_timeout is None


@pytest.mark.parametrize("word", ["APPEND", "append", "Append", " append "])
def test_a_fail_action_is_taken_in_any_case(tmp_path: Path, word: str) -> None:
    write(tmp_path, {"guardrails": [{"command": "x", "failAction": word}, "make test"]})
    assert load(tmp_path, environ={}).settings.guardrails[1] == GuardrailSettings("make test")
    assert load(tmp_path, environ={}).settings.guardrails[0].fail_action is Placement.APPEND


def test_a_byte_order_mark_is_no_problem(tmp_path: Path) -> None:
    write(tmp_path, b"\xef\xbb\xbf" + b'{"maximumIterations": 2}')
    assert load(tmp_path, environ={}).settings.maximum_iterations == 2


# --- layers and origins ------------------------------------------------------------------------------------


def test_local_settings_environment_and_flags_win_in_this_order(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "maximumIterations": 1,
            "completionResponse": "base",
            "outputTruncateChars": 1,
            "agent": {"command": "a", "flags": ["x"]},
        },
    )
    write(
        tmp_path,
        {"maximumIterations": 2, "completionResponse": "local", "agent": {"command": "b"}},
        LOCAL_FILE,
    )
    loaded = load(
        tmp_path,
        environ={"RALPH_MAXIMUM_ITERATIONS": "3", "RALPH_AGENT__COMMAND": "c", "HOME": "/x"},
        flags=[(("agent", "command"), "d", "--agent")],
    )
    settings = loaded.settings
    assert (settings.output_truncate_chars, settings.completion_response) == (1, "local")
    assert (settings.maximum_iterations, settings.agent.command) == (3, "d")
    assert settings.agent.flags == ("x",)
    assert {
        key: loaded.origin(key).label
        for key in (
            "maximumIterations",
            "completionResponse",
            "outputTruncateChars",
            "agent.command",
            "agent.flags",
            "agent.timeout",
            "streamAgentOutput",
        )
    } == {
        "maximumIterations": "environment RALPH_MAXIMUM_ITERATIONS",
        "completionResponse": ".ralph/settings.local.json",
        "outputTruncateChars": ".ralph/settings.json",
        "agent.command": "--agent",
        "agent.flags": ".ralph/settings.json",
        "agent.timeout": "default",
        "streamAgentOutput": "default",
    }
    assert loaded.files == (".ralph/settings.json", ".ralph/settings.local.json")


def test_local_settings_alone_are_enough(tmp_path: Path) -> None:
    write(tmp_path, {"agent": {"command": "claude"}}, LOCAL_FILE)
    loaded = load(tmp_path, environ={})
    assert loaded.settings.agent.command == "claude"
    assert loaded.files == (".ralph/settings.local.json",)


def test_null_in_local_settings_switches_scm_off(tmp_path: Path) -> None:
    write(tmp_path, FULL_EXAMPLE)
    write(tmp_path, {"scm": None}, LOCAL_FILE)
    assert load(tmp_path, environ={}).settings.scm is None


def test_what_one_layer_lacks_another_may_have(tmp_path: Path) -> None:
    write(tmp_path, {"scm": {"tasks": ["commit"]}})
    write(tmp_path, {"scm": {"command": "git"}}, LOCAL_FILE)
    assert load(tmp_path, environ={}).settings.scm == ScmSettings("git", ("commit",))


# --- the environment ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "path", "value"),
    [
        ("RALPH_MAXIMUM_ITERATIONS", "7", "maximumIterations", 7),
        ("RALPH_COMPLETION_RESPONSE", "7", "completionResponse", "7"),
        ("RALPH_STREAM_AGENT_OUTPUT", "false", "streamAgentOutput", False),
        ("RALPH_STREAM_AGENT_OUTPUT", "0", "streamAgentOutput", False),
        ("RALPH_STREAM_AGENT_OUTPUT", "YES", "streamAgentOutput", True),
        ("RALPH_AGENT__COMMAND", "./my agent", "agent.command", "./my agent"),
        ("RALPH_AGENT__FLAGS", '["--model opus"]', "agent.flags", ["--model opus"]),
        ("RALPH_LIMITS__KEEP_FREE", "5h=15, week=25.5%", "limits.keepFree", {"5h": 15, "week": 25.5}),
        ("RALPH_LIMITS__KEEP_FREE", '{"5h": 15}', "limits.keepFree", {"5h": 15}),
        ("RALPH_AGENT__FLAGS", "--model opus", "agent.flags", ["--model", "opus"]),
        # Entries are split again when the agent is started: what belongs together must stay quoted.
        ("RALPH_AGENT__FLAGS", "--say 'a b'", "agent.flags", ["--say", "'a b'"]),
        ("RALPH_AGENT__FLAGS", "", "agent.flags", []),
        ("RALPH_AGENT__ADAPTER", "plain", "agent.adapter", "plain"),
        ("RALPH_AGENT__ADAPTER", "null", "agent.adapter", None),
        ("RALPH_AGENT__TIMEOUT", "1.5", "agent.timeout", 1.5),
        ("RALPH_AGENT__IDLE_TIMEOUT", "0", "agent.idleTimeout", 0),
        ("RALPH_AGENT__IDLE_TIMEOUT", "", "agent.idleTimeout", None),
        ("RALPH_AGENT__ENVIRONMENT", '{"A": "1"}', "agent.environment", {"A": "1"}),
        ("RALPH_AGENT__ENVIRONMENT__PORT", "80", "agent.environment.PORT", "80"),
        ("RALPH_AGENT__ENVIRONMENT__A__B", "x", "agent.environment.A__B", "x"),
        ("RALPH_AGENT", '{"command": "x"}', "agent", {"command": "x"}),
        ("RALPH_GUARDRAILS", '[{"command": "make"}]', "guardrails", [{"command": "make"}]),
        ("RALPH_SCM__TASKS", "commit push", "scm.tasks", ["commit", "push"]),
        ("RALPH_SCM", "null", "scm", None),
        ("RALPH_OUTPUT__MAX_LINES", "0", "output.maxLines", 0),
        # Below a name of one's own everything is read as what it is, too.
        ("RALPH_AGENTS__HELPER", '{"command": "x"}', "agents.helper", {"command": "x"}),
        ("RALPH_AGENTS__HELPER__COMMAND", "7", "agents.helper.command", "7"),
        (
            "RALPH_PROFILES__VERIFIED__ROLES__QA__MAX_ITERATIONS",
            "3",
            "profiles.verified.roles.qa.maxIterations",
            3,
        ),
        ("RALPH_PROFILES__VERIFIED__ROLES__QA__MODEL", "5", "profiles.verified.roles.qa.model", "5"),
        (
            "RALPH_PROFILES__VERIFIED__ROLES__QA__MAY_CHANGE",
            "a b",
            "profiles.verified.roles.qa.mayChange",
            ["a", "b"],
        ),
        ("RALPH_PROFILES__PROMISE__MAXIMUM_ITERATIONS", "3", "profiles.promise.maximumIterations", 3),
        ("RALPH_PROFILES__PROMISE__COMPLETION_PROMISE", "go", "profiles.promise.completionPromise", "go"),
    ],
)
def test_an_environment_variable_is_a_setting(
    tmp_path: Path, name: str, text: str, path: str, value: object
) -> None:
    write(tmp_path, {"scm": {"command": "git"}})
    loaded = load(tmp_path, environ={name: text})
    found: Any = loaded.merged.values
    for key in path.split("."):
        found = found[key]
    assert found == value
    assert type(found) is type(value) or isinstance(value, float | int)
    assert loaded.origin(path).label == f"environment {name}"
    assert loaded.warnings == ()


def test_the_more_specific_variable_wins(tmp_path: Path) -> None:
    environ = {"RALPH_AGENT__COMMAND": "b", "RALPH_AGENT": '{"command": "a", "timeout": 5}'}
    agent = load(tmp_path, environ=environ).settings.agent
    assert (agent.command, agent.timeout) == ("b", 5.0)


@pytest.mark.parametrize(
    "name",
    [
        "RALPH_RUN_ID",
        "RALPH_SPAWN_ID",
        "RALPH_PARENT_RUN_ID",
        "RALPH_PROJECT_ID",
        "RALPH_TASK_ID",
        "RALPH_ITERATION",
        "RALPH_MAX_ITERATIONS",
        "RALPH_ATTEMPT",
    ],
)
def test_what_agents_are_told_is_never_a_setting(tmp_path: Path, name: str) -> None:
    loaded = load(tmp_path, environ={name: "3"})
    assert loaded.settings == Settings()
    assert loaded.warnings == ()


def test_an_unknown_variable_warns_with_the_nearest_setting(tmp_path: Path) -> None:
    environ = {"RALPH_AGENT__COMAND": "x", "RALPH_": "x", "RALPH_AGENT__FLAGS__0": "x", "RALPHINE": "x"}
    loaded = load(tmp_path, environ=environ)
    assert loaded.settings == Settings()
    assert str(loaded.warnings[0]) == (
        "environment RALPH_AGENT__COMAND: no setting has this name, ignored;"
        " did you mean RALPH_AGENT__COMMAND?"
    )
    assert [warning.where for warning in loaded.warnings] == [
        "environment RALPH_AGENT__COMAND",
        "environment RALPH_",
        "environment RALPH_AGENT__FLAGS__0",
    ]


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        (
            "RALPH_MAXIMUM_ITERATIONS",
            "ten",
            'maximumIterations: expected a whole number of at least 1, found "ten"',
        ),
        (
            "RALPH_MAXIMUM_ITERATIONS",
            "",
            'maximumIterations: expected a whole number of at least 1, found ""',
        ),
        (
            "RALPH_MAXIMUM_ITERATIONS",
            "0",
            "maximumIterations: expected a whole number of at least 1, found 0",
        ),
        ("RALPH_STREAM_AGENT_OUTPUT", "maybe", 'streamAgentOutput: expected true or false, found "maybe"'),
        (
            "RALPH_AGENT__TIMEOUT",
            "nan",
            "agent.timeout: expected a number of seconds above 0 (null: no limit), found NaN",
        ),
        ("RALPH_AGENT__COMMAND", "", 'agent.command: expected a string that is not empty, found ""'),
        ("RALPH_AGENT__FLAGS", "[1", 'agent.flags: expected a list of strings, found "[1"; put it in [ ]'),
        ("RALPH_AGENT__FLAGS", "'x", 'agent.flags: expected a list of strings, found "\'x"; put it in [ ]'),
        (
            "RALPH_GUARDRAILS",
            "make",
            'guardrails: expected a list of commands or objects, found "make"; put it in [ ]',
        ),
        (
            "RALPH_AGENT",
            "claude",
            'agent: expected an object, found "claude"; write {"command": "claude"}',
        ),
        (
            "RALPH_AGENT",
            '{"environment": {"API_KEY": "s3cret"}',
            "agent: expected an object, found text that begins with { but is not valid JSON",
        ),
        (
            "RALPH_AGENT__ENVIRONMENT",
            "API_KEY=s3cret",
            "agent.environment: expected an object of strings, found a string",
        ),
    ],
)
def test_a_bad_variable_is_a_problem_that_names_it(
    tmp_path: Path, name: str, text: str, problem: str
) -> None:
    found = look(tmp_path, environ={name: text})
    assert [str(problem) for problem in found.problems] == [f"environment {name}: {problem}"]


# --- what is wrong -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"maximumIterations": 0}, "maximumIterations: expected a whole number of at least 1, found 0"),
        ({"maximumIterations": -1}, "maximumIterations: expected a whole number of at least 1, found -1"),
        ({"maximumIterations": True}, "maximumIterations: expected a whole number of at least 1, found true"),
        ({"maximumIterations": 1.5}, "maximumIterations: expected a whole number of at least 1, found 1.5"),
        (
            {"maximumIterations": "10"},
            'maximumIterations: expected a whole number of at least 1, found "10"; write it without quotes',
        ),
        (
            {"maximumIterations": None},
            ("maximumIterations: expected a whole number of at least 1, found null;"
            " leave the key out to get the default"),
        ),
        ({"maximumIterations": []}, "maximumIterations: expected a whole number of at least 1, found a list"),
        ({"completionResponse": ""}, 'completionResponse: expected a string that is not empty, found ""'),
        ({"completionResponse": " "}, 'completionResponse: expected a string that is not empty, found " "'),
        (
            {"completionResponse": 1},
            "completionResponse: expected a string that is not empty, found 1; write it in quotes",
        ),
        ({"streamAgentOutput": 1}, "streamAgentOutput: expected true or false, found 1"),
        (
            {"streamAgentOutput": "true"},
            'streamAgentOutput: expected true or false, found "true"; write it without quotes',
        ),
        ({"agent": "claude"}, 'agent: expected an object, found "claude"; write {"command": "claude"}'),
        ({"agent": " "}, 'agent: expected an object, found " "'),
        ({"agents": {"api_key": "s3cret"}}, "agents.api_key: expected an object, found a string"),
        ({"output": "loud"}, 'output: expected an object, found "loud"'),
        ({"agent": {"command": ""}}, 'agent.command: expected a string that is not empty, found ""'),
        ({"agent": {"command": "a\0b"}}, "agent.command: contains a character that cannot be passed to a program; remove it"),
        (
            {"agent": {"flags": "--model opus"}},
            'agent.flags: expected a list of strings, found "--model opus"; put it in [ ]',
        ),
        (
            {"agent": {"flags": "--api-key s3cret"}},
            'agent.flags: expected a list of strings, found "--api-key [redacted]"; put it in [ ]',
        ),
        ({"agent": {"flags": ["x", 1]}}, "agent.flags[1]: expected a string, found 1; write it in quotes"),
        (
            {"agent": {"adapter": "claud"}},
            'agent.adapter: expected one of acp, amp, claude, codex, copilot, gemini, opencode, plain, qwen, found "claud"; did you mean "claude"?',
        ),
        (
            {"agent": {"timeout": 0}},
            "agent.timeout: expected a number of seconds above 0 (null: no limit), found 0",
        ),
        (
            {"agent": {"idleTimeout": -1}},
            "agent.idleTimeout: expected a number of seconds (0 or null: no limit), found -1",
        ),
        (
            {"agent": {"timeout": True}},
            "agent.timeout: expected a number of seconds above 0 (null: no limit), found true",
        ),
        ({"agent": {"environment": []}}, "agent.environment: expected an object of strings, found a list"),
        (
            {"agent": {"environment": {"A": 1}}},
            "agent.environment.A: expected a string, found 1; write it in quotes",
        ),
        (
            {"agent": {"environment": {"API_TOKEN": 123456}}},
            "agent.environment.API_TOKEN: expected a string, found a number; write it in quotes",
        ),
        (
            {"agent": {"environment": {"A=B": "x"}}},
            "agent.environment.A=B: cannot be the name of a variable; rename it",
        ),
        ({"guardrails": {}}, "guardrails: expected a list of commands or objects, found an object; put it in [ ]"),
        (
            {"guardrails": [{"command": "a"}, " "]},
            'guardrails[1].command: expected a string that is not empty, found " "',
        ),
        (
            {"guardrails": [{"command": "a"}, {}]},
            "guardrails[1].command: is missing; give it a string that is not empty",
        ),
        (
            {"guardrails": [{"command": " "}]},
            'guardrails[0].command: expected a string that is not empty, found " "',
        ),
        (
            {"guardrails": [{"command": "a", "failAction": "APEND"}]},
            ("guardrails[0].failAction: expected one of APPEND, PREPEND, REPLACE,"
            ' found "APEND"; did you mean "APPEND"?'),
        ),
        (
            {"guardrails": [{"command": "a", "keep": "Head"}]},
            'guardrails[0].keep: expected one of head, tail, both, found "Head"; did you mean "head"?',
        ),
        ({"scm": {}}, "scm.command: is missing; give it a string that is not empty"),
        ({"scm": {"command": "git", "tasks": "commit"}}, 'scm.tasks: expected a list of strings, found "commit"; put it in [ ]'),
        ({"scm": []}, "scm: expected an object, found a list"),
        ({"output": {"maxLines": -1}}, "output.maxLines: expected a whole number of at least 0, found -1"),
        ({"output": {"emoji": True}}, "output.emoji: expected one of auto, always, never, found true"),
        ({"limits": {"maxAttempts": 0}}, "limits.maxAttempts: expected a whole number of at least 1, found 0"),
        ({"profiles": {"promise": 1}}, "profiles.promise: expected an object, found 1"),
        ([], "expected an object at the top; begin it with { and end it with }"),
        ("null", "expected an object at the top; begin it with { and end it with }"),
        (
            '{\n  "agent": {"command": "claude",}\n}',
            "not valid JSON: line 2, column 32: remove this comma: } follows it",
        ),
        ("", "not valid JSON: line 1, column 1: it is empty"),
        ('{"maximumIterations": NaN}', "not valid JSON: line 1, column 23: NaN is not JSON"),
        ('{"a": ' + "[" * 70 + "]" * 70 + "}", "not valid JSON: line 1, column 70: nested deeper than 64 levels"),
        ("[" * 100_000, "not valid JSON: line 1, column 65: nested deeper than 64 levels"),
        (b'{\n "a": "\xc3\xa4\xff"}', "line 2, column 9: not UTF-8 (byte 0xff); save it as UTF-8"),
        (
            '{"agent": {"timeout": 1e999}}',
            "not valid JSON: line 1, column 23: the number 1e999 is too large",
        ),
        (
            '{"maximumIterations": ' + "9" * 5000 + "}",
            f"not valid JSON: line 1, column 23: the number {'9' * 40}… is too large",
        ),
        ('{"completionResponse": "\\ud800"}', "completionResponse: contains a character that cannot be passed to a program; remove it"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_one_problem_with_file_key_and_reason(
    tmp_path: Path, content: object, message: str
) -> None:
    found = look(tmp_path, content)
    assert [str(problem) for problem in found.problems] == [f".ralph/settings.json: {message}"]
    assert found.settings is None
    with pytest.raises(InvalidSettings):
        load(tmp_path, environ={})


def test_a_number_too_large_for_seconds_is_a_problem(tmp_path: Path) -> None:
    found = look(tmp_path, '{"agent": {"timeout": ' + "9" * 400 + "}}")
    assert [problem.key for problem in found.problems] == ["agent.timeout"]


def test_a_directory_in_place_of_the_file_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / SETTINGS_FILE).mkdir(parents=True)
    assert [str(problem) for problem in look(tmp_path).problems] == [
        ".ralph/settings.json: is a directory, not a file; remove it"
    ]


def test_all_problems_of_all_layers_are_told_at_once(tmp_path: Path) -> None:
    write(tmp_path, {"maximumIterations": "x", "agent": {"flags": 1}, "guardrails": [{"failAction": "no"}]})
    write(tmp_path, {"maximumIterations": 5, "output": {"color": "red"}}, LOCAL_FILE)
    with pytest.raises(InvalidSettings) as caught:
        load(
            tmp_path,
            environ={"RALPH_LIMITS__MAX_ATTEMPTS": "none"},
            flags=[(("agent", "timeout"), -1.0, "--agent-timeout")],
        )
    assert caught.value.exit_code == 2
    assert caught.value.message.splitlines() == [
        f"7 problems in the settings of {tmp_path}:",
        '  .ralph/settings.json: maximumIterations: expected a whole number of at least 1, found "x"',
        "  .ralph/settings.json: agent.flags: expected a list of strings, found 1",
        '  .ralph/settings.json: guardrails[0].failAction: expected one of APPEND, PREPEND, REPLACE, found "no"',
        '  .ralph/settings.local.json: output.color: expected one of auto, always, never, found "red"',
        (
            "  environment RALPH_LIMITS__MAX_ATTEMPTS: limits.maxAttempts:"
            ' expected a whole number of at least 1, found "none"'
        ),
        "  --agent-timeout: agent.timeout: expected a number of seconds above 0 (null: no limit), found -1.0",
        "  .ralph/settings.json: guardrails[0].command: is missing; give it a string that is not empty",
    ]


def test_one_problem_is_told_in_the_singular() -> None:
    error = InvalidSettings([Problem(("key",), "is wrong", where="file")])
    assert error.message == "1 problem in the settings:\n  file: key: is wrong"


def test_a_broken_local_file_does_not_hide_problems_of_the_base(tmp_path: Path) -> None:
    write(tmp_path, {"maximumIterations": 0})
    write(tmp_path, "{", LOCAL_FILE)
    assert {problem.where for problem in look(tmp_path).problems} == {SETTINGS_FILE, LOCAL_FILE}


@pytest.mark.parametrize(
    ("content", "key", "hint"),
    [
        ({"maximumIteration": 1}, "maximumIteration", "did you mean maximumIterations?"),
        ({"maximum_iterations": 1}, "maximum_iterations", "did you mean maximumIterations?"),
        ({"agent": {"comand": "x"}}, "agent.comand", "did you mean agent.command?"),
        ({"guardrails": [{"command": "a", "Hint": "b"}]}, "guardrails[0].Hint", "did you mean guardrails[0].hint?"),
        ({"scm": {"command": "git", "task": []}}, "scm.task", "did you mean scm.tasks?"),
        ({"command": "claude"}, "command", "did you mean agent.command?"),
        ({"tasks": []}, "tasks", "did you mean scm.tasks?"),
        ({"zzz": 1}, "zzz", ""),
        ({"agent": {"$schema": "x"}}, "agent.$schema", ""),
    ],
)  # fmt: skip
def test_an_unknown_key_warns_with_the_nearest_known_one(
    tmp_path: Path, content: object, key: str, hint: str
) -> None:
    found = look(tmp_path, content)
    assert found.problems == ()
    assert [(one.where, one.key, one.message, one.hint) for one in found.warnings] == [
        (SETTINGS_FILE, key, "unknown key, ignored", hint)
    ]


def test_a_key_that_appears_twice_warns_and_the_last_counts(tmp_path: Path) -> None:
    found = look(tmp_path, '{"agent": {"command": "a", "command": "b"}, "guardrails": [{"command": "x"}]}')
    assert found.settings is not None
    assert found.settings.agent.command == "b"
    assert [str(warning) for warning in found.warnings] == [
        ".ralph/settings.json: agent.command: appears twice, the last one counts; remove one"
    ]


# --- cost --------------------------------------------------------------------------------------------------


def test_loading_settings_imports_nothing_heavy() -> None:
    heavy = ("asyncio", "click", "rich", "msgspec", "subprocess", "difflib", "shlex", "logging", "sqlite3")
    program = f"import sys, ralph.config.loading; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=90, check=True
    )
    assert done.stdout.strip() == "[]"
