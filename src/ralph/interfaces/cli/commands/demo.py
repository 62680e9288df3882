"""``ralph demo``: a real loop on a real repository, with an agent that ships with ralph."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ralph.interfaces.cli.options import PATH, events_option, verbose_option

INTRODUCTION = """\
A small repository with failing tests, and an agent that first lies about being done.
Passing tests are not believed at once: ralph runs them again in a clean checkout, then with a planted test that must fail.
The agent is a script that ships with ralph; the process, the tests, git and the journal are real.
It speaks claude's format, so the header says `agent claude`: claude itself is not started, and no account is used.
"""


@click.command("demo")
@click.argument("directory", required=False, type=PATH)
@verbose_option
@events_option
def command(directory: Path | None, verbose: bool, as_json: bool) -> int:
    """Watch a real loop on a small repository; no account needed.

    Makes a git repository with a failing test suite in DIRECTORY (default: a new temporary one), then runs a loop on
    it: the agent first says "done" while tests fail, is caught by the guardrail, and fixes the code until they pass.
    """
    from ralph.interfaces.cli.console_run import run_on_console
    from ralph.interfaces.cli.exit_codes import exit_code_of
    from ralph.operations.demo import make_demo, prepare_demo

    project = make_demo(directory)
    print(INTRODUCTION, file=sys.stderr)
    result = run_on_console(prepare_demo(project), verbose=verbose, json_lines=as_json, is_ours=True)
    _say_what_is_left(project, result.iterations)
    return exit_code_of(result.outcome)


def _say_what_is_left(project: Path, iterations: int) -> None:
    from ralph.operations.demo import last_commit

    runs = project / ".ralph" / "runs"
    lines = [
        "",
        "The commit:",
        *(f"  {line}" for line in last_commit(project).splitlines()),
        "",
        f"Repository:  {project}",
        f"Journal:     {project / '.ralph' / 'ralph.db'}",
        f"Run's files: {next(runs.iterdir(), runs)}",
        f"             ({iterations} iterations: prompts, the agent's raw stream, guardrail logs)",
        "",
        "Next: install ralph (in its checkout: `pip install '.[all]'`), go to a project of yours and run `ralph init`.",
    ]
    print("\n".join(lines), file=sys.stderr)
