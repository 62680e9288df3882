"""The five commands that run agents have the same limits."""

from __future__ import annotations

import importlib
import itertools

import click
import pytest
from click.testing import CliRunner

from ralph.interfaces.cli.main import main
from ralph.interfaces.cli.options import given_settings, iteration_option, limit_options

COMMANDS = {
    ("run",): "commands.run",
    ("work",): "commands.work",
    ("supervise",): "commands.supervise",
    ("plan", "run"): "plans.run",
    ("resume",): "commands.resume",
}
BAD = [
    ("--max-cost", "0", "0 is not above zero"),
    ("--max-cost", "-1", "-1 is not above zero"),
    ("--max-cost", "inf", "inf is not above zero"),
    ("--max-cost", "nan", "nan is not above zero"),
    ("--max-cost", "cheap", "'cheap' is not a number of dollars"),
    ("--max-tokens", "0", "0: it must be at least 1"),
    ("--max-tokens", "1.5", "'1.5' is not a whole number"),
    ("--max-time", "0", "0 is not above zero"),
    ("--max-time", "soon", "'soon' is not a number of seconds (3600 is an hour)"),
    ("--max-iterations", "0", "0: it must be at least 1"),
    ("--maximum-iterations", "many", "'many' is not a whole number"),
]


@pytest.mark.parametrize(("command", "bad"), list(itertools.product(COMMANDS, BAD)))
def test_a_bad_limit_is_a_usage_error_in_every_command(
    command: tuple[str, ...], bad: tuple[str, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    option, value, said = bad
    assert main([*command, option, value]) == 2
    error = capsys.readouterr().err
    assert option in error
    assert said in error


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != ("supervise",)])
def test_a_negative_standstill_is_a_usage_error(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "--stuck-after", "-1"]) == 2
    assert "-1: it must be at least 0" in capsys.readouterr().err


def test_names_types_and_help_are_the_same_in_every_command() -> None:
    for name in ("max_cost", "max_tokens", "max_time", "no_wait"):
        options = [_option(module, name) for module in COMMANDS.values()]
        assert len({(tuple(one.opts), type(one.type), one.help, one.metavar) for one in options}) == 1, name
    for module in COMMANDS.values():
        assert {"--max-iterations", "--maximum-iterations"} <= {*_option(module, "max_iterations").opts}


def _option(module: str, name: str) -> click.Option:
    command = importlib.import_module(f"ralph.interfaces.cli.{module}").command
    (found,) = (one for one in command.params if one.name == name)
    assert isinstance(found, click.Option)
    return found


def test_what_is_given_becomes_settings() -> None:
    got: list[object] = []

    @click.command()
    @iteration_option()
    @limit_options
    def command(max_iterations: int | None) -> None:
        got.extend([max_iterations, *given_settings()])

    given = "-m 3 --max-cost 0.5 --max-tokens 10 --max-time 60 --stuck-after 0 --no-wait"
    CliRunner().invoke(command, given, catch_exceptions=False)
    assert got == [
        3,
        (("limits", "maxCost"), 0.5, "--max-cost"),
        (("limits", "maxTokens"), 10, "--max-tokens"),
        (("limits", "maxTime"), 60.0, "--max-time"),
        (("limits", "stuckAfter"), 0, "--stuck-after"),
        (("limits", "waitForLimits"), False, "--no-wait"),
    ]
    got.clear()
    CliRunner().invoke(command, [], catch_exceptions=False)
    assert got == [None]


def test_a_number_of_iterations_is_not_taken_for_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "run", "-m", "2"]) == 2
    assert "2 is not a model; to limit the iterations use --max-iterations" in capsys.readouterr().err
