"""Which paths an expression of Python, Node, Ruby, Perl or PHP names: literals, joins, variables, the home, listings of folders."""

from __future__ import annotations

import re

from ralph.guard.lazy_pattern import LazyPattern
from ralph.guard.limits import MAX_PATH_CHARS_IN_CODE, MAX_PATHS_IN_CODE
from ralph.guard.marks import TEMPORARY_FOLDER, UNKNOWN
from ralph.guard.options import words_in
from ralph.guard.shell.escapes import decode_escapes

STRING = LazyPattern(
    r"'''(.*?)'''|\"\"\"(.*?)\"\"\"|'((?:[^'\\\n]|\\.)*)'|\"((?:[^\"\\\n]|\\.)*)\"|`((?:[^`\\]|\\.)*)`",
    re.DOTALL,
)
_HOME = LazyPattern(
    r"(?:pathlib\.)?Path\.home\(\)|(?:require\([^)\n]{0,20}\)\.|\w{1,20}\.)?homedir\(\)|\bDir\.home\b|\bprocess\.env\.HOME\b"
    r"|\$ENV\{['\"]?HOME['\"]?\}|(?:(?:require|__import__)\([^)\n]{0,20}\)\.|\w{1,20}\.)?(?:environ|env|ENV|getenv|fetch|get|_SERVER)"
    r"(?:\.get|\.fetch)?[\[(]\s*['\"]HOME['\"]\s*[\])]"
)
_HERE = LazyPattern(
    r"(?:pathlib\.)?Path\.cwd\(\)|(?:os\.)?getcwd\(\)|\bprocess\.cwd\(\)|\bDir\.pwd\b|\b__dirname\b|\b__DIR__\b|\bcwd\(\)"
)
_TEMPORARY = LazyPattern(
    r"(?:tempfile\.)?(?:mkdtemp|gettempdir|TemporaryDirectory)(?:Sync)?\([^)\n]{0,80}\)|(?:\w{1,20}\.)?(?:tmpdir|mktmpdir)\b(?:\(\))?"
)
_KNOWN_PLACES = ((_HOME, "\ue010"), (_HERE, "\ue011"), (_TEMPORARY, "\ue012"))
"""Calls that name a place, and a character in its stead: it may stand within a string or outside."""
_PLACE_MARKS = {"\ue010": "~", "\ue011": ".", "\ue012": f"{TEMPORARY_FOLDER}/made"}
_PLACES = str.maketrans(_PLACE_MARKS)
_TOKEN = LazyPattern(
    rf"[bfru]{{0,2}}(?:{STRING.text})|[$@]?[A-Za-z_][\w.]*|\.\w+|[/+,\ue010-\ue012]", re.DOTALL
)
_INTERPOLATED = LazyPattern(r"[$#]?\{([^{}]*)\}")
_SAID = words_in(
    "Path PurePath Pathname path join str String resolve absolute abspath realpath normpath expanduser expand_path as_posix new"
    " to_s require fs os File pathlib posixpath true false True False None"
)
"""Names that leave a path as it is."""
_ASSIGNMENT = LazyPattern(r"[$@]?\b(\w+)\s*=(?![=>~])\s*([^\n;]+)")
_LOOP = LazyPattern(
    r"\bfor\b[^\n:;)]{0,80}?\b(?:in|of)\b\s*(\[[^\[\]]{0,500}\]|\([^()]{0,500}\))"
    r"|((?:%w)?\[[^\[\]]{0,500}\])\s*\.\s*(?:forEach|each|map)"
)
_LISTING = LazyPattern(
    r"\.\s*(rglob|glob|iterdir)\s*\(([^()]*)\)|\b(?:glob\.i?glob|glob['\"]\)\.sync|i?glob|globSync|Dir\.glob|Dir)\s*(?:[(\[]|(?=['\"]))\s*([^()\[\]]*)"
    r"|\b(walk|listdir|scandir|readdirSync|readdir|children|entries|each_child)\s*\(([^()]*)\)"
    r"|<([^<>\s]*\*[^<>\s]*)>"
)


class CodePaths:
    """Reads the assignments and listings of a piece of code when they are first asked for."""

    def __init__(self, code: str) -> None:
        self._code = code
        self._assigned: dict[str, list[str]] | None = None
        self._values: dict[str, list[str]] = {}
        self._listed: list[str] | None = None

    def of(self, expression: str, depth: int = 0) -> list[str]:
        """Each path that it may be; unknown text where it is not known."""
        if depth > 3 or len(expression) > MAX_PATH_CHARS_IN_CODE:
            return [UNKNOWN]
        expression = _mark_places(expression)
        listed = self._listings_in(expression, depth)
        if listed:
            return listed
        if expression.lstrip().startswith(("[", "%w")):
            return strings_in(expression) or expression.strip("%w[]() ").split() or [UNKNOWN]
        paths, glue = [""], ""
        for token in _TOKEN.finditer(expression):
            text = token[0]
            if text in ("/", "+", ","):
                glue = "/" if text != "+" else ""
                continue
            values = self._values_of(text, depth)
            if values:
                paths = [path + (glue if path else "") + value for path in paths for value in values]
                paths, glue = paths[:MAX_PATHS_IN_CODE], ""
        return [path.translate(_PLACES) for path in paths if path] or [UNKNOWN]

    def _values_of(self, part: str, depth: int) -> list[str]:
        if part in _PLACE_MARKS:
            return [part]
        if part[-1] in "'\"`":
            return [
                _INTERPOLATED.sub(lambda found: self.of(found[1], depth + 1)[0], text)
                for text in strings_in(part)[:1]
            ]
        name, _, rest = part.lstrip("$@").partition(".")
        last = rest.rpartition(".")[2] or name
        if last == "parent":
            return ["/.."]
        return (
            []
            if not name or last in _SAID or name in ("fs", "os", "pathlib")
            else self._of_variable(name, depth)
        )

    def _of_variable(self, name: str, depth: int) -> list[str]:
        if self._assigned is None:
            self._assigned = {}
            for found in _ASSIGNMENT.finditer(self._code):
                self._assigned.setdefault(found[1], []).append(found[2][: 2 * MAX_PATH_CHARS_IN_CODE])
        if name not in self._values:
            self._values[name] = [UNKNOWN]  # within its own value
            given = self._assigned.get(name, [])[:MAX_PATHS_IN_CODE]
            paths = [path for value in given for path in self.of(first_argument(value), depth + 1)]
            self._values[name] = list(dict.fromkeys(paths or self.listed(depth)))[:MAX_PATHS_IN_CODE]
        return self._values[name] or [UNKNOWN]

    def listed(self, depth: int = 0) -> list[str]:
        """What a loop goes through: the patterns of listings, or the strings of a list."""
        if self._listed is None:
            self._listed = []
            self._listed = self._listings_in(_mark_places(self._code), depth + 1) or [
                name
                for found in _LOOP.finditer(self._code)
                for name in self.of(found[1] or found[2], depth + 1)
            ]
        return self._listed[:MAX_PATHS_IN_CODE]

    def _listings_in(self, text: str, depth: int) -> list[str]:
        patterns: list[str] = []
        for found in _LISTING.finditer(text):
            method, name, pattern, lister, folder, perl_glob = found.groups()
            if perl_glob:
                patterns.append(perl_glob)
            elif method:
                before = text[max(0, found.start() - 200) : found.start()]
                opened = re.search(
                    r"\([^()]*\)$|[\w.\ue010-\ue012]+(?:\([^()]*\))?(?:\s*/\s*['\"\w.]+)*$|['\"][^'\"]*['\"]\)?$",
                    before,
                )
                roots = self.of(opened[0] if opened else "", depth + 1)
                below = "".join(strings_in(name)[:1]) or "*"
                patterns += [f"{root}/{'**/' if method == 'rglob' else ''}{below}" for root in roots]
            elif lister:
                roots = self.of(first_argument(folder), depth + 1) if folder.strip() else ["."]
                patterns += [f"{root}/{'**' if lister == 'walk' else '*'}" for root in roots]
            elif pattern and strings_in(pattern):
                patterns += self.of(pattern.partition(", recursive")[0], depth + 1)
            if len(patterns) > MAX_PATHS_IN_CODE:
                break
        return patterns


def _mark_places(text: str) -> str:
    for pattern, mark in _KNOWN_PLACES:
        text = pattern.sub(mark, text)
    return text


def first_argument(text: str) -> str:
    return text[: end_of_expression(text, 0, len(text), stops=",")]


def end_of_expression(text: str, at: int, limit: int, *, stops: str) -> int:
    """Where a bracket closes that was not opened in it, or one of ``stops`` stands outside of brackets."""
    depth = 0
    while at < limit:
        character = text[at]
        if character in "'\"`":
            string = STRING.match(text, at, limit)
            at = string.end() if string else limit
            continue
        depth += (character in "([{") - (character in ")]}")
        if depth < 0 or (depth == 0 and character in stops):
            break
        at += 1
    return at


def strings_in(text: str) -> list[str]:
    return [
        decode_escapes(next((group for group in found.groups() if group is not None), ""))
        for found in STRING.finditer(text)
    ]
