"""The scripts that a command runs: those it names, and those that they, make targets and npm scripts run in turn."""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from ralph.domain.proof.file_names import is_code
from ralph.domain.proof.makefiles import included, recipes_of, targets_in
from ralph.domain.proof.tests_ran import names_runner
from ralph.patterns import pattern
from ralph.values import dataclass, field

Read = Callable[[str], str | None]
_INTERPRETERS = pattern(r"(?:.*/)?(?:(?:ba|da|z|k|fi)?sh|python[\d.]*|node|ruby|perl|php|deno|bun|pwsh)")
_BEFORE = frozenset(
    (
        "exec", "time", "env", "nice", "nohup", "command", "sudo", "!", "then", "do", "else", "if", "while", "run", "{",
    )
)  # fmt: skip
_SAYS_CHECK = pattern(r"(?i)test|check|verif|valid|lint|spec|smoke|accept|e2e|\bci\b|gate|prove|assert")
_FOLDERS = pattern(r"(?:^|/)(?:scripts?|ci|\.ci|tools?|bin|hack|dev)/")
_SHELL = pattern(r"\.(?:sh|bash|zsh|ps1)$|(?:^|/)(?:gradlew|mvnw)$")
_SHELL_TEXT = pattern(r"\A#!.*\b(?:ba|da|z|k)?sh\b")
_NO_SCRIPT = frozenset(("-c", "-m", "-e", "-p", "--eval", "-"))
_LOOKS_ONLY = {
    "sh": "-n",
    "bash": "-n",
    "dash": "-n",
    "zsh": "-n",
    "ksh": "-n",
    "node": "--check",
    "php": "-l",
}
"""Options by which an interpreter reads a script without running it: it is what is checked, not what checks."""
_VARIABLE = pattern(r"^(?:\$\{?\w+\}?|\$\(.*\)|`.*`)/")
_PACKAGE_SCRIPT = pattern(
    r"\b(?:npm|pnpm|yarn|bun)\s+(?:-\S+\s+)*(?:(?:run-script|run)\s+(?:-\S+\s+)*)?([\w:.-]+)"
)
_SHORT = {"t": "test", "tst": "test"}
_PACKAGERS = ("npm", "pnpm", "yarn", "bun")
_PACKAGE_FOLDER = ("--prefix", "-C", "--dir", "--cwd")
MAKEFILES = ("GNUmakefile", "makefile", "Makefile")


def scripts_in(command: str, working_dir: str = ".") -> frozenset[str]:
    """Paths from the top of the workspace. The program under development (``python main.py``) is not among them."""
    return frozenset(
        path
        for words, folder in _walk(command, working_dir)
        if (script := _script(words)) and (path := _normal(f"{folder}/{script}")) is not None
    )


def made_by(command: str, working_dir: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """The targets that a command makes, each with the files that may have its rule: make reads the first there is."""
    for words, folder in _walk(command, working_dir):
        if words[0] in ("make", "gmake"):
            place = _join(folder, _option(words, "-C", "--directory"))
            file = _option(words, "-f", "--file", "--makefile")
            for target in sorted(targets_in(" ".join(words))):
                yield tuple(_join(place, name) for name in ((file,) if file else MAKEFILES)), target


def packages_run(command: str, working_dir: str) -> Iterator[tuple[str, str]]:
    """The scripts of packages that a command runs by name, each with the file that has it."""
    for words, folder in _walk(command, working_dir):
        if words[0] not in _PACKAGERS:
            continue
        place = _option(words, *_PACKAGE_FOLDER)
        rest = [word for word in words[1:] if not word.startswith("-") and word != place]
        is_run = rest[:1] in (["run"], ["run-script"])
        name = "".join(rest[is_run : is_run + 1])
        is_own = words[0] != "npm" and name != "ci" and bool(_SAYS_CHECK.search(name))
        if is_run or (words[0] != "bun" and (name in ("test", "start", *_SHORT) or is_own)):
            yield _join(_join(folder, place), "package.json"), _SHORT.get(name, name)


def has_script(package: str | None, name: str) -> bool:
    """``package``: the text of a package.json."""
    return name in _package_scripts(package)


def first_named(
    command: str, working_dir: str, paths: Collection[str], before: Collection[str]
) -> frozenset[str]:
    """Those of ``paths`` that a command asks for by a name that meant nothing ``before``: its first tests."""
    named = {
        _normal(f"{working_dir}/{word.split('::')[0]}")
        for words in _simple_commands(command)
        for word in words
    }
    return frozenset(
        path
        for path in paths
        for name in named
        if name and _lies_at(path, name) and not any(_lies_at(old, name) for old in before)
    )


def _lies_at(path: str, name: str) -> bool:
    return path == name or path.startswith(f"{name}/")


@dataclass(slots=True)
class Reached:
    """All that commands run: ``texts`` as far as they are commands themselves.

    ``loaded``: what a test runner is told to load. ``data``: what scripts read. ``programs``: folders in which programs are
    looked for first.
    """

    scripts: set[str] = field(default_factory=set)
    targets: set[str] = field(default_factory=set)
    package_scripts: set[str] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)
    loaded: set[str] = field(default_factory=set)
    data: set[str] = field(default_factory=set)
    programs: set[str] = field(default_factory=set)


def reach(commands: Iterable[tuple[str, str]], read: Read) -> Reached:
    """From commands and the folder of each; ``read`` gives the text of a file of the project, or None."""
    found = Reached()
    waiting = [(command, folder, folder) for command, folder in commands]
    given = frozenset(waiting)
    known = set(given)
    while waiting:
        command, folder, beside = waiting.pop()
        found.texts.append(command)
        found.programs.update(_search_path(command, folder))
        found.loaded.update(
            path for name in named_for_loading(command) if read(path := _join(folder, name)) is not None
        )
        if (command, folder, beside) not in given:  # what the user's own command names may be the work itself
            found.data.update(
                path
                for name in _READS.findall(command)
                if not is_code(path := _join(folder, name)) and read(path) is not None
            )
        for more in _one_step(found, command, folder, beside, read):
            if more not in known:
                known.add(more)
                waiting.append(more)
    return found


def _one_step(
    found: Reached, command: str, folder: str, beside: str, read: Read
) -> Iterator[tuple[str, str, str]]:
    """What a command runs: (text, the folder that it is run in, the folder of the file that it is from)."""
    for path in _files_run(command, folder, beside, read):
        if path not in found.scripts:
            found.scripts.add(path)
            text = read(path) or ""
            if _SHELL.search(path) or _SHELL_TEXT.match(text):
                place = posixpath.dirname(path) or "."
                yield from ((line, folder, place) for line in _lines(text))
    if targets := targets_in(command):
        found.targets |= targets
        makefiles = (read(_join(folder, name)) for name in MAKEFILES)
        text = next((one for one in makefiles if one is not None), "")
        # What is not there yet would be read as soon as somebody makes it.
        found.scripts.update(path for name in included(text) if (path := _join(folder, name)))
        yield from ((line, folder, folder) for line in recipes_of(text, targets))
    for name in _PACKAGE_SCRIPT.findall(command):
        name = _SHORT.get(name, name)
        scripts = _package_scripts(read(_join(folder, "package.json")))
        if name in scripts:
            found.package_scripts.add(name)
            yield from ((str(scripts[one]), folder, folder) for one in _around(name) if one in scripts)


def _files_run(command: str, folder: str, beside: str, read: Read) -> Iterator[str]:
    yield from scripts_in(command, folder)
    for words in _simple_commands(command):
        sourced = words[1] if words[0] in (".", "source") and len(words) > 1 else ""
        for word in filter(None, (sourced, _script(words))):
            for place in (folder, beside):
                path = _join(place, _VARIABLE.sub("", word))
                if path and (word == sourced or read(path) is not None):
                    yield path


_READS = pattern(
    r"(?:\bcat\s+|<\s*|\bxargs\s+-a\s*|--files-from[=\s]|\b(?:diff|cmp)\s(?:.*\s)?)([A-Za-z_.][\w./-]*)"
)
_PATH = pattern(r"""\bPATH\s*[:?]?=\s*["']?([^\s;&"']+)""")
_HERE = pattern(r"^(?:\$\(?PWD\)?|\$\{PWD\}|\$\(pwd\)|\$\(CURDIR\)|\.)/")
_LOADING = pattern(
    r"""(?:^|[\s='"])(?:--(?:import|require|loader|experimental-loader|config|rcfile|file)|-r|-c)(?:\s+|=)["']?([\w./@-]+)"""
)
_PLUGIN = pattern(r"(?:^|[\s'\"=])-p\s*([A-Za-z_][\w.]*)")


def named_for_loading(text: str) -> Iterator[str]:
    """What a text with the options of a test runner tells it to load or to read, as paths that it may mean."""
    if not (names_runner(text) or "NODE_OPTIONS" in text or "addopts" in text):
        return
    yield from _LOADING.findall(text)
    for module in _PLUGIN.findall(text):
        yield from module_files(module)


def module_files(module: str) -> tuple[str, ...]:
    """Where a module of Python may lie."""
    path = module.replace(".", "/")
    return tuple(f"{root}{path}{end}" for root in ("", "src/") for end in (".py", "/__init__.py"))


def _search_path(command: str, folder: str) -> Iterator[str]:
    """Folders of the project that a command puts before the others that have programs."""
    for places in _PATH.findall(command):
        for place in places.split(":"):
            if (bare := _HERE.sub("", place)) and "$" not in bare and (path := _join(folder, bare)):
                yield path


def _lines(text: str) -> Iterator[str]:
    for line in text.replace("\\\n", " ").splitlines():
        if (bare := line.strip()) and not bare.startswith("#"):
            yield bare


def _package_scripts(text: str | None) -> Mapping[str, object]:
    try:
        scripts = json.loads(text or "{}")["scripts"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    return scripts if isinstance(scripts, Mapping) else {}


def _around(name: str) -> tuple[str, str, str]:
    return f"pre{name}", name, f"post{name}"


def _join(folder: str, path: str) -> str:
    return _normal(posixpath.join(folder, path)) or ""


def _simple_commands(command: str) -> Iterator[list[str]]:
    try:
        text = command.replace("\\\n", " ").replace("\n", " ; ")
        lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
        lexer.commenters = ""
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:  # a quote that does not end: the shell will say so
        return
    current: list[str] = []
    for word in [*words, ";"]:
        if word and set(word) <= set(";&|(){}"):
            if current := _without_prefix(current):
                yield current
            current = []
        else:
            current.append(word)


def _walk(command: str, working_dir: str) -> Iterator[tuple[list[str], str]]:
    """Each simple command, with the folder that it is run in."""
    folder = working_dir
    for words in _simple_commands(command):
        if words[0] == "cd" and len(words) > 1:
            folder = f"{folder}/{words[1]}"
        else:
            yield words, folder


def _option(words: list[str], *names: str) -> str:
    """The value of an option; empty if it is not given."""
    for word, value in zip(words, [*words[1:], ""], strict=True):
        for name in names:
            if word == name:
                return value
            if word.startswith(f"{name}=") or (len(name) == 2 and word.startswith(name)):
                return word.removeprefix(name).removeprefix("=")
    return ""


def _without_prefix(words: list[str]) -> list[str]:
    while words:
        if words[0] in _BEFORE or re.fullmatch(r"\w+=.*", words[0], re.DOTALL):
            words = words[1:]
        elif words[0] == "timeout" and len(words) > 2:
            words = words[2:]
        else:
            break
    return words


def _script(words: list[str]) -> str:
    program, *rest = words
    if _INTERPRETERS.fullmatch(program) and not program.startswith("./"):
        for word in rest:
            if word in _NO_SCRIPT or word == _LOOKS_ONLY.get(program.rsplit("/", 1)[-1]):
                return ""
            if not word.startswith("-"):
                return word if _decides(word) else ""
        return ""
    return program if "/" in program and _decides(program) else ""


def _decides(path: str) -> bool:
    return bool(_SHELL.search(path) or _FOLDERS.search(path) or _SAYS_CHECK.search(path.rsplit("/", 1)[-1]))


def _normal(path: str) -> str | None:
    """Without ``.`` and ``..``; None if it leads out."""
    normal = posixpath.normpath(path)
    is_outside = path.startswith("/") or "//" in path or normal.split("/", 1)[0] == ".."
    return None if is_outside or normal == "." else normal
