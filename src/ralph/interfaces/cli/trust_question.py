"""The question before anything of a repository runs for the first time: may it?"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from ralph.errors import StoreError, UntrustedProject
from ralph.interfaces.cli.options import is_trust_given

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import TextIO

    from ralph.operations.runs.start import Launch
    from ralph.operations.trust import Standing

INDENT = 6
"""Of the second line of an entry."""
NARROWEST = 20
"""A terminal that a list can be wrapped for."""


def require_trust(launch: Launch) -> None:
    """Ask, once, and remember a yes. Raises UntrustedProject after a no, or if there is nobody to ask."""
    standing = untrusted(launch)
    if standing is None:
        return
    from ralph.operations.agreement import VARIABLE
    from ralph.operations.trust import trust

    if not can_ask():
        agree = _command_to_agree(standing)
        own = f"if you changed it yourself: `{agree} --yes`; else " if standing.was_trusted else ""
        hint = f"{own}look at it with `{agree} --show`, then `{agree}`; in a script: --trust or {VARIABLE}=1"
        raise UntrustedProject(_why(standing), hint=hint)
    from ralph.operations.runs.start import sandbox_words

    ask(standing, about=sandbox_words(launch))
    try:
        trust(standing)
    except StoreError as error:  # no home, or one that cannot be written: the answer counts all the same
        import click

        click.echo(f"ralph: {error}; the next run asks again", err=True)
        os.environ[VARIABLE] = "1"  # this once: for the run that --ui starts


def tell_unmarked(project: Path) -> None:
    """The run has written what the next one would ask about: say so, and what to do."""
    from ralph.operations.agreement import VARIABLE, is_waived

    if is_trust_given() or is_waived(os.environ):
        return
    from ralph.operations.trust import strange_records

    if strange_records(project, os.environ):
        import click

        message = (
            "ralph: cannot remember that it wrote this record, so the next run asks whether you trust it"
        )
        hint = (
            f"make ~/.local/state/ralph (or XDG_STATE_HOME) writable, or set {VARIABLE}=1, in a container say"
        )
        click.echo(f"{message}\n  {hint}", err=True)


def untrusted(launch: Launch) -> Standing | None:
    """What a run would have to ask about."""
    from ralph.operations.agreement import is_waived

    if is_trust_given() or is_waived(os.environ):
        return None
    from ralph.operations.trust import standing_of

    standing = standing_of(
        launch.loaded, launch.root.workspace, launch.demands, usual_sandbox=launch.profile.sandbox
    )
    return None if standing.is_trusted else standing


def ask(
    standing: Standing,
    *,
    about: str = "",
    title: str = "",
    question: str = "Trust this project?",
    after_no: str = "",
) -> None:
    """Show everything that the project asks for, or what of it is new, and wait for a yes on the terminal. ``about``: what
    confines it, if anything does. ``title``, ``question``, ``after_no``: for what is not the project itself.

    Raises UntrustedProject after any other answer.
    """
    import click

    from ralph.domain.text.safe_text import reveal

    show(standing, only_new=standing.was_trusted, title=title)
    if about:
        click.echo("\n".join(_wrapped(f"  {about}", sys.stderr)), err=True)
    click.echo(f"{question} [y/N]: ", nl=False, err=True)
    try:
        answer = sys.stdin.readline()
    except UnicodeDecodeError:
        answer = "?\n"
    if not answer.endswith("\n"):  # Ctrl-D
        click.echo(err=True)
    if answer.strip().lower() not in ("y", "yes"):
        agree = _command_to_agree(standing)
        message = f"{reveal(str(standing.project))} is not trusted: nothing was run; `{agree}` asks again"
        raise UntrustedProject(after_no or message)


def show(standing: Standing, *, err: bool = True, only_new: bool = False, title: str = "") -> None:
    """What the project asks for; what has changed since it was trusted is marked. ``title``: above it.

    ``only_new``: what the user has agreed to is counted, so that an edit of their own is a line to read, not all of it.
    """
    import click

    from ralph.domain.text.safe_text import reveal

    state = "is trusted" if standing.is_trusted else "is not trusted yet"
    if standing.was_trusted and not standing.is_trusted:
        state = "has changed since you trusted it; + is new"
    click.echo(title or f"{reveal(str(standing.project))} {state}", err=err)
    for line in _lines(standing, only_new=only_new):
        click.echo("\n".join(_wrapped(line, sys.stderr if err else sys.stdout)), err=err)


def _lines(standing: Standing, *, only_new: bool) -> Iterator[str]:
    """By file; if some was trusted before, the rest is marked."""
    from ralph.domain.text.safe_text import reveal
    from ralph.domain.trust.shown import describe

    shown = standing.new if only_new else standing.asked
    for source in dict.fromkeys(demand.source for demand in shown):
        yield reveal(source)
        for demand in shown:
            if demand.source == source:
                mark = "+" if standing.was_trusted and demand in standing.new else " "
                yield f"  {mark} {describe(demand)}" + (f"  ({reveal(demand.key)})" if demand.key else "")
    if only_new:
        yield f"The rest is as you trusted it (`{_command_to_agree(standing)} --show` lists all of it)."
        yield "If this is your own edit, answer y; if not, find out whose it is first."


def _wrapped(line: str, stream: TextIO) -> list[str]:
    """All of it: what goes on in the next line is indented there, so that it never looks like an entry of its own."""
    from ralph.interfaces.cli.terminal import fit, is_terminal, terminal_width

    width = terminal_width(stream)
    if not is_terminal(stream) or width < NARROWEST:
        return [line]
    lines: list[str] = []
    indent, start = "", 0
    while start < len(line):
        part = indent + line[start : start + width + 1]
        end = len(fit(part, width, ellipsis=""))
        if end < len(part):
            end = part.rfind(" ", INDENT + 1, end) + 1 or end
        lines.append(part[:end])
        start += end - len(indent)
        indent = " " * INDENT
    return lines


def _command_to_agree(standing: Standing) -> str:
    """``ralph trust``, for the project and the plan that this command was given."""
    import shlex

    import click

    given = click.get_current_context().params
    places = [(f"--{name.replace('_', '-')}", given.get(name)) for name in ("project_dir", "ralph_dir")]
    deliver = ("--deliver", "pr") if standing.delivers else ()
    return shlex.join(
        ["ralph", "trust", *deliver, *(str(one) for place in places if place[1] for one in place)]
    )


def can_ask() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _why(standing: Standing) -> str:
    from ralph.domain.text.safe_text import reveal
    from ralph.domain.trust.shown import describe

    place = reveal(str(standing.project))
    first, *others = standing.new
    rest = f", and {len(others)} more" if others else ""
    what = f"what is new in {place}" if standing.was_trusted else place
    return f"{what} is not trusted: {reveal(first.source)} {describe(first)}{rest}"
