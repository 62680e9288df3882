"""Which handler follows which program; all others are judged by the families alone."""

from __future__ import annotations

from collections.abc import Callable

from ralph.guard.families.secrets import check_sending, reads_secrets
from ralph.guard.marks import INPUT, UNKNOWN, is_opaque
from ralph.guard.options import base_name, has_flag, words_in
from ralph.guard.program_lists import DANGEROUS_PROGRAMS, SHELLS, TEXT_TOOLS
from ralph.guard.programs.builtins import call_function, change_directory, declare
from ralph.guard.programs.carriers import start_fd, start_find, start_parallel, start_xargs
from ralph.guard.programs.code import looks_like_commands
from ralph.guard.programs.containers import start_engine
from ralph.guard.programs.git_helpers import start_git
from ralph.guard.programs.interpreters import interpreter_named, start_interpreter
from ralph.guard.programs.shells import (
    origin_of_words,
    refuse_unread,
    run_text,
    start_eval,
    start_shell,
    start_source,
    start_trap,
)
from ralph.guard.programs.text_runners import (
    start_at,
    start_cmd,
    start_editor,
    start_ssh,
    start_su,
    start_watch,
)
from ralph.guard.programs.wrappers import (
    package_command,
    start_env,
    start_package,
    start_sudo,
    start_wrapped,
    wrapped_command,
)
from ralph.guard.script_walk import walk_text
from ralph.guard.shell.escapes import NO_CHARACTER
from ralph.guard.shell.expansion import expand_words
from ralph.guard.shell.scope import Scope
from ralph.guard.shell.syntax import Script, Simple, scripts_of
from ralph.guard.walk import Start, Walk, refuse_hidden, refuse_if

_HANDLERS: dict[str, Callable[[Walk, Start], None]] = {
    **dict.fromkeys(SHELLS, start_shell),
    "eval": start_eval,
    "source": start_source,
    ".": start_source,
    "trap": start_trap,
    **dict.fromkeys(words_in("cd pushd chdir"), change_directory),
    **dict.fromkeys(
        words_in("export declare typeset local readonly alias read mapfile readarray getopts"), declare
    ),
    **dict.fromkeys(words_in("sudo doas"), start_sudo),
    "env": start_env,
    **dict.fromkeys(words_in("find gfind"), start_find),
    **dict.fromkeys(words_in("fd fdfind"), start_fd),
    **dict.fromkeys(words_in("xargs gxargs"), start_xargs),
    "parallel": start_parallel,
    "git": start_git,
    **dict.fromkeys(words_in("docker podman nerdctl docker-compose podman-compose kubectl oc"), start_engine),
    **dict.fromkeys(words_in("su runuser flock script sg"), start_su),
    "watch": start_watch,
    "ssh": start_ssh,
    **dict.fromkeys(words_in("vim vi nvim ex view"), start_editor),
    **dict.fromkeys(words_in("at batch"), start_at),
    "cmd": start_cmd,
}


def start_program(walk: Walk, start: Start) -> None:
    walk.count_call()
    words = start.words
    has_prefix = start.source is not None and bool(start.source.assignments)
    while words and (not words[0] or (words[0] == "!" and not has_prefix)):
        words = words[1:]
    if not words or walk.allows(words):
        return
    start = start._replace(words=words)
    name = words[0]
    if INPUT in name or NO_CHARACTER in name:
        refuse_hidden("the program's name comes from stdin or cannot be read")
    if is_opaque(name) and (origin := origin_of_words(start)) != "file":
        refuse_unread(origin)
    if name in start.scope.functions:
        call_function(walk, start)
        return
    if any(character.isspace() for character in name.strip()) and not _is_path(name):
        _start_quoted(walk, start)
        return
    written = start.scope.written(name) if "/" in name else None
    if written is not None:
        run_text(walk, start, written, "network", words[1:])
        return
    program = base_name(name)
    handler = _HANDLERS.get(program)
    if handler is not None:
        handler(walk, start)
    elif (interpreter := interpreter_named(program)) is not None:
        start_interpreter(walk, start, interpreter)
    elif (package := package_command(program, words[1:])) is not None:
        start_package(walk, start, package)
    elif (wrapped := wrapped_command(program, words[1:])) is not None:
        start_wrapped(walk, start, wrapped)
    else:
        _start_other(walk, start)


def _start_quoted(walk: Walk, start: Start) -> None:
    """A program whose name has blanks in it."""
    walk.tally.is_torn = True  # a misplaced quote: read the rest strictly
    walk_text(walk, " ".join(" ".join(start.words).split()), start.scope)


def _is_path(name: str) -> bool:
    r"""``C:\Program Files\Git\bin\git.exe``: a path with a space, not a command in quotes."""
    return name[:1] == "/" or (
        name[1:3] == ":\\" and not any(character.isspace() for character in base_name(name))
    )


def _start_other(walk: Walk, start: Start) -> None:
    """A program that runs nothing else, as far as we know."""
    words, text, source = start.words, start.feed.text, start.source
    walk.ask_families(start)
    if is_opaque(words[0]) and has_flag(words[1:], "r") and has_flag(words[1:], "f"):
        walk.ask_families(start._replace(words=["rm", *words[1:]]))
    embedded = _embedded_command(words)
    if embedded:
        walk.start(walk, start.with_words(embedded))
    if text and looks_like_commands(base_name(words[0]), text) and source and source.redirects:
        walk_text(walk, text, start.scope.copy())
    if source is not None and any(_prints_secrets(script, start.scope) for script in scripts_of(source)):
        refuse_if(check_sending([*words, UNKNOWN]))


def _embedded_command(words: list[str]) -> list[str]:
    """A dangerous program among the words of one that we do not know: ``tool exec -- rm -rf /``."""
    if base_name(words[0]) in TEXT_TOOLS or base_name(words[0]) in DANGEROUS_PROGRAMS:
        return []
    for number, word in enumerate(words[1:], start=1):
        if base_name(word) in DANGEROUS_PROGRAMS and not word.endswith("/"):
            return words[number:]
    return []


def _prints_secrets(script: Script, scope: Scope) -> bool:
    return any(
        isinstance(command, Simple) and reads_secrets(expand_words(command.words, scope))
        for pipeline in script
        for command in pipeline
    )
