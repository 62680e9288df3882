"""Which commands a job may be: one rule for submitters and workers, which reads words as the command line does."""

from __future__ import annotations

from importlib import import_module

import click
import pytest

from ralph.domain.fleet.commands import (
    FLAGS,
    KINDS,
    OPTIONAL,
    REFUSED,
    read_words,
    refusal_of_command,
    refusal_of_flags,
)

MODULES = {"plan run": "plans.run"}


def options_of(name: str) -> list[click.Option]:
    module = MODULES.get(name, f"commands.{name}")
    command = import_module(f"ralph.interfaces.cli.{module}").command
    context = click.Context(command, help_option_names=["-h", "--help"])
    return [each for each in command.get_params(context) if isinstance(each, click.Option)]


ALL = [option for name in (*KINDS, "work") for option in options_of(name)]


def test_the_rule_knows_which_options_take_a_value() -> None:
    flags = {
        name for each in ALL if each.is_flag or each.count for name in (*each.opts, *each.secondary_opts)
    }
    optional = {name for each in ALL if each._flag_needs_value for name in each.opts}

    assert flags - optional == FLAGS
    assert optional == OPTIONAL
    assert all(each.nargs == 1 for each in ALL)


def test_what_is_refused_is_refused_in_every_spelling() -> None:
    spelled = [each.opts for each in ALL if set(each.opts) & set(REFUSED)]

    assert {name for names in spelled for name in names} == set(REFUSED)


@pytest.mark.parametrize(
    "words",
    [
        ("run", "Fix it"),
        ("run", "-p", "--detach"),  # a prompt of one odd word
        ("run", "-p--detach"),
        ("run", "--prompt=--detach", "--sandbox", "bwrap"),
        ("run", "--", "--detach"),
        ("supervise", "--no-sandbox", "--", "./agent.sh", "--json"),
        ("plan", "run", "-n", "3"),
    ],
)
def test_what_a_job_may_be(words: tuple[str, ...]) -> None:
    assert refusal_of_command(words) is None


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("web",),
        ("plan", "status"),
        ("--detach",),
        ("resume", "r1"),
        ("task", "add", "-f", "/etc/passwd"),
        ("run", "x", "--detach"),
        ("run", "-p", "--", "--detach"),  # the dashes are the prompt
        ("run", "-m", "3", "--project-dir=/srv"),
        ("run", "--sandbox", "--detach"),
        ("run", "x", "-V", "--detach"),
        ("plan", "run", "-Vd/srv"),
        ("plan", "run", "-d", "/srv"),
    ],
)
def test_what_a_job_may_not_be(words: tuple[str, ...]) -> None:
    assert refusal_of_command(words) is not None


@pytest.mark.parametrize(
    "flags",
    [("T-1",), ("--",), ("--agent", "x", "--", "T-1"), ("--agent",), ("-m", "3", "--ui"), ("-V", "T")],
)
def test_with_a_task_there_are_options_alone(flags: tuple[str, ...]) -> None:
    """What follows them, follows them as the task: no option may be waiting for its value."""
    assert refusal_of_flags(flags) is not None


def test_options_are_read_to_their_end() -> None:
    found = read_words(("-Vm3", "--agent", "-x", "word", "--", "-y"))

    assert found.options == ("-V", "-m", "--agent")
    assert found.others == ("word", "--", "-y")
    assert found.is_whole
    assert refusal_of_flags(("--sandbox",)) is None
