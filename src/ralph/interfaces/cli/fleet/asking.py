"""How every command reaches the fleet's server, and names a job there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from ralph.interfaces.cli.options import Decorator, requires_extra

if TYPE_CHECKING:
    from ralph.operations.fleet.desk import FleetDesk

job_argument: Decorator = click.argument("job", metavar="JOB")


@contextmanager
def open_desk() -> Iterator[FleetDesk]:
    with requires_extra("`ralph fleet`", "fleet"):
        import temporalio  # noqa: F401 (its absence is told before anything else is)
    from ralph.operations.fleet.desk import FleetDesk

    with FleetDesk() as desk:
        yield desk
