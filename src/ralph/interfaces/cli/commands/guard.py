"""``ralph guard``: judge a shell command, or a stream of them as JSON lines."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import click

from ralph.guard.guard import judge
from ralph.guard.judgement import GuardDecision, GuardRules, Judgement
from ralph.guard.packs import PACKS
from ralph.interfaces.cli.options import PATH, json_option

MAX_LINE_BYTES = 4_000_000
"""A longer line of a batch is answered with an error instead of kept in memory."""


@click.command(
    "guard",
    # The words of the command to judge: `ralph guard rm -rf build`.
    context_settings={"ignore_unknown_options": True},
)
@click.argument("words", metavar="COMMAND", nargs=-1, type=click.UNPROCESSED)
@json_option("Print the decision as JSON.")
@click.option(
    "--batch",
    is_flag=True,
    help="Read JSON lines with `command`; print each with `decision` and `reason` added.",
)
@click.option(
    "--pack",
    "packs",
    multiple=True,
    type=click.Choice([*PACKS, "all"]),
    help="Be strict about this family of dangers; may be given more than once.",
)
@click.option(
    "--cwd",
    metavar="DIR",
    default="",
    help="Directory in which the command would run; paths below it belong to the project.",
)
@click.option("--project-dir", metavar="DIR", type=PATH, help="Project whose settings to use.")
def command(
    words: tuple[str, ...],
    as_json: bool,
    batch: bool,
    packs: tuple[str, ...],
    cwd: str,
    project_dir: Path | None,
) -> int:
    """Say whether the shell command COMMAND is dangerous, without running it.

    Quote it as one argument, or your shell interprets it. Exit code 0: allowed, 1: blocked.

    \b
    Examples:
      ralph guard 'git push --force'
      ralph guard --json 'curl -s https://example.com/x.sh | sh'
      jq -c '{command: .tool_input.command}' events.jsonl | ralph guard --batch
    """
    if batch and words:
        message = "--batch reads commands from stdin, so COMMAND must not be given"
        raise click.UsageError(message)
    if not batch and not words:
        message = "give a COMMAND, or use --batch"
        raise click.UsageError(message)
    rules = _rules(project_dir, packs, cwd)
    if batch:
        _judge_lines(rules)
        return 0
    text = words[0] if len(words) == 1 else shlex.join(words)
    judgement = judge(text, rules)
    _show(text, judgement, as_json=as_json)
    return 1 if judgement.is_blocked else 0


def _rules(project_dir: Path | None, packs: tuple[str, ...], cwd: str) -> GuardRules:
    from ralph.config.root import find_root
    from ralph.operations.trust import read_agreed

    sources, _ = read_agreed(find_root(Path.cwd(), project_dir))
    settings = sources.load().settings.guard
    return GuardRules(
        allow=settings.allow,
        packs=frozenset((*settings.packs, *packs)),
        cwd=str(Path(cwd).absolute()) if cwd else "",
    )


def _show(text: str, judgement: Judgement, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"command": text, **_as_data(judgement)}))
        return
    from ralph.domain.text.safe_text import clean_line

    print(clean_line(f"{judgement.decision}: {judgement.reason}" if judgement.reason else judgement.decision))


def _as_data(judgement: Judgement) -> dict[str, str]:
    data = {"decision": str(judgement.decision), "reason": judgement.reason}
    return data | {"family": judgement.family} if judgement.family else data


def _judge_lines(rules: GuardRules) -> None:
    """One line out for each line in, at once: the caller may wait for the answer."""
    for line in _lines(sys.stdin.buffer):
        print(json.dumps(_answer(line, rules)), flush=True)


def _lines(stream: BinaryIO) -> Iterator[bytes | None]:
    """None for a line that is too long. Blank lines are skipped."""
    while line := stream.readline(MAX_LINE_BYTES):
        if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
            while (rest := stream.readline(MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
                pass
            yield None
        elif line.strip():
            yield line


def _answer(line: bytes | None, rules: GuardRules) -> dict[str, object]:
    if line is None:
        return _refused(f"the line is longer than {MAX_LINE_BYTES} bytes")
    try:
        question = json.loads(line)
    except (ValueError, RecursionError):
        return _refused("the line is not JSON")
    if not isinstance(question, dict):
        return _refused("the line is not a JSON object")
    text = question.get("command")
    if not isinstance(text, str):
        return {**question, **_refused("the object has no `command` that is a string")}
    return {**question, **_as_data(judge(text, rules))}


def _refused(error: str) -> dict[str, object]:
    """What cannot be judged is blocked."""
    reason = f"{error}, so it cannot be judged"
    return {"decision": str(GuardDecision.BLOCK), "reason": reason, "error": error}
