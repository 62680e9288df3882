"""Reading a program's words: options, operands, verbs."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from typing import NamedTuple

from ralph.guard.lazy_pattern import LazyPattern
from ralph.guard.marks import INPUT


def words_in(text: str) -> frozenset[str]:
    """A table of words that reads like one."""
    return frozenset(text.split())


def split_words(text: str) -> list[str]:
    """Split as a shell would; at blanks if the quotes do not match."""
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def base_name(program: str) -> str:
    """``/usr/bin/git``, ``git.exe`` and ``GIT`` are ``git``: some file systems do not care about case."""
    name = program.replace("\\", "/").rstrip("/").rpartition("/")[2].lower()
    return name[: -len(".exe")] if name.endswith(".exe") else name


def split_options(words: list[str], valued: Collection[str] = ()) -> tuple[list[str], list[str]]:
    """Options and operands, in any order; ``--`` ends the options. Values of ``valued`` ones are dropped."""
    options: list[str] = []
    operands: list[str] = []
    waiting = False
    for number, word in enumerate(words):
        if waiting:
            waiting = False
        elif word == "--":
            return options, operands + words[number + 1 :]
        elif word.startswith("-") and word != "-":
            options.append(word)
            waiting = word in valued
        else:
            operands.append(word)
    return options, operands


class OwnWords(NamedTuple):
    """A program's words up to the command that it runs."""

    options: list[tuple[str, str]]
    """Names and values; a variable that it sets has no name, and the assignment as value."""
    command: list[str]

    def values(self, *names: str) -> list[str]:
        return [value for name, value in self.options if name in names]


def read_own_words(
    words: list[str],
    valued: Collection[str] = (),
    *,
    last: Collection[str] = (),
    takes_assignments: bool = False,
) -> OwnWords:
    """As getopt reads them: ``-xI{}`` is ``-x -I {}``. After ``--`` and an option of ``last``, the command begins."""
    options: list[tuple[str, str]] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            break
        if takes_assignments and is_assignment(word):
            options.append(("", word))
            continue
        if not word.startswith("-") or word == "-":
            at -= 1
            break
        name, value, needs_value = _read_option(word, valued)
        if needs_value:
            value = "".join(words[at : at + 1])
            at += 1
        options.append((name, value))
        if name in last:
            break
    return OwnWords(options, words[at:])


def _read_option(word: str, valued: Collection[str]) -> tuple[str, str, bool]:
    """Its name, its value, and whether the value is the next word."""
    if word in valued:
        return word, "", True
    if word.startswith("--"):
        name, _, value = word.partition("=")
        return name, value, False
    for at, letter in enumerate(word[1:], start=2):
        if f"-{letter}" in valued:
            return f"-{letter}", word[at:], not word[at:]
        if not letter.isalnum():
            break
    return word, "", False


def words_after_options(words: list[str], valued: Collection[str]) -> list[str]:
    return read_own_words(words, valued).command


def may_gain_options(words: list[str]) -> bool:
    """Words from stdin come where options are still read."""
    before = words[: words.index("--")] if "--" in words else words
    return any(word.startswith(INPUT) or (word.startswith("-") and INPUT in word) for word in before)


def is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.replace("_", "a").isalnum()


def has_flag(options: list[str], short: str = "", long: str = "") -> bool:
    """Whether a flag is given: ``-f`` alone or among others (``-df``), ``--force`` or any abbreviation (``--fo``).

    The last of ``--force`` and ``--no-force`` decides, as in git and in GNU programs.
    """
    given = False
    for option in options:
        if option.startswith("--"):
            name = option[2:].partition("=")[0].lower()
            if not long or not name:
                continue
            if long.startswith(name):
                given = True
            elif name.startswith("no-") and long.startswith(name[3:]) and len(name) > 5:
                given = False
        elif short and short in option[1:]:
            given = True
    return given


def value_of_option(words: list[str], names: Collection[str]) -> str | None:
    """``-X POST``, ``-XPOST``, ``--request POST`` and ``--request=POST``."""
    for number, word in enumerate(words):
        if word in names:
            return words[number + 1] if number + 1 < len(words) else ""
        for name in names:
            if name.startswith("--") and word.startswith(name + "="):
                return word[len(name) + 1 :]
            if not name.startswith("--") and word.startswith(name) and not word.startswith("--"):
                return word[len(name) :]
    return None


_VERB = LazyPattern(
    r"(?:batch-)?(?:delete|destroy|remove|purge|terminate|drop|prune|wipe|erase|deregister|revoke|unregister|uninstall)(?:[-_:].*)?"
    r"|rm|rb|rmi|del|rmdir|deletefile|.*[-_:](?:delete|destroy|remove|purge)"
)
_GLOBAL_VALUED = words_in(
    "--region --profile --output --endpoint-url --project --account --configuration --subscription --format --org --context -n --namespace"
    " --kubeconfig --cluster -s -H --host -c --config -p --port -u --user --bootstrap-server --zookeeper -o -C --chdir --server -w --workspace"
)
_QUESTIONS = words_in("--help -h help --dry-run --dryrun --dry-run=client --dry-run=server")


def command_words(arguments: list[str]) -> list[str]:
    """The leading words, without options before them: ``s3api delete-bucket`` of ``--region x s3api delete-bucket --bucket y``."""
    words: list[str] = []
    at = 0
    while at < len(arguments):
        word = arguments[at]
        if word.startswith("-"):
            if len(words) >= 2:
                break
            at += 2 if word in _GLOBAL_VALUED else 1
            continue
        words.append(word)
        at += 1
    return words


def destructive_word(words: list[str], more: frozenset[str] = frozenset()) -> str:
    """The first destructive verb, or nothing. A word with a dot or slash is a name."""
    for word in words[:5]:
        if word in more or (not {*"./"} & {*word} and _VERB.fullmatch(word.lower())):
            return word
    return ""


def is_only_asking(arguments: list[str]) -> bool:
    # `cargo yank --version 1.0` names one.
    return not _QUESTIONS.isdisjoint(arguments) or arguments[-1:] == ["--version"]
