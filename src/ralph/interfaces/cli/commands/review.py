"""``ralph review``: a review by fresh eyes of a branch or a pull request, without changing it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ralph.errors import UsageError
from ralph.interfaces.cli.options import (
    PATH,
    agent_flags_of,
    agent_option,
    agent_timeout_option,
    given_settings,
    isolation_option,
    iteration_option,
    json_option,
    limit_options_of_supervise,
    load_with,
    model_option,
    notify_option,
    project_dir_option,
    sandbox_options,
    sources_of,
    trust_option,
    verbose_option,
)

if TYPE_CHECKING:
    from ralph.config.root import Root
    from ralph.domain.loop.decision import Outcome
    from ralph.domain.loop.events import LoopEvent
    from ralph.domain.review.finding import Review
    from ralph.interfaces.cli.exit_codes import ExitCode
    from ralph.operations.runs.start import Launch

FORMATS = ("text", "json", "sarif")
SEVERITIES = ("critical", "high", "medium", "low")
_SUFFIXES = {".json": "json", ".sarif": "sarif"}

HELP = """Review a change with fresh eyes, and print what was found. Nothing is changed.

WHAT is a branch, a commit, a range such as main..feature, or a pull request by number or address; by default the current
branch. It is compared with the newest commit that it shares with its base. What is not committed is not reviewed.

The reviewer is a read-only session of the agent in a throw-away checkout of exactly that commit, in a sandbox if one can be had.
Your files, branches and index are not touched. An answer that cannot be read is asked for again, and is never "no findings".
ralph looks up each finding's file and lines in the commit, and says so if there is no such place.

Exit codes: 0 no findings, or nothing to review · 1 findings · 2 usage or settings · 4 cannot run, or no valid answer · 5 waiting for a
usage limit or the forge · 130 interrupted

\b
Examples:
  ralph review
  ralph review feature/login --base develop
  ralph review '#12' --fail-on high
  ralph review -o review.sarif
  ralph review --run last --json
"""


@click.command("review", help=HELP)
@click.argument("what", default="")
@click.option(
    "--base", metavar="REF", default="", help="What to compare with.  [default: the repository's main branch]"
)
@click.option(
    "--fail-on",
    type=click.Choice(SEVERITIES),
    default="low",
    show_default=True,
    help="Exit with 1 only for findings as bad as this, or worse.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="What to print.  [default: as FILE's name says, else text]",
)
@click.option(
    "-o", "--output", metavar="FILE", type=PATH, help="Write it to FILE; the text is printed all the same."
)
@click.option("--run", "past", metavar="RUN", help="Print the review of an earlier run instead.")
@json_option("Print JSON: short for --format json.")
@agent_option()
@model_option()
@isolation_option
@agent_timeout_option("End a session after SECONDS seconds.")
@iteration_option("Give up after N sessions without a valid answer.  [default: 3]")
@limit_options_of_supervise
@notify_option
@sandbox_options
@trust_option
@verbose_option
@project_dir_option
def command(
    what: str,
    base: str,
    fail_on: str,
    form: str | None,
    output: Path | None,
    past: str | None,
    as_json: bool,
    agent: str | None,
    max_iterations: int | None,
    verbose: bool,
    project_dir: Path | None,
) -> int:
    from ralph.config.root import find_root
    from ralph.interfaces.cli.console_run import run_on_console
    from ralph.operations.runs.start import prepare_review_run

    form = _format(form, output, as_json=as_json)
    root = find_root(Path.cwd(), project_dir)
    if past is not None:
        if what or base:
            message = "--run prints an earlier review, and WHAT and --base ask for a new one"
            raise UsageError(message, hint="leave out one of them")
        return _print_past(root, past, form, output, fail_on)
    if output is not None and str(output) != "-":
        from ralph.operations.output_file import require_writable

        require_writable(output)  # before anybody is paid
    sources = sources_of(root.state)
    flags = [*agent_flags_of(sources, agent), *given_settings()]
    launch = prepare_review_run(
        load_with(sources, flags), root, what.strip(), base=base.strip(), rounds=max_iterations
    )
    begun = _Begun()
    result = run_on_console(launch, verbose=verbose, listeners=[begun])
    return conclude(launch, begun.run_id, result.outcome, form=form, output=output, fail_on=fail_on)


class _Begun:
    """A listener that knows the run's name."""

    run_id = ""

    def __call__(self, event: LoopEvent, at: float) -> None:
        from ralph.domain.loop.events import RunStarted

        if isinstance(event, RunStarted):
            self.run_id = event.run_id


def conclude(
    launch: Launch,
    run_id: str,
    outcome: Outcome,
    *,
    form: str | None,
    output: Path | None = None,
    fail_on: str = "low",
) -> ExitCode:
    """Print what the run has answered, if it has. ``form`` None: print nothing."""
    from ralph.domain.loop.decision import Outcome as Outcomes
    from ralph.interfaces.cli.exit_codes import ExitCode, exit_code_of
    from ralph.operations.reviews import read_review

    if outcome is not Outcomes.COMPLETED:
        # 1 means findings: whoever got no answer must not look like it.
        return ExitCode.CANNOT_RUN if outcome is Outcomes.EXHAUSTED else exit_code_of(outcome)
    review = read_review(launch.state_folder, run_id)
    if form is not None:
        _print(review, form, output, run_id)
    return _verdict(review, fail_on)


def _print_past(root: Root, reference: str, form: str, output: Path | None, fail_on: str) -> ExitCode:
    from ralph.config.root import STATE_FOLDER
    from ralph.operations.reviews import read_review
    from ralph.operations.runs.read import require_record

    folder = root.state / STATE_FOLDER
    with require_record(folder) as record:
        run_id = record.find(reference)
    review = read_review(folder, run_id)
    _print(review, form, output, run_id)
    return _verdict(review, fail_on)


def _verdict(review: Review, fail_on: str) -> ExitCode:
    from ralph.domain.review.finding import Severity
    from ralph.interfaces.cli.exit_codes import ExitCode

    return ExitCode.FINDINGS if review.at_least(Severity(fail_on)) else ExitCode.COMPLETED


def _format(form: str | None, output: Path | None, *, as_json: bool) -> str:
    if as_json and form not in (None, "json"):
        message = f"--json and --format {form} contradict each other"
        raise UsageError(message, hint="give one of them")
    if as_json:
        return "json"
    return form or (_SUFFIXES.get(output.suffix.lower(), "text") if output is not None else "text")


def _print(review: Review, form: str, output: Path | None, run_id: str) -> None:
    if output is None or str(output) == "-":
        print(_text(review, form) if form != "text" else _shown(review))
        return
    from ralph.operations.output_file import write_output

    print(_shown(review), flush=True)
    hint = f"write it elsewhere with `ralph review --run {run_id} -o FILE`"
    write_output(output, f"{_text(review, form)}\n", hint=hint)
    print(f"wrote {output}", file=sys.stderr)


def _shown(review: Review) -> str:
    from ralph.interfaces.cli.console.github import is_github, without_commands
    from ralph.interfaces.cli.review_text import review_text
    from ralph.interfaces.cli.terminal import detect_look

    text = review_text(review, detect_look(sys.stdout))
    return without_commands(text) if is_github(os.environ) else text


def _text(review: Review, form: str) -> str:
    """Without colours and folded lines: for files and programs."""
    import json

    if form == "sarif":
        from ralph import __version__
        from ralph.interfaces.report.sarif import sarif_of

        return json.dumps(sarif_of(review, version=__version__), indent=2)
    if form == "json":
        from ralph.domain.review.document import document_of

        return json.dumps(document_of(review), indent=2)
    from ralph.interfaces.cli.review_text import review_text
    from ralph.interfaces.cli.terminal import Look

    return review_text(review, Look(max_lines=None, max_chars=None))
