"""``ralph resume``: go on where an interrupted run was."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ralph.errors import UsageError

if TYPE_CHECKING:
    from ralph.config.sources import Flag

HELP = """Go on with an interrupted run, by default the newest one here.

Iterations, spend, limits and pending feedback go on where they were; the agent is told that its last session was cut off.
Flags and prompt are those of the run; settings are read anew, and what differs is printed. With -m or --max-… an exhausted
run gets a new limit.
"""


@click.command(
    "resume", help=HELP, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.argument("run", required=False)
@click.option(
    "-m", "--maximum-iterations", metavar="N", type=int, help="A new limit, counted from the run's beginning."
)
@click.option("--max-cost", type=float, metavar="USD", help="A new limit on money, for the whole run.")
@click.option("--max-tokens", type=int, metavar="N", help="A new limit on tokens, for the whole run.")
@click.option("--max-time", type=float, metavar="SECONDS", help="A new limit on time, for the whole run.")
@click.option("-V", "--verbose", is_flag=True, help="Print what ralph does and how long it takes.")
@click.option("--project-dir", metavar="DIR", type=click.Path(path_type=Path), help="Project to look in.")
@click.option("--json", "as_json", is_flag=True, help="Events as JSON lines on stdout.")
def command(
    run: str | None,
    maximum_iterations: int | None,
    max_cost: float | None,
    max_tokens: int | None,
    max_time: float | None,
    verbose: bool,
    project_dir: Path | None,
    as_json: bool,
) -> int:
    from ralph.adapters.storage.run_request import load_request
    from ralph.config.loading import effective, load
    from ralph.config.root import STATE_FOLDER, Root, find_root
    from ralph.domain.views.runs import RunState
    from ralph.interfaces.cli.exit_codes import exit_code_of
    from ralph.interfaces.cli.run_choice import resumable_run
    from ralph.interfaces.cli.running import run_on_console
    from ralph.wiring.profiles import load_profile, prepare_again

    root = find_root(Path.cwd(), project_dir)
    folder = root.state / STATE_FOLDER
    new_limits = [
        (("limits", "maxCost"), max_cost, "--max-cost"),
        (("limits", "maxTokens"), max_tokens, "--max-tokens"),
        (("limits", "maxTime"), max_time, "--max-time"),
    ]
    given = [(path, value, origin) for path, value, origin in new_limits if value is not None]
    chosen = resumable_run(root, run, extended=maximum_iterations is not None or bool(given))
    request = load_request(folder / "runs" / chosen.id)
    if request.by_program:
        message = f"run {chosen.id} was started by a program that may have checks of its own"
        raise UsageError(
            message, hint=f"resume it there: prepare_run(…, resumes={chosen.id!r}); or name another run"
        )
    if not Path(request.workspace).is_dir():
        message = f"the working tree of run {chosen.id} is gone: {request.workspace}"
        raise UsageError(message, hint="make it again (`git worktree add`), or start a new run")
    if run is None and chosen.state is not RunState.INTERRUPTED:
        print(f"ralph: going on with run {chosen.id}, which is {chosen.state}", file=sys.stderr)
    flags: list[Flag] = [(tuple(path), value, origin) for path, value, origin in request.flags]
    if maximum_iterations is not None:
        profile = load_profile(request.profile)
        section = () if profile.name == "basic" else ("profiles", profile.name)
        flags.append(((*section, profile.limit), maximum_iterations, "--maximum-iterations"))
    flags += given
    flags = list({path: (path, value, origin) for path, value, origin in flags}.values())
    loaded = load(root.state, environ=os.environ, flags=flags)
    for difference in differences(request.settings, effective(loaded.settings)):
        print(f"ralph: since the run began: {difference}", file=sys.stderr)
    launch = prepare_again(
        request.profile,
        request.arguments,
        loaded.settings,
        Root(root.state, Path(request.workspace)),
        flags=flags,
        resumes=chosen.id,
    )
    result = run_on_console(launch, verbose=verbose, json_lines=as_json)
    if launch.profile.name == "verified" and not as_json:
        from ralph.interfaces.cli.work_table import print_results

        print_results(launch)
    return exit_code_of(result.outcome)


def differences(before: Mapping[str, object], now: Mapping[str, object], path: str = "") -> Iterator[str]:
    """Each setting that is not what it was, in one line."""
    for key in sorted({*before, *now}):
        name = f"{path}.{key}" if path else key
        old, new = before.get(key), now.get(key)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from differences(old, new, name)
        elif json.dumps(old) != json.dumps(new):
            yield f"{name} was {json.dumps(old)}, is {json.dumps(new)}"
