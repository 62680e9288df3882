"""``ralph fleet submit``: a run, the tasks of a file, or tickets become jobs."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ralph.domain.fleet.commands import EXAMPLE
from ralph.domain.fleet.job import USUAL_PRIORITY
from ralph.domain.text.figures import plural
from ralph.domain.text.safe_text import clean_line
from ralph.errors import UsageError
from ralph.interfaces.cli.fleet.asking import open_desk
from ralph.interfaces.cli.fleet.words import Words, read_command, read_flags
from ralph.interfaces.cli.options import (
    Decorator,
    all_of,
    given_settings,
    json_option,
    load_with,
    print_json,
    setting_option,
)

if TYPE_CHECKING:
    from ralph.domain.fleet.job import JobSpec
    from ralph.domain.tasks.task import Task
    from ralph.operations.fleet.desk import FleetDesk
    from ralph.operations.fleet.submission import Submitted, Terms

SHOWN = 20
_COMMANDS = (("run",), ("supervise",), ("plan",), ("ship",), ("work",))

HELP = """Submit a job: a command of ralph's after `--`, which a worker runs in a clone of the repository. Or a file of tasks, as for
`ralph task add`: each becomes a job, begins when those that it depends on are merged, and is merged when it is done.

The command is one of run, supervise, plan run and ship, with the options that it has on one machine. Files that it names are
those of the repository, so commit and push them first; `-f -` takes the prompt from standard input. With tasks, options of
`ralph work` may follow `--`. A job is done in the branch ralph/JOB of the repository, where everyone can see it.

Nothing secret belongs in a job: workers have their own logins for the repository and for agents.

With --from, tickets become jobs as `ralph task import` would make tasks of them: the same label, the same rule on whose words
count; those of a tracker run in a sandbox on every worker. They are neither held nor told what became of them, so close them
yourself. Tasks and tickets that were submitted before are not submitted again.

Exit codes: 0 submitted · 2 usage, or the repository has no such branch · 4 the server refuses · 5 it cannot be reached. With
--wait, those of the command on one machine; several jobs: 0 all completed · 1 some did not.

\b
Examples:
  ralph fleet submit --repo git@host:octo/shop.git -- run -f PROMPT.md -m 20
  ralph fleet submit --label gpu --wait -- run "Fix the tests" --agent claude
  ralph fleet submit --base develop tasks.yaml -- --max-cost 5
  ralph fleet submit --from github:octo/shop
"""

job_options: Decorator = all_of(
    click.option(
        "--repo",
        metavar="URL",
        default="",
        help="The repository's address, or the path of a bare one on a disk that all workers share.  [default: origin]",
    ),
    click.option(
        "--base", metavar="BRANCH", default="", help="The branch to begin from.  [default: the repository's]"
    ),
    click.option(
        "--label",
        "labels",
        metavar="LABEL",
        multiple=True,
        help="Only workers with this label; may be repeated.",
    ),
    click.option(
        "--priority",
        type=click.IntRange(1, 5),
        default=USUAL_PRIORITY,
        show_default=True,
        metavar="1..5",
        help="1 is the first to get a worker, 5 the last.",
    ),
)


class WordsCommand(click.Command):
    """What follows `--` is another command's, and kept apart from what stands before."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        ctx.obj = tuple(args[end + 1 :])
        return super().parse_args(ctx, args[:end])

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND...]"]


@click.command("submit", cls=WordsCommand, help=HELP)
@click.argument("files", metavar="[TASKS]", nargs=-1)
@click.option(
    "--from",
    "source",
    metavar="SOURCE",
    help="Tickets: a path of Markdown, github:OWNER/REPO or linear:TEAM.",
)
@setting_option(
    "tickets.label", "--ticket-label", metavar="LABEL", help="With --from: the label that tickets must have."
)
@job_options
@click.option(
    "--name",
    metavar="NAME",
    default="",
    help="The job's name, or what the names of several begin with.  [default: from the repository]",
)
@click.option("--wait", is_flag=True, help="Stay until they have ended. Ctrl-C leaves them alone.")
@json_option()
@click.pass_obj
def command(
    given: tuple[str, ...],
    files: tuple[str, ...],
    source: str | None,
    repo: str,
    base: str,
    labels: tuple[str, ...],
    priority: int,
    name: str,
    wait: bool,
    as_json: bool,
) -> int:
    from ralph.operations.fleet.submission import missing_workers, submit

    if files[:1] in _COMMANDS:
        message = f"the command must follow `--`: ... -- {clean_line(' '.join(files))}"
        raise UsageError(message, hint=EXAMPLE)
    if len(files) + (source is not None) > 1:
        message = "one file of tasks, or --from, can be submitted at a time"
        raise UsageError(message, hint="submit them one after the other")
    words = read_flags(given) if files or source is not None else read_command(given)
    terms = terms_of(words, repo, base, labels, priority, name)
    jobs = _jobs(terms, words, files, source)
    records = look_at(terms, words, jobs)
    with open_desk() as desk:
        done = desk.ask(lambda fleet: submit(fleet, jobs, records=records))
        _warn(desk.ask(lambda fleet: missing_workers(fleet, labels)))
        if as_json and not wait:
            print_json({"submitted": list(done.new), "known": list(done.known)})
        else:
            _report(done, is_waiting=wait)
        if not wait:
            return 0
        return _wait(desk, [job.id for job in jobs], as_json=as_json)


def terms_of(
    words: Words, repo: str, base: str, labels: Sequence[str], priority: int, name: str = ""
) -> Terms:
    """What the options say. Raises UsageError."""
    from ralph.operations.fleet.repository import choose_repository
    from ralph.operations.fleet.submission import Terms

    return Terms(
        repository=choose_repository(repo, Path.cwd()),
        base=base,
        labels=tuple(labels),
        priority=priority,
        name=name,
        agent=words.agent,
    )


def look_at(terms: Terms, words: Words, jobs: Sequence[JobSpec] = ()) -> Collection[str]:
    """Warns of what a worker may stumble over; gives the records of these jobs that are there already. Raises UsageError if the
    repository has no such branch."""
    from ralph.operations.fleet.repository import look_at_repository, uncommitted

    if words.file is not None and uncommitted(Path(words.file), Path.cwd()):
        _warn(f"{clean_line(str(words.file))} is not committed as it is here: workers read what is pushed")
    records = [job.record for job in jobs]
    look = look_at_repository(terms.repository, terms.base, records, file=words.file)
    _warn(look.warning)
    return look.records


def _jobs(terms: Terms, words: Words, files: Sequence[str], source: str | None) -> list[JobSpec]:
    from ralph.operations.fleet.submission import command_job, task_jobs

    if source is not None:
        tasks, flags = _tickets(source)
        return task_jobs(terms, tasks, (*flags, *words.words))
    if files:
        return task_jobs(terms, _tasks(files[0]), words.words)
    return [command_job(terms, words.words, title=words.title)]


def _tasks(file: str) -> Sequence[Task]:
    from ralph.interfaces.cli.options import state_folder
    from ralph.interfaces.cli.tasks.options import print_concerns
    from ralph.operations.task_files import read_tasks, require_addable
    from ralph.operations.tasks import known_names

    known, defaults = known_names(state_folder(None))
    found = read_tasks(file, known)
    require_addable(found, ())
    if not found.tasks:
        message = f"nothing to submit: there is no task in {clean_line(file)}"
        raise UsageError(message, hint="`ralph task prompt` says what one looks like")
    for note in found.notes:
        print(f"ralph: {found.describe(note)}", file=sys.stderr)
    print_concerns(found.tasks, defaults)
    return found.tasks


def _tickets(source: str) -> tuple[Sequence[Task], tuple[str, ...]]:
    """With the flags that such work needs: whoever can write a ticket is not trusted with a machine."""
    from ralph.config.root import find_root
    from ralph.operations.tickets import Asked, look_afresh, name_source
    from ralph.operations.trust import read_agreed

    root = find_root(Path.cwd(), None)
    sources, _ = read_agreed(root)
    settings = load_with(sources, given_settings()).settings
    found = look_afresh(root, settings, Asked(source=name_source(source, Path.cwd())))
    for unready in found.intake.unready[:SHOWN]:
        _warn(f"{clean_line(unready.ticket.shown)} is not taken: {clean_line(unready.reason)}")
    if not found.intake.new:
        label = f" with the label {clean_line(found.label)}" if found.label else ""
        message = f"nothing to submit: no ticket{label} of {clean_line(found.source)} is ready"
        raise UsageError(message, hint=f"`ralph task check {clean_line(source)}` says what is missing")
    return [one.task for one in found.intake.new], ("--sandbox=strongest",) if found.label else ()


def _report(done: Submitted, *, is_waiting: bool) -> None:
    for name in done.new:
        print(name)
    said = [f"submitted {plural(len(done.new), 'job')}"] if done.new else []
    if done.known:
        were = "was" if len(done.known) == 1 else "were"
        said.append(f"{plural(len(done.known), 'job')} {were} submitted before: {_some(done.known, ', ')}")
    print("; ".join(said), file=sys.stderr)
    for line in () if is_waiting else next_steps(done):
        print(f"   {line}", file=sys.stderr)


def next_steps(done: Submitted) -> Iterator[str]:
    if done.live:
        yield f"To watch: `ralph fleet status --watch`, `ralph fleet logs -f {done.live[0]}`"
        yield f"To stop:  `ralph fleet stop {_some(done.live)}`"
    if done.over:
        yield f"To continue what has ended: `ralph fleet retry {_some(done.over)}`"
    if done.over or done.done:
        yield "To do it again from the start: submit it under another --name"


def _some(names: Sequence[str], between: str = " ") -> str:
    return between.join(names[:SHOWN]) + (f"{between}…" if len(names) > SHOWN else "")


def _wait(desk: FleetDesk, names: Sequence[str], *, as_json: bool) -> int:
    """Says what changes, and gives the exit code. Ctrl-C leaves the jobs alone."""
    from ralph.domain.fleet.exits import common_exit_code
    from ralph.interfaces.cli.fleet.status import job_data
    from ralph.operations.fleet.jobs import follow_until_ended

    try:
        ended = follow_until_ended(desk, names, say=_say_change)
    except KeyboardInterrupt:
        _say_change("not waiting any longer; the jobs continue")
        raise
    if as_json:
        print_json({"jobs": [job_data(job) for job in ended]})
    return common_exit_code(ended)


def _say_change(line: str) -> None:
    print(line, file=sys.stderr)


def _warn(text: str) -> None:
    if text:
        print(f"ralph: {text}", file=sys.stderr)
