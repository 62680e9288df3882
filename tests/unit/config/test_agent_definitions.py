"""``agents.<name>`` in the settings: what is taken, and what is refused with which words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ralph.config.loading import effective, inspect, load
from ralph.config.schema import json_schema
from ralph.domain.agent.definition import PromptWay


def write(root: Path, agents: object, **more: Any) -> Path:
    (root / ".ralph").mkdir(exist_ok=True)
    (root / ".ralph" / "settings.json").write_text(json.dumps({"agents": agents, **more}))
    return root


def test_an_agent_is_described_by_what_differs_from_plain(tmp_path: Path) -> None:
    agents = {
        "mine": {
            "command": "tools/agent",
            "flags": ["--ask {prompt}"],
            "prompt": "argument",
            "output": "claude-stream",
            "environment": {"LEVEL": "high"},
        },
        "opus": {"command": "claude", "adapter": "claude", "model": "opus"},
    }

    settings = load(write(tmp_path, agents), environ={}).settings

    mine, opus = settings.agents["mine"], settings.agents["opus"]
    assert (mine.command, mine.flags) == ("tools/agent", ("--ask {prompt}",))
    assert (mine.prompt, mine.output) == (PromptWay.ARGUMENT, "claude-stream")
    assert mine.environment == {"LEVEL": "high"}
    assert (opus.adapter, opus.model, opus.prompt, opus.output) == ("claude", "opus", None, None)


@pytest.mark.parametrize(
    ("agents", "problem"),
    [
        ([], "agents: expected an object with an object for each name, found a list"),
        ({"mine": "aider"}, 'agents.mine: expected an object, found "aider"'),
        ({"mine": {}}, "agents.mine.command: is missing"),
        ({"mine": {"command": " "}}, "agents.mine.command: expected a string that is not empty"),
        (
            {"mine": {"command": "x", "prompt": "stdn"}},
            'agents.mine.prompt: expected one of stdin, argument, file, found "stdn"; did you mean "stdin"?',
        ),
        ({"mine": {"command": "x", "output": "yaml"}}, "agents.mine.output: expected one of text, amp, claude, codex"),
        ({"mine": {"command": "x", "adapter": "cloude"}}, 'did you mean "claude"?'),
        (
            {"mine": {"command": "x", "adapter": "claude", "output": "text"}},
            "agents.mine: has an adapter as well as a prompt or output",
        ),
        ({"claude": {"command": "x"}}, "agents.claude: is the name of an agent that ralph knows"),
        ({"a,b": {"command": "x"}}, "is not a valid name for an agent"),
        ({"a/b": {"command": "x"}}, "is not a valid name for an agent"),
        ({"a\0b": {"command": "x"}}, "contains a character that cannot be passed to a program"),
        ({"mine": {"command": "x", "environment": {"A": 1}}}, "agents.mine.environment.A: expected a string"),
    ],
)  # fmt: skip
def test_a_description_that_is_wrong_is_a_problem_that_names_the_place(
    tmp_path: Path, agents: object, problem: str
) -> None:
    found = inspect(write(tmp_path, agents), environ={})

    assert any(problem in str(each) for each in found.problems), found.problems
    assert found.settings is None


def test_an_unknown_key_in_it_is_doubted(tmp_path: Path) -> None:
    found = inspect(write(tmp_path, {"mine": {"command": "x", "outptu": "text"}}), environ={})

    assert [str(warning) for warning in found.warnings] == [
        ".ralph/settings.json: agents.mine.outptu: unknown key, ignored; did you mean agents.mine.output?"
    ]


def test_ones_own_file_adds_to_the_teams_agent(tmp_path: Path) -> None:
    write(tmp_path, {"mine": {"command": "x", "flags": ["--fast"]}})
    local = {"agents": {"mine": {"environment": {"TOKEN": "t"}}, "other": {"command": "y"}}}
    (tmp_path / ".ralph" / "settings.local.json").write_text(json.dumps(local))

    agents = load(tmp_path, environ={}).settings.agents

    assert (agents["mine"].flags, agents["mine"].environment) == (("--fast",), {"TOKEN": "t"})
    assert agents["other"].command == "y"


@pytest.mark.parametrize(
    ("agents", "is_valid"),
    [
        ({"mine": {"command": "x", "prompt": "file", "output": None}}, True),
        ({"mine": {"command": "x", "output": "claude"}}, True),
        ({"mine": {"command": "x", "output": "claude-stream"}}, True),
        ({"mine": {"command": "x", "output": "yaml"}}, False),
        ({"mine": {"command": "x", "prompt": "post"}}, False),
        ({"mine": {"flags": []}}, False),
    ],
)
def test_an_editor_is_told_the_same(agents: object, is_valid: bool) -> None:
    validator = jsonschema.Draft202012Validator(json_schema())

    assert validator.is_valid({"agents": agents}) is is_valid


def test_session_options_have_their_defaults_and_are_read(tmp_path: Path) -> None:
    write(tmp_path, {}, agent={"command": "claude", "model": "opus", "maxTurns": 5, "continueSession": True})

    loaded = load(tmp_path, environ={"RALPH_AGENT__MAX_TURNS": "7"}).settings

    agent = loaded.agent
    assert (agent.model, agent.max_turns, agent.continue_session) == ("opus", 7, True)
    plain = load(write(tmp_path, {}), environ={}).settings.agent
    assert (plain.model, plain.max_turns, plain.continue_session) == ("", None, False)
    assert effective(loaded)["agents"] == {}


@pytest.mark.parametrize("value", [0, -1, "many", 1.5])
def test_a_limit_of_turns_is_a_number_of_at_least_one(tmp_path: Path, value: object) -> None:
    found = inspect(write(tmp_path, {}, agent={"maxTurns": value}), environ={})

    assert "agent.maxTurns" in str(found.problems[0])
