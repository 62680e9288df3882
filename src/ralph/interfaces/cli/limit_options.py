"""The limits that every command that runs agents has: the same names, types and help everywhere."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ralph.config.sources import Flag

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class Amount(click.ParamType[float]):
    """A number above zero, by default of seconds; ``zero``: or zero."""

    def __init__(self, unit: str = "seconds", *, zero: bool = False) -> None:
        self.name = unit
        self._zero = zero

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            number = float(str(value))
        except ValueError:
            self.fail(f"{value!r} is not a number of {self.name}", param, ctx)
        if not 0 <= number < float("inf") or (number == 0 and not self._zero):
            self.fail(f"{value} is not {'at least' if self._zero else 'above'} zero", param, ctx)
        return number


class Count(click.ParamType[int]):
    """A whole number of at least ``minimum``."""

    name = "count"

    def __init__(self, minimum: int = 1) -> None:
        self._minimum = minimum

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = int(str(value))
        except ValueError:
            self.fail(f"{value!r} is not a whole number", param, ctx)
        if number < self._minimum:
            self.fail(f"{value} is not at least {self._minimum}", param, ctx)
        return number


def iteration_option(text: str = "Stop after N iterations.", *names: str, short: str = "-m") -> Decorator:
    """``names``: what else the command calls it. ``ralph plan run`` has another short name: its -m is the model."""
    everywhere = ("--max-iterations", "--maximum-iterations")
    return click.option(short, *names, *everywhere, "max_iterations", metavar="N", type=Count(), help=text)


_OPTIONS = {
    "max_cost": click.option(
        "--max-cost", metavar="USD", type=Amount("dollars"), help="Stop when the run has cost USD dollars."
    ),
    "max_tokens": click.option(
        "--max-tokens", metavar="N", type=Count(), help="Stop when the run has used N tokens."
    ),
    "max_time": click.option(
        "--max-time", metavar="SECONDS", type=Amount(), help="Stop after SECONDS seconds, pauses included."
    ),
    "stuck_after": click.option(
        "--stuck-after",
        metavar="N",
        type=Count(0),
        help="Stop after N iterations in a row without progress; 0: never.  [default: 5]",
    ),
    "no_wait": click.option(
        "--no-wait",
        is_flag=True,
        help="Exit with 5 when a usage limit is hit, instead of waiting for its reset.",
    ),
}
_SETTINGS = {
    "max_cost": "maxCost",
    "max_tokens": "maxTokens",
    "max_time": "maxTime",
    "stuck_after": "stuckAfter",
    "no_wait": "waitForLimits",
}


def limit_options(*, standstill: bool = True) -> Decorator:
    """The command gets those that were given as ``limits``, a list of settings.

    ``standstill`` False: the command's runs do not notice one, so there is no ``--stuck-after``.
    """
    options = [option for name, option in _OPTIONS.items() if standstill or name != "stuck_after"]

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def collect(*arguments: Any, **values: Any) -> Any:
            given = {name: values.pop(name, None) for name in _OPTIONS}
            return function(*arguments, limits=_flags(given), **values)

        for option in reversed(options):
            collect = option(collect)
        return collect

    return decorate


def _flags(given: dict[str, Any]) -> list[Flag]:
    given["no_wait"] = False if given["no_wait"] else None  # the setting says the opposite
    return [
        (("limits", _SETTINGS[name]), value, f"--{name.replace('_', '-')}")
        for name, value in given.items()
        if value is not None
    ]
