"""``ralph fleet key``: a key with which everything that the server keeps is encrypted."""

from __future__ import annotations

import sys

import click

from ralph.interfaces.cli.options import requires_extra

HELP = """Print a new key. With it, prompts, notes and console lines are encrypted before they reach the server, which then knows only
names, times and states. Every machine of the fleet, workers and submitters alike, needs the same one, in RALPH_FLEET_KEY or in a
file that RALPH_FLEET_KEY_FILE names.

To replace a key, put the new one first and the old one after it: the first encrypts, all of them decrypt. The word `plain` among
them lets a fleet that gets its first key still read what is not encrypted.

\b
Examples:
  export RALPH_FLEET_KEY=$(ralph fleet key)
  (umask 077; ralph fleet key > ~/.config/ralph/fleet.key)
"""


@click.command("key", help=HELP)
def command() -> None:
    with requires_extra("`ralph fleet`", "fleet"):
        from ralph.operations.fleet.key import make_key

    print(make_key())
    if sys.stdout.isatty():
        lines = (
            "Every worker and every submitter needs it, and nobody else: set RALPH_FLEET_KEY,",
            "or RALPH_FLEET_KEY_FILE to a file with it. Keep a copy: it cannot be recovered.",
        )
        print("\n".join(lines), file=sys.stderr)
