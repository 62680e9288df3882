"""Which of ralph's commands a job may be, and with which options.

A submitter is told at once; a worker checks it again before it starts anything, for whoever reaches the server can write a job.
"""

from __future__ import annotations

from collections.abc import Sequence

from ralph.domain.fleet.address import Refusal
from ralph.domain.text.safe_text import clean_line
from ralph.values import dataclass

KINDS = ("run", "supervise", "plan run", "ship")
EXAMPLE = 'for example: ralph fleet submit --repo URL -- run "Fix the failing tests" -m 20'
_ONE_TASK = ("each task is a job of its own", "`ralph fleet worker --slots N` says how many at a time")
REFUSED = {
    "--project-dir": ("the repository is the project", "leave it out"),
    "-d": ("the repository is the project", "leave it out"),
    "--task-dir": ("it names a folder of this machine", "leave it out"),
    "--ui": ("nobody looks at a terminal of the worker's", "`ralph fleet logs -f JOB` shows the job"),
    "--detach": ("a job needs no terminal anyway", "leave it out"),
    "--json": ("nobody reads it on the worker", "`ralph fleet status --json` and `show --json` print JSON"),
    "--dry-run": ("a job is there to be done", "leave it out"),
    "--trust": ("whoever runs a worker decides what may run there", "leave it out"),
    "--notify": ("it would happen on the worker", "set `notify` in the settings there"),
    "--watch": ("nobody would end it", "`ralph fleet schedule` does something again and again"),
    "--from": ("the fleet takes tickets in itself", "ralph fleet submit --from SOURCE"),
    "--max-parallel": _ONE_TASK,
    "-j": _ONE_TASK,
}
"""Options that make no sense on a worker: why, and what to do instead."""
FLAGS = frozenset({
    "-V", "--as-found", "--continue-session", "--detach", "--draft", "--dry-run", "-h", "--help", "--json", "--no-completion-hint",
    "--no-sandbox", "--no-stream-agent-output", "--no-wait", "--skip-review", "--stay", "--stream-agent-output", "--trust",
    "--ui", "--verbose", "--watch",
})  # fmt: skip
"""Options of these commands that take no value: any other takes the next word, whatever that looks like."""
OPTIONAL = frozenset({"--sandbox"})
"""Those that take the next word unless it looks like an option."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The words of a command, as the command line reads them. ``is_whole``: no value is missing at the end."""

    options: tuple[str, ...]
    others: tuple[str, ...]
    is_whole: bool


def split_command(words: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The name of the command, and the rest."""
    length = 2 if tuple(words[:2]) == ("plan", "run") else 1
    return " ".join(words[:length]), tuple(words[length:])


def refusal_of_command(words: Sequence[str]) -> Refusal | None:
    """Of a job that is one command."""
    if not words:
        return Refusal("nothing to submit: give a command after `--`, or a file of tasks", EXAMPLE)
    name, rest = split_command(words)
    if name == "work":
        message = "`work` is not submitted: each of its tasks becomes a job of its own"
        return Refusal(message, "submit the file: ralph fleet submit --repo URL tasks.yaml")
    if name not in KINDS:
        return Refusal(f"{clean_line(name)!r} cannot be submitted: use {', '.join(KINDS)}", EXAMPLE)
    return _refusal_of_options(read_words(rest))


def refusal_of_flags(flags: Sequence[str]) -> Refusal | None:
    """Of the options of `ralph work` that the job of a task has: nothing else may be among them."""
    example = "such as: ralph fleet submit tasks.yaml -- --agent claude --max-cost 5"
    if flags and not flags[0].startswith("-"):
        message = f"with tasks, only options of `ralph work` follow `--`, not {clean_line(flags[0])!r}"
        return Refusal(message, example)
    found = read_words(flags)
    if refusal := _refusal_of_options(found):
        return refusal
    if found.others:
        message = f"{clean_line(found.others[0])!r} is no option of `ralph work`"
        return Refusal(message, "every task of the file becomes a job")
    if not found.is_whole:
        return Refusal(f"{clean_line(flags[-1])} needs a value", example)
    return None


def read_words(words: Sequence[str]) -> Reading:
    options: list[str] = []
    others: list[str] = []
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        if word == "--":
            others += words[place - 1 :]
            break
        if not word.startswith("-") or word == "-":
            others.append(word)
            continue
        given, has_value = _long(word) if word.startswith("--") else _short(word)
        options += given
        if given[-1] in FLAGS or has_value:
            continue
        is_next = place < len(words) and (len(words[place]) > 1 and words[place].startswith("-"))
        if given[-1] in OPTIONAL and (is_next or place == len(words)):
            continue
        place += 1
    return Reading(tuple(options), tuple(others), is_whole=place <= len(words))


def _long(word: str) -> tuple[list[str], bool]:
    name, equals, _ = word.partition("=")
    return [name], bool(equals)


def _short(word: str) -> tuple[list[str], bool]:
    """``-Vm3`` is ``-V -m 3``."""
    given = [f"-{word[1]}"]
    place = 2
    while given[-1] in FLAGS and place < len(word):
        given.append(f"-{word[place]}")
        place += 1
    return given, place < len(word)


def _refusal_of_options(found: Reading) -> Refusal | None:
    for option in found.options:
        if option in REFUSED:
            why, hint = REFUSED[option]
            return Refusal(f"{option} is not for jobs: {why}", hint)
    return None
