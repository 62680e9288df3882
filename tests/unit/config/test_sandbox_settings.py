"""The settings of the sandbox."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from ralph.config.kinds import Reading
from ralph.config.sandbox_settings import SandboxSettings
from ralph.config.schema import SETTINGS, Settings, json_schema
from ralph.domain.sandbox.kind import Network
from ralph.domain.sandbox.policy import Limits, SandboxPolicy
from ralph.domain.text.reader import Problem
from ralph.wiring.confinement import policy_of


def read(sandbox: object) -> tuple[Settings, list[str]]:
    problems: list[Problem] = []
    settings = SETTINGS.read({"sandbox": sandbox}, Reading(lambda _: "here", problems, problems))
    return settings, [f"{problem.key}: {problem.message}" for problem in problems]


def test_by_default_nothing_is_asked_for_and_checks_go_where_the_agent_goes() -> None:
    settings, _ = read({})
    assert settings.sandbox == SandboxSettings()
    assert settings.sandbox.kind is None
    assert settings.sandbox_checks
    assert policy_of(settings.sandbox) == SandboxPolicy()


def test_everything_that_can_be_set_reaches_the_sandbox() -> None:
    settings, problems = read(
        {
            "kind": "bwrap",
            "network": "off",
            "allow": ["*.example.com", "10.0.0.7:8080"],
            "writable": ["~/cache"],
            "readonly": ["~/notes"],
            "env": ["MY_*"],
            "memory": "4g",
            "pids": 200,
            "image": "agents:1",
        }
    )
    assert problems == []
    policy = policy_of(settings.sandbox)
    assert policy.network is Network.OFF
    assert [str(rule) for rule in policy.allow] == ["*.example.com", "10.0.0.7:8080"]
    assert policy.limits == Limits(4 * 2**30, 200)
    assert (policy.writable, policy.readonly, policy.env, policy.image) == (
        ("~/cache",),
        ("~/notes",),
        ("MY_*",),
        "agents:1",
    )


@pytest.mark.parametrize(
    ("sandbox", "message"),
    [
        ({"kind": "jail"}, "sandbox.kind: expected one of auto, "),
        ({"network": "on"}, "sandbox.network: expected one of off, allow"),
        ({"allow": ["https://x.org"]}, "sandbox.allow[0]: 'https://x.org' is the address of a page"),
        ({"allow": ["ok.org", "*.com"]}, "sandbox.allow[1]: '*.com' is too wide"),
        ({"allow": [1]}, "sandbox.allow[0]: expected a host such as"),
        ({"allow": "x.org"}, "sandbox.allow: expected a list of hosts"),
        ({"memory": "lots"}, "sandbox.memory: expected a size such as 512m or 4g"),
        ({"memory": -1}, "sandbox.memory: expected a size such as"),
        ({"memory": True}, "sandbox.memory: expected a size such as"),
        ({"memory": 1.5}, "sandbox.memory: expected a size such as"),
        ({"pids": -1}, "sandbox.pids: expected a whole number of at least 0"),
        ({"image": ""}, "sandbox.image: expected a string that is not empty"),
        ({"networc": "off"}, "sandbox.networc: unknown key, ignored"),
    ],
)
def test_what_is_wrong_is_named_with_its_key(sandbox: dict[str, Any], message: str) -> None:
    _, problems = read(sandbox)
    assert len(problems) == 1
    assert problems[0].startswith(message)


@pytest.mark.parametrize(
    ("memory", "is_fine"),
    [
        ("4g", True),
        ("512 MiB", True),
        (1, True),
        (None, True),
        ("0", True),
        (0, True),
        (-1, False),
        ("0g", False),
        ("4x", False),
        (1.5, False),
    ],
)
def test_the_schema_agrees_about_sizes(memory: object, is_fine: bool) -> None:
    validator = jsonschema.Draft202012Validator(json_schema())
    assert validator.is_valid({"sandbox": {"memory": memory}}) is is_fine
    assert (read({"memory": memory})[1] == []) is is_fine
