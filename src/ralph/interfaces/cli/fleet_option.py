"""``--fleet``: the fleet's jobs beside the local runs, on a page or a screen."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ralph.interfaces.cli.options import Decorator, requires_extra

if TYPE_CHECKING:
    from ralph.operations.fleet.watch import FleetWatch

LIBRARY = "temporalio"

fleet_option: Decorator = click.option(
    "--fleet",
    is_flag=True,
    help="Show the fleet's jobs, too (setting `fleet.show`). The server is found as by `ralph fleet status`.",
)


def chosen_fleet(*, wanted: bool) -> FleetWatch | None:
    """None: neither the flag nor the user's own settings ask for it. Raises UsageError if what it needs is not installed."""
    if not (wanted or _is_usual()):
        return None
    with requires_extra("the fleet", "fleet"):
        if (
            find_spec(LIBRARY) is None
        ):  # importing it takes half a second: the watch does that beside everything else
            raise ModuleNotFoundError(name=LIBRARY)
    from ralph.operations.fleet.watch import FleetWatch

    return FleetWatch()


def _is_usual() -> bool:
    """A repository has no say in it."""
    from ralph.config.loading import Sources

    return Sources.read(Path.cwd(), os.environ).of_machine().fleet.show
