"""``ralph lessons``: what failed again and again, as a patch that a person may apply."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote

import click

from ralph.domain.text.figures import plural
from ralph.domain.text.safe_text import clean_line
from ralph.interfaces.cli.options import PATH, json_option, print_json, project_dir_option

HELP = """Propose what AGENTS.md could say about failures that came back: the same check with the same first line, in at least
2 runs of this project.

It prints a patch, and why on stderr. It changes nothing: read the patch, apply what you agree with.

\b
Examples:
  ralph lessons
  ralph lessons | git apply
  ralph lessons --file CLAUDE.md
  ralph lessons --json | jq '.lessons[].check'
"""


@click.command("lessons", help=HELP)
@click.option(
    "--file",
    metavar="FILE",
    type=PATH,
    help="The file to propose it for.  [default: AGENTS.md, or CLAUDE.md if only that is there]",
)
@json_option()
@project_dir_option
def command(file: Path | None, as_json: bool, project_dir: Path | None) -> None:
    from ralph.config.root import find_root
    from ralph.operations.lessons import has_runs, propose_lessons

    root = find_root(Path.cwd(), project_dir)
    proposal = propose_lessons(root, file)
    if as_json:
        lessons = [
            {
                "check": lesson.check,
                "line": lesson.line,
                "times": len(lesson.places),
                "runs": list(lesson.runs),
                "iterations": [place._asdict() for place in lesson.places],
            }
            for lesson in proposal.lessons
        ]
        print_json(
            {"file": proposal.file, "known": proposal.known, "lessons": lessons, "patch": proposal.patch}
        )
        return
    if not proposal.lessons:
        found = "No recurring failures found." if has_runs(root) else "There are no runs here yet."
        if proposal.known:
            found = f"Nothing new: {proposal.file} has {plural(proposal.known, 'lesson')} already."
        print(found, file=sys.stderr)
        return
    if sys.stdout.isatty():
        sys.stdout.write(proposal.patch.encode(errors="replace").decode())
        sys.stdout.flush()
        print(file=sys.stderr)
    else:
        sys.stdout.buffer.write(proposal.patch.encode(errors="surrogateescape"))
    for lesson in proposal.lessons:
        places = ", ".join(f"{run} ({_numbers(lesson.places, run)})" for run in lesson.runs)
        print(f"{clean_line(lesson.check)}: run {places}", file=sys.stderr)
    print(f"Nothing was changed. To take it, pipe it to `{_apply(proposal.top)}`", file=sys.stderr)


def _apply(top: Path) -> str:
    """Git takes the names in a patch to begin where it is started."""
    return "git apply" if Path.cwd() == top else f"git -C {quote(clean_line(str(top)))} apply"


def _numbers(places: tuple[tuple[str, int], ...], run: str) -> str:
    return ", ".join(str(iteration) for name, iteration in places if name == run)
