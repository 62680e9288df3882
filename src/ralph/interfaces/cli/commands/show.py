"""``ralph show``: each iteration of a run, from its prompt to the decision."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.proof.layer_names import LAYER_NAMES, check_words
from ralph.domain.text.exits import exit_words
from ralph.domain.text.figures import compact, duration, money, plural, totals
from ralph.domain.text.safe_text import clean, clean_line
from ralph.domain.views.decisions import INTERRUPTED, UNDER_WAY, describe_iteration, describe_verdict
from ralph.domain.views.iterations import IterationView, fold_iterations
from ralph.domain.views.runs import LAST, RunView
from ralph.errors import StoreError
from ralph.interfaces.cli.commands.status import why
from ralph.interfaces.cli.folding import print_folded
from ralph.interfaces.cli.options import Count, json_option, print_json, project_dir_option, state_folder
from ralph.interfaces.cli.terminal import Look, colors_of, detect_look, marks_of
from ralph.values import replace

if TYPE_CHECKING:
    from ralph.operations.runs.files import RunFiles
    from ralph.operations.runs.read import RunRecord

PROMPT_LINES = 5
WORDS_LINES = 10
LINE_CHARS = 400
LOG_BYTES = 1_000_000
REMOVED = " (removed)"

HELP = """Show each iteration of a run: the prompt, what the agent did, the checks, the decision and why. RUN is a
run's name, its beginning or end, `last` (the default), or a task, whose newest run it means. A `ralph work` is shown with
all its tasks.

\b
Examples:
  ralph show
  ralph show ab12 --iteration 2
  ralph show --receipt | jq -c '.iterations[] | [.decision, .reason]'
"""


@click.command("show", help=HELP)
@click.argument("run", required=False, default=LAST)
@click.option("--iteration", type=Count(), metavar="N", help="Only this iteration, with its whole prompt.")
@json_option("Print it as JSON.")
@click.option("--receipt", is_flag=True, help="Print the run's receipt (receipt.json).")
@project_dir_option
def command(run: str, iteration: int | None, as_json: bool, receipt: bool, project_dir: Path | None) -> None:
    from ralph.operations.runs.read import read_receipt, require_record

    with require_record(state_folder(project_dir)) as record:
        view = record.view(run)
        if receipt:
            print_json(read_receipt(record.state_folder, view))
            return
        show_run(record, view, iteration, as_json=as_json)


def show_run(
    record: RunRecord,
    view: RunView,
    iteration: int | None,
    *,
    as_json: bool,
    job: dict[str, Any] | None = None,
    elsewhere: str = "",
) -> None:
    """``job``: what `ralph fleet show` adds to the JSON. ``elsewhere``: the files are not here for long: what shows those of
    an iteration, whose logs are therefore printed too if only one is shown."""
    from ralph.operations.runs.files import RunFiles

    shown = [(view, _iterations(record, view, iteration))]
    if iteration is None:
        parts = [part for name, _ in record.tasks_of(view.id) if (part := record.run(name)) is not None]
        if elsewhere:
            parts = [replace(part, root=view.root) for part in parts]
        shown += [(part, _iterations(record, part, None)) for part in parts]
    if as_json:
        _print_json(shown, {} if job is None else {"job": job})
        return
    for place, (each, iterations) in enumerate(shown):
        print("\n" if place else "", end="")
        files = RunFiles(record.state_folder, each.id)
        _print_text(files, each, iterations, elsewhere=elsewhere, is_whole=iteration is not None)


def _iterations(record: RunRecord, view: RunView, iteration: int | None) -> Iterator[IterationView]:
    rows = record.events(view.id, iteration=iteration)
    found = False
    for seen in fold_iterations((row.seq, row.at, row.event) for row in rows):
        found = True
        yield seen
    if iteration is not None and not found:
        from ralph.interfaces.cli.commands.logs import no_iteration

        raise no_iteration(record, view, iteration)


def _print_text(
    files: RunFiles, view: RunView, iterations: Iterator[IterationView], *, elsewhere: str, is_whole: bool
) -> None:
    look = detect_look(sys.stdout)
    print_folded("\n".join(_run_lines(view, look)))
    text = WholeText(look, files) if is_whole else IterationText(look, files)
    if elsewhere:
        text = InlineText(look, files) if is_whole else FarText(look, files, elsewhere)
    for iteration in iterations:
        live = view.live and iteration.iteration == view.iteration
        print_folded("\n".join(text.lines(iteration, live=live)))


def _print_json(
    shown: Sequence[tuple[RunView, Iterator[IterationView]]], around: dict[str, dict[str, Any]]
) -> None:
    """The runs of a whole's tasks are in it, each as it would be shown by itself."""
    import msgspec

    def data(view: RunView, iterations: Iterator[IterationView]) -> dict[str, Any]:
        judged = [_without_kinds(msgspec.to_builtins(_data(each))) for each in iterations]
        return {"run": asdict(view), "iterations": judged}

    whole, *tasks = [data(view, iterations) for view, iterations in shown]
    record = {**around, **whole, "tasks": tasks}
    print(msgspec.json.format(msgspec.json.encode(record), indent=2).decode())


_BEFORE_ACTIVITY = (
    *("iteration", "attempt", "started_at", "assignment", "role"),
    *("prompt", "prompt_chars", "prompt_file", "command"),
)
_AFTER_ACTIVITY = (
    *("agent", "version", "ending", "exit_code", "fault", "checks", "claims", "actions"),
    *("decision", "reason", "claimed", "proven", "spend", "seconds"),
)


def _data(each: IterationView) -> dict[str, Any]:
    seen = each.activity
    return (
        {name: getattr(each, name) for name in _BEFORE_ACTIVITY}
        | {"tools": seen.tools, "tool_errors": [error._asdict() for error in seen.errors]}
        | {"tool_error_count": seen.error_count, "last_words": seen.last_words}
        | {name: getattr(each, name) for name in _AFTER_ACTIVITY}
    )


def _without_kinds(iteration: dict[str, Any]) -> dict[str, Any]:
    for action in iteration["actions"]:
        del action["kind"]
    return iteration


# --- as text ---


def _run_lines(view: RunView, look: Look) -> list[str]:
    """The run itself, above its iterations."""
    colors, dot = colors_of(look), f" {marks_of(look).dot} "
    count = f"{view.iteration}/{view.maximum}" if view.maximum is not None else str(view.iteration)
    name = f"{view.task} {view.title}".strip()
    facts = [f"profile {view.profile}", f"agent {view.agent_words}", f"iterations {count}"]
    if view.cost_usd is not None:
        facts.append(money(view.cost_usd, at_least=view.cost_is_partial))
    if view.tokens:
        facts.append(f"{compact(view.tokens)} tokens")
    reason = why(view, view.active_at)
    proof = [f"  proof {clean_line(view.proof.words)}"] if view.proof is not None else []
    pull = view.pull_request
    lines = [
        f"{colors.bold}run {clean_line(view.id)}{colors.off}{f'  {clean_line(name)}' if name else ''}",
        f"  {clean_line(dot.join(facts))}",
        f"  root {clean_line(view.root)}",
        *proof,
        f"  {view.state.words}{f': {clean_line(reason)}' if reason else ''}",
        *([f"  pull request {clean_line(pull.line(dot.strip()))}"] if pull is not None else ()),
        *([f"  {clean_line(pull.remarks)}"] if pull is not None and pull.remarks else ()),
        f"  started {_moment(view.started_at)}, last active {_moment(view.active_at)}",
    ]
    return lines + [f"  concern: {clean_line(concern)}" for concern in view.concerns]


def _moment(at: float) -> str:
    try:
        return datetime.fromtimestamp(at, tz=UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return "at an unknown time"


class IterationText:
    """One iteration as a block of lines: what was asked, done, found and decided."""

    prompt_chars = 20_000  # more than is shown, so that no secret is cut before it is masked

    def __init__(self, look: Look, files: RunFiles) -> None:
        self._files = files
        self._marks = marks_of(look)
        self._colors = colors_of(look)

    def lines(self, view: IterationView, *, live: bool = False) -> list[str]:
        return [
            "",
            self._title(view),
            *self._prompt(view),
            *self._agent(view),
            *(line for check in view.checks for line in self._check(check)),
            *self._claims(view),
            *self._actions(view),
            self._decision(view, live=live),
        ]

    def _title(self, view: IterationView) -> str:
        title = f"Iteration {view.iteration}"
        if view.attempt > 1:
            title += f" (attempt {view.attempt})"
        if view.role:
            title += f" {self._marks.dot} {view.role} {self._marks.dot} {view.assignment}"
        return f"{self._colors.bold}{clean_line(title)}{self._colors.off}  {_moment(view.started_at)}"

    def _prompt(self, view: IterationView) -> list[str]:
        from ralph.operations.watch import prompt_of  # only for people

        shown = self._shown_of_prompt(prompt_of(self._files.state_folder, view, self.prompt_chars))
        where = self._place_of_prompt(view)
        return [
            f"  prompt ({plural(view.prompt_chars, 'character')}{f', {where}' if where else ''})",
            *self._quoted(shown),
        ]

    def _shown_of_prompt(self, text: str) -> list[str]:
        return _first_lines(text, PROMPT_LINES)

    def _place_of_prompt(self, view: IterationView) -> str:
        return clean_line(self._place(view.prompt_file)) if view.prompt_file else ""

    def _agent(self, view: IterationView) -> list[str]:
        used = ", ".join(f"{clean_line(name)} {number}" for name, number in view.activity.tools.most_common())
        facts = [used or "no tools"]
        if view.activity.error_count:
            facts.append(f"errors: {view.activity.error_count}")
        if view.exit_code:
            facts.append(exit_words(view.exit_code))
        if view.ending and view.ending != "exited":
            facts.append(view.ending.replace("_", " "))
        lines = [f"  agent: {'; '.join(facts)}"]
        for error in view.activity.errors:
            first = clean_line(error.output.strip().split("\n", 1)[0][:LINE_CHARS])
            lines.append(f"    {self._bad(clean_line(error.tool))}{f': {first}' if first else ''}")
        if view.fault:
            lines.append(f"    {self._bad(clean_line(view.fault))}")
        if view.activity.last_words.strip():
            lines.append("  last words")
            lines += self._quoted(_last_lines(view.activity.last_words, WORDS_LINES))
        return lines

    def _check(self, check: CheckResult) -> list[str]:
        name = clean_line(check_words(check.name) or check.command)
        facts = [duration(check.seconds)]
        if check.exit_code is not None:
            facts.insert(0, f"exit {check.exit_code}")
        if check.reason:
            facts.append(clean_line(check.reason))
        if not check.required and check.name not in LAYER_NAMES:
            facts.append("not required")
        text = f"check {describe_verdict(check.verdict)}: {name} ({', '.join(facts)})"
        say = self._good if check.verdict is Verdict.PASSED else self._bad
        if check.verdict is Verdict.SKIPPED and not check.required:
            say = self._dim
        line = say(text)
        lines = [f"  {line}"]
        if check.command and check.command != check.name:
            lines.append(f"    command: {clean_line(check.command)}")
        return [*lines, *self._log_lines(check.log_file)] if check.log_file else lines

    def _log_lines(self, recorded: str) -> list[str]:
        return [f"    log: {clean_line(self._place(recorded))}"]

    def _place(self, recorded: str) -> str:
        """This run's file is in its folder: an earlier version recorded a link to the newest run's file, and a record that
        was imported has the places of another machine."""
        name = Path(recorded).name
        is_there = self._files.status(name) is not None
        return str(self._files.folder / name) if is_there else f"{recorded}{REMOVED}"

    def _claims(self, view: IterationView) -> list[str]:
        return [f"  claimed: {clean_line(', '.join(view.claims))}"] if view.claims else []

    def _actions(self, view: IterationView) -> list[str]:
        lines = []
        for action in view.actions:
            message = f": {clean_line(action.message)}" if action.message else ""
            text = f"action {'done' if action.ok else 'failed'}: {clean_line(action.name)}{message}"
            lines.append(f"  {self._good(text) if action.ok else self._bad(text)}")
        return lines

    def _decision(self, view: IterationView, *, live: bool) -> str:
        wording = describe_iteration(view, live=live)
        if wording is UNDER_WAY:
            return f"  {wording.words}"
        if wording is INTERRUPTED:
            return f"  {self._bad(f'{wording.words}: it was never judged')}"
        figures = totals(
            cost_usd=view.spend.cost_usd,
            at_least=view.spend.is_partly_unknown,
            usage=view.spend.usage,
            seconds=view.seconds,
        )
        return f"  decision: {clean_line(wording.words)}: {clean_line(view.reason)} ({figures})"

    def _quoted(self, lines: list[str]) -> list[str]:
        return [f"    {self._colors.dim}{line}{self._colors.off}" for line in lines]

    def _dim(self, text: str) -> str:
        return f"{self._colors.dim}{text}{self._colors.off}"

    def _good(self, text: str) -> str:
        return f"{self._colors.green}{self._marks.ok} {text}{self._colors.off}"

    def _bad(self, text: str) -> str:
        return f"{self._colors.red}{self._marks.error} {text}{self._colors.off}"


class FarText(IterationText):
    """Of a record that is on another machine. ``command``: prints the files of one iteration."""

    def __init__(self, look: Look, files: RunFiles, command: str) -> None:
        super().__init__(look, files)
        self._command = command
        self._number = 0

    def lines(self, view: IterationView, *, live: bool = False) -> list[str]:
        self._number = view.iteration
        return super().lines(view, live=live)

    def _place_of_prompt(self, view: IterationView) -> str:
        return f"`{self._command} {self._number}`" if view.prompt_chars else ""

    def _log_lines(self, recorded: str) -> list[str]:
        return [f"    log: `{self._command} {self._number}`"]


class WholeText(IterationText):
    """With the whole prompt: what earlier sessions did is near its end."""

    prompt_chars = 1_000_000

    def _shown_of_prompt(self, text: str) -> list[str]:
        lines = clean(text).strip("\n").split("\n")
        return lines if len(text) < self.prompt_chars else [*lines, "…"]


class InlineText(WholeText):
    """With what the checks printed, too."""

    def _place_of_prompt(self, view: IterationView) -> str:
        return ""

    def _log_lines(self, recorded: str) -> list[str]:
        try:
            with self._files.open(Path(recorded).name) as file:
                text = file.read(LOG_BYTES).decode(errors="replace")
        except (OSError, StoreError):
            return ["    log: not in the record"]
        return ["    log:", *(f"  {line}" for line in self._quoted(clean(text).strip("\n").split("\n")))]


def _first_lines(text: str, number: int) -> list[str]:
    lines = clean(text[: number * LINE_CHARS + 1]).strip("\n").split("\n")
    return lines if len(lines) <= number else [*lines[:number], "…"]


def _last_lines(text: str, number: int) -> list[str]:
    lines = clean(text).strip().split("\n")
    return lines if len(lines) <= number else ["…", *lines[-number:]]
