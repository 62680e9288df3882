"""``ralph fleet limits``: what all jobs together may use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ralph.domain.text.figures import money, plural
from ralph.domain.text.safe_text import clean_line
from ralph.errors import UsageError
from ralph.interfaces.cli.fleet.asking import open_desk
from ralph.interfaces.cli.options import Amount, json_option, print_json
from ralph.values import replace

if TYPE_CHECKING:
    from ralph.domain.fleet.views import FleetLimits

HELP = """Show what all jobs on all machines together may use, and set it. A job that finds no place waits for one; when the money is
spent, no further session begins until the limit is raised.

ACCOUNT is an agent's name, or what workers call its account (`ralph fleet worker --account`).

\b
Examples:
  ralph fleet limits
  ralph fleet limits --sessions claude=3 --sessions codex=2 --max-cost 100
  ralph fleet limits --sessions claude=none
  ralph fleet limits --clear
"""


@click.command("limits", help=HELP)
@click.option(
    "--sessions",
    metavar="ACCOUNT=N",
    multiple=True,
    help="At most N sessions at a time; none: no limit any more; may be repeated.",
)
@click.option(
    "--max-cost", metavar="USD", type=Amount("dollars"), help="Dollars for all jobs, from the first one on."
)
@click.option("--clear", is_flag=True, help="Remove all limits.")
@json_option()
def command(sessions: tuple[str, ...], max_cost: float | None, clear: bool, as_json: bool) -> None:
    from ralph.domain.fleet.views import FleetLimits

    if clear and (sessions or max_cost is not None):
        message = "--clear removes all limits, so no other can be given with it"
        raise UsageError(message, hint="run it once with --clear, then set others")
    given = dict(map(_place, sessions))
    with open_desk() as desk:
        limits = desk.ask(lambda fleet: fleet.limits())
        if clear or given or max_cost is not None:
            wanted = FleetLimits() if clear else _changed(limits, given, max_cost)
            desk.ask(lambda fleet: fleet.set_limits(wanted))
            limits = replace(limits, sessions=wanted.sessions, max_cost=wanted.max_cost)
    if as_json:
        print_json(
            {
                "sessions": dict(limits.sessions),
                "in_use": dict(limits.in_use),
                "max_cost_usd": limits.max_cost,
                "spent_usd": limits.spent,
            }
        )
        return
    print("\n".join(_lines(limits)))


def _place(text: str) -> tuple[str, int | None]:
    account, equals, count = text.partition("=")
    is_number = count.isascii() and count.isdigit() and int(count) > 0
    if not account.strip() or not equals or not (is_number or count == "none"):
        message = f"--sessions {clean_line(text)!r} is not ACCOUNT=N"
        raise UsageError(message, hint="such as --sessions claude=3, or claude=none for no limit")
    return account.strip(), int(count) if is_number else None


def _changed(limits: FleetLimits, given: dict[str, int | None], max_cost: float | None) -> FleetLimits:
    places = {**dict(limits.sessions), **given}
    kept = tuple(sorted((name, count) for name, count in places.items() if count is not None))
    return replace(limits, sessions=kept, max_cost=limits.max_cost if max_cost is None else max_cost)


def _lines(limits: FleetLimits) -> list[str]:
    in_use = dict(limits.in_use)
    lines = [
        f"{clean_line(name)}: at most {plural(count, 'session')} at a time; {in_use.get(name, 0)} now"
        for name, count in limits.sessions
    ]
    if limits.max_cost is not None:
        lines.append(f"money: at most {money(limits.max_cost)}; {money(limits.spent)} spent")
    return lines or ["no limits"]
