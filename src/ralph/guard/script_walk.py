"""Walks scripts, pipelines and commands of a shell, and follows every program that they would start."""

from __future__ import annotations

from ralph.guard.families.files import check_emptied_file, check_written_file
from ralph.guard.families.secrets import (
    check_bulk_sending,
    check_sending,
    check_sent_input,
    packs_files,
    reads_secrets,
    saved_file,
)
from ralph.guard.limits import MAX_TEXT_CHARS, TOO_LONG, TooComplex
from ralph.guard.marks import UNKNOWN
from ralph.guard.options import base_name, value_of_option, words_in
from ralph.guard.places import is_startup_file, join_path
from ralph.guard.program_lists import FETCHERS
from ralph.guard.shell.expansion import expand_text, expand_words, origin_of, output_of_command, stdin_text
from ralph.guard.shell.output import output_of_call
from ralph.guard.shell.scope import Scope
from ralph.guard.shell.scripts import read_script
from ralph.guard.shell.syntax import (
    Command,
    Function,
    Group,
    Pipeline,
    Script,
    Simple,
    Text,
    Word,
    substituted_scripts,
)
from ralph.guard.walk import NOTHING, DangerFound, Feed, Start, Walk, refuse_if

_UNPACKERS = words_in("tar bsdtar unzip 7z cpio")


def walk_text(walk: Walk, text: str, scope: Scope, feed: Feed = NOTHING) -> None:
    """Text that a shell will read."""
    if len(text) > MAX_TEXT_CHARS:
        raise TooComplex(TOO_LONG)
    inner = walk.deeper()
    walk_script(inner, read_script(text, inner.depth)[0], scope, feed)


def walk_script(walk: Walk, script: Script, scope: Scope, feed: Feed = NOTHING) -> None:
    for pipeline in script:
        _walk_pipeline(walk, pipeline, scope, feed)


def _walk_pipeline(walk: Walk, pipeline: Pipeline, scope: Scope, feed: Feed) -> None:
    secret = packed = False
    for number, command in enumerate(pipeline):
        if isinstance(command, Function):
            scope.functions[command.name] = command.body
        elif isinstance(command, Group):
            _walk_group(walk, command, scope, feed)
        else:
            words = _walk_simple(walk, command, scope, feed)
            refuse_if(check_sending(words) if secret else None)
            refuse_if(check_bulk_sending(words) if packed else None)
            secret = secret or reads_secrets(words)
            packed = packed or packs_files(words)
        if number + 1 < len(pipeline):
            feed = _feed_after(command, scope, feed)


def _walk_group(walk: Walk, group: Group, scope: Scope, feed: Feed) -> None:
    walk_script(walk.deeper(), group.body, scope.copy() if group.is_subshell else scope, feed)
    _walk_redirects(walk, group, scope)


def _feed_after(command: Command, scope: Scope, feed: Feed) -> Feed:
    """What a stage of a pipeline gives to the next."""
    text = output_of_command(command, scope, feed.text)
    if text is not None and UNKNOWN not in text:
        return Feed(text)
    origin = origin_of(((command,),), scope)
    return Feed(None, origin if origin != "file" or not feed.origin else feed.origin)


def _walk_redirects(walk: Walk, command: Simple | Group, scope: Scope) -> None:
    for redirect in command.redirects:
        for script in substituted_scripts(redirect.target):
            walk_script(walk, script, scope.copy())
        if ">" in redirect.operator:
            path = expand_text(redirect.target, scope)
            refuse_if(check_written_file(path, scope.cwd, appends=">>" in redirect.operator))
        elif redirect.operator == "<" and isinstance(command, Simple):
            path = expand_text(redirect.target, scope)
            refuse_if(check_sent_input(expand_words(command.words, scope), path))


def _walk_simple(walk: Walk, command: Simple, scope: Scope, feed: Feed) -> list[str]:
    for word in (*(value for given in command.assignments for value in given.values), *command.words):
        for script in substituted_scripts(word):
            walk_script(walk.deeper(), script, scope.copy())
    _walk_redirects(walk, command, scope)
    values = {
        assignment.name: tuple(
            text for value in assignment.values for text in _assign(value, scope, len(assignment.values))
        )
        for assignment in command.assignments
    }
    if not command.words:
        for assignment in command.assignments:
            before = scope.variables.get(assignment.name, ("",)) if assignment.appends else ("",)
            scope.variables[assignment.name] = tuple(
                old + new for old in before[:1] for new in values[assignment.name]
            )
        _remember_files(walk, command, [], scope, NOTHING)
        return []
    words = expand_words(command.words, scope)
    feed = _own_feed(command, scope, feed)
    environment = {name: " ".join(value) for name, value in scope.variables.items()}
    environment |= {name: " ".join(value) for name, value in values.items()}
    walk.start(walk, Start(words, scope, feed, environment, command))
    _remember_files(walk, command, words, scope, feed)
    return words


def _assign(value: Word, scope: Scope, count: int) -> list[str]:
    if count > 1:
        return expand_words((value,), scope)
    return [expand_text(value, scope)]


def _own_feed(command: Simple, scope: Scope, feed: Feed) -> Feed:
    text = stdin_text(command.redirects, scope)
    if text is not None:
        return Feed(None, "file") if text.strip() == UNKNOWN else Feed(text)
    for redirect in command.redirects:
        if redirect.operator == "<":
            scripts = substituted_scripts(redirect.target)
            return Feed(None, origin_of(scripts[0], scope) if scripts else "file")
    return feed


def _remember_files(walk: Walk, command: Simple, words: list[str], scope: Scope, feed: Feed) -> None:
    """``cat > x.sh <<EOF`` … ``bash x.sh``: the text that was written is what will run."""
    paths = [
        (expand_text(redirect.target, scope), redirect.operator)
        for redirect in command.redirects
        if redirect.operator in (">", ">>", ">|") and redirect.fd in ("", "1")
    ]
    program = base_name(words[0]) if words else ""
    if program == "tee":
        paths += [(word, ">") for word in words[1:] if not word.startswith("-")]
    text = output_of_call(words, scope, feed.text) if paths and words else None if words else ""
    if text is None and feed.origin == "network":
        text = UNKNOWN
    if program in _UNPACKERS:
        _remember_unpacked(words, scope, feed)
    if program in FETCHERS:
        text = UNKNOWN
        saved = saved_file(program, words[1:])
        paths += [(saved, ">")] if saved else []
    for path, operator in paths:
        key = join_path(scope.cwd, path)
        walk.tally.emptied.pop(key, None)
        if text is not None and not text.strip() and operator != ">>" and _is_literal(command):
            danger = check_emptied_file(path, walk.place_of(path, scope))
            walk.tally.emptied |= {key: danger} if danger else {}
        if text is None:
            scope.files.pop(key, None)
        else:
            scope.files[key] = (scope.files.get(key, "") if operator == ">>" else "") + text
            if is_startup_file(key):
                _walk_later(walk, text, scope)
    if program in ("cp", "mv", "ln", "install", "rsync"):
        for word in words[1:]:
            scope.files.pop(join_path(scope.cwd, word), None)


def _is_literal(command: Simple) -> bool:
    """No variable in it: one that is empty here may have a value there."""
    return all(isinstance(part, Text) for word in command.words for part in word)


def _remember_unpacked(words: list[str], scope: Scope, feed: Feed) -> None:
    """``curl … | tar xz``, ``unzip fetched.zip``: what comes out of it came from another machine."""
    fetched = [word for word in words[1:] if scope.files.get(join_path(scope.cwd, word)) == UNKNOWN]
    if fetched or feed.origin == "network":
        folder = value_of_option(words, ("-C", "--directory", "-d"))
        stems = [word.rpartition("/")[2].partition(".")[0] for word in fetched]
        places = [folder] if folder else [*stems, "unpacked"]
        scope.unpacked += tuple(join_path(scope.cwd, place) + "/" for place in places)


def _walk_later(walk: Walk, text: str, scope: Scope) -> None:
    """A shell will read it later. Code that is merely hard to read is common in start-up files."""
    try:
        walk_text(walk, text, scope.copy())
    except DangerFound as found:
        if found.danger.family != "hidden":
            raise
