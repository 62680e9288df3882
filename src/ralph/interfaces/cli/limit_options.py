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


_OPTIONS = (
    click.option(
        "--max-cost", metavar="USD", type=Amount("dollars"), help="Stop when the run has cost USD dollars."
    ),
    click.option("--max-tokens", metavar="N", type=Count(), help="Stop when the run has used N tokens."),
    click.option(
        "--max-time", metavar="SECONDS", type=Amount(), help="Stop after SECONDS seconds, pauses included."
    ),
    click.option(
        "--stuck-after",
        metavar="N",
        type=Count(0),
        help="Stop after N iterations in a row without progress; 0: never.  [default: 5]",
    ),
    click.option(
        "--no-wait",
        is_flag=True,
        help="When a usage limit is hit, exit with 5 instead of waiting for its reset.",
    ),
)
_SETTINGS = {
    "max_cost": ("maxCost", "--max-cost"),
    "max_tokens": ("maxTokens", "--max-tokens"),
    "max_time": ("maxTime", "--max-time"),
    "stuck_after": ("stuckAfter", "--stuck-after"),
    "no_wait": ("waitForLimits", "--no-wait"),
}


def limit_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The command gets those that were given as ``limits``, a list of settings."""

    @functools.wraps(function)
    def collect(*arguments: Any, **values: Any) -> Any:
        given = {name: values.pop(name) for name in _SETTINGS}
        return function(*arguments, limits=_flags(given), **values)

    for option in reversed(_OPTIONS):
        collect = option(collect)
    return collect


def _flags(given: dict[str, Any]) -> list[Flag]:
    given["no_wait"] = False if given["no_wait"] else None  # the setting says the opposite
    return [
        (("limits", _SETTINGS[name][0]), value, _SETTINGS[name][1])
        for name, value in given.items()
        if value is not None
    ]
