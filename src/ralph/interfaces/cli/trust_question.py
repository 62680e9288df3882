"""The question before anything of a repository runs for the first time: may it?"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from ralph.errors import StoreError, UntrustedProject
from ralph.interfaces.cli.options import is_trust_given

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ralph.operations.trust import Demand, Loaded, Sources, Standing

HINT = "look at it with `ralph trust --show`, then `ralph trust`; in a script: --trust or RALPH_TRUST=1"


def require_trust(settings: Loaded | Sources, more: Sequence[Demand] = ()) -> None:
    """Ask, once, and remember a yes. Raises UntrustedProject after a no, or if there is nobody to ask."""
    from ralph.operations.agreement import is_waived

    if is_trust_given() or is_waived(os.environ):
        return
    from ralph.operations.trust import standing_of, trust

    standing = standing_of(settings, more)
    if standing.is_trusted:
        return
    if not _can_ask():
        raise UntrustedProject(_why(standing), hint=HINT)
    if not ask(standing):
        message = f"{standing.project} is not trusted: nothing was run"
        raise UntrustedProject(message, hint="`ralph trust` asks again")
    try:
        trust(standing)
    except StoreError as error:  # no home, or one that cannot be written: the answer counts all the same
        import click

        click.echo(f"ralph: {error}; the next run asks again", err=True)


def ask(standing: Standing) -> bool:
    """Show everything that the project asks for, and wait for an answer on the terminal."""
    import click

    show(standing)
    return click.confirm("Trust this project?", default=False, err=True)


def show(standing: Standing, *, err: bool = True) -> None:
    """What the project asks for; what has changed since it was trusted is marked."""
    import click

    from ralph.domain.text.safe_text import reveal
    from ralph.operations.trust import demand_lines

    state = "is trusted" if standing.is_trusted else "is not trusted yet"
    if standing.was_trusted and not standing.is_trusted:
        state = "has changed since you trusted it; + is new"
    click.echo("\n".join([f"{reveal(str(standing.project))} {state}", *demand_lines(standing)]), err=err)


def _can_ask() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _why(standing: Standing) -> str:
    from ralph.domain.text.safe_text import reveal
    from ralph.operations.trust import describe

    first, *others = standing.new
    rest = f", and {len(others)} more" if others else ""
    return f"{reveal(str(standing.project))} is not trusted: {reveal(first.source)} {describe(first)}{rest}"
