from __future__ import annotations

import pytest

from ralph.domain.trust.shown import shown

TOKEN = "sk-ant-" + "a1B2c3D4" * 5
HIDDEN = "[redacted]"


@pytest.mark.parametrize(
    "command",
    [
        f"./{TOKEN}",
        f"{TOKEN} --version",
        f"make test; ./{TOKEN}",
        f"make test && {TOKEN}",
        f"true | {TOKEN}",
        f"echo $({TOKEN})",
        "PASSWORD=word && $PASSWORD",
        f"env A_TOKEN={TOKEN} sh -c '$A_TOKEN'",
        "make test",
    ],
)
def test_whatever_could_run_is_shown(command: str) -> None:
    assert shown(command) == command


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        (f"curl --api-key {TOKEN} https://example.test", f"curl --api-key {HIDDEN} https://example.test"),
        ({"MY_API_KEY": "abcdef0123456789abcd"}, f"MY_API_KEY={HIDDEN}"),
        ({"SOME": TOKEN}, f"SOME={HIDDEN}"),
        ([f"curl -H 'X-Api-Key: {TOKEN}' x"], f"curl -H 'X-Api-Key: {HIDDEN}' x"),
    ],
)
def test_what_is_only_a_secret_is_not(value: object, seen: str) -> None:
    assert shown(value) == seen


@pytest.mark.parametrize(
    "variables",
    [
        {"GIT_CONFIG_KEY_0": "core.fsmonitor"},
        {"X_TOKEN": "rm -rf ~"},
        {"X_TOKEN": f"./{TOKEN}"},
        {"PASSWORD": "word"},
        {"PATH": "bin:/usr/bin"},
    ],
)
def test_variables_that_could_be_a_command_or_a_setting_are_shown(variables: dict[str, str]) -> None:
    [(name, value)] = variables.items()
    assert shown(variables) == f"{name}={value}"


def test_other_values() -> None:
    values: list[object] = [[], {}, None, True, 3]
    assert [shown(value) for value in values] == ["nothing", "nothing", "nothing", "", "3"]
