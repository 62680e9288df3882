"""One-liners and here-documents of Python, Node, Ruby, Perl, PHP and awk: which shell commands they run, what they remove.

No parser of any of these languages: it looks for the calls that start processes or delete files, and for the
strings in them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ralph.guard.judgement import Danger
from ralph.guard.lazy_pattern import LazyPattern
from ralph.guard.limits import (
    MAX_ARGUMENT_CHARS,
    MAX_SEARCHED_CHARS,
    MAX_TEXT_CHARS,
    TOO_MANY_PARTS,
    TooComplex,
)
from ralph.guard.marks import UNKNOWN
from ralph.guard.program_lists import TEXT_TOOLS
from ralph.guard.programs.code_paths import STRING, CodePaths, end_of_expression, first_argument, strings_in
from ralph.guard.shell.escapes import decode_escapes

_PROCESS_CALL = LazyPattern(
    r"\b(?:os\s*\.\s*(?:system|popen|exec\w*|spawn\w*)|(?:subprocess|sp)\s*\.\s*\w+|(?:check_)?(?:call|output)|Popen|getoutput"
    r"|pty\.spawn|asyncio\.create_subprocess_\w+|system|exec|popen|spawn|shell_exec|passthru|proc_open|execSync|execFile\w*"
    r"|spawnSync|execa\w*|IO\.popen|Open3\.\w+|Process\.spawn|Kernel\.\w+|Deno\.Command|Bun\.spawn\w*|sh|run|do\s+shell\s+script)"
    r"(?:\s*\(\s*|\s+(?=[\"'`\[]))",
    hints="os subprocess sp call output open system exec spawn passthru IO. Open3 Process Kernel Deno Bun sh run",
)
_TREE_REMOVAL = LazyPattern(
    r"\b(?:rmtree|rm_rf|rm_r|remove_entry_secure|remove_tree|removedirs|remove_dir(?:_all)?|rimraf(?:['\"]\))?(?:\.sync)?|emptyDir(?:Sync)?"
    r"|(?:require\(['\"](?:node:)?fs(?:/promises|-extra)?['\"]\)|fs(?:Promises|\.promises)?)\.(?:rm|rmdir|remove)(?:Sync)?|rmSync|rmdirSync|removeSync|Deno\.remove(?:Sync)?|deltree)\b\s*\(?\s*",
    hints="rm remove rimraf emptyDir deltree",
)
_FILE_REMOVAL = LazyPattern(
    r"\b(?:os\.(?:remove|unlink|rmdir)|unlink(?:Sync)?|File\.(?:delete|unlink)|FileUtils\.rm(?:_f)?|fs\.unlink(?:Sync)?"
    r"|Path)\b\s*\(?\s*|\b(?!os\b|fs\b)([A-Za-z_]\w*)\.(?:unlink|rmdir)\(\s*(?:missing_ok=True)?\s*\)",
    hints="remove unlink delete rm Path",
)
_NEEDS_RECURSIVE = LazyPattern(r"(?:fs|require)\b.*\.rm|rmSync|rmdirSync|Deno")
_UNLINKS = LazyPattern(r"\s*\.\s*(?:unlink|rmdir)")
_UNLINK_EACH = LazyPattern(
    r"array_map\(\s*['\"]unlink['\"]|map\(\s*os\.(?:remove|unlink)\b", hints="unlink os.remove"
)
_NAMED = r"\(\s*['\"]([^'\"\n]+)['\"]"
_NO_TEXT = r"\s*,\s*b?(?:''|\"\"|``)\s*[,)]"
_EMPTIED = LazyPattern(
    rf"\bopen{_NAMED}\s*,\s*['\"]w[bt+]?['\"]\s*\)\s*\.close|\bPath{_NAMED}\s*\)\.write_(?:text|bytes)\(\s*b?(?:''|\"\")\s*\)"
    rf"|(?:writeFile(?:Sync)?|File\.write|file_put_contents){_NAMED}{_NO_TEXT}|\btruncate(?:Sync)?{_NAMED}\s*(?:,\s*0\s*)?\)",
    hints="open write truncate put_contents",
)
_OPENED = LazyPattern(
    r"\b(?:open|File\.(?:open|write)|writeFile(?:Sync)?|file_put_contents)\s*\(?\s*",
    hints="open write writeFile put_contents",
)
_SHELL_QUOTES = LazyPattern(
    r"`([^`]+)`|%x[({\[|!]([^)}\]|!]+)[)}\]|!]|qx\s*[({/|!\[]([^)}/|!\]]+)[)}/|!\]]", hints="` %x qx"
)
_DECODED = LazyPattern(
    r"(?:b64decode|atob|decode64|base64_decode|from)\s*\(\s*b?[\"'][A-Za-z0-9+/=]{8,}[\"']",
    hints="decode atob from",
)
_FETCH = LazyPattern(
    r"\b(?:urlopen|urlretrieve|(?:requests|httpx|session|client)\s*\.\s*get|fetch|axios(?:\.get)?|https?\.get|open-uri|URI\.open"
    r"|Net::HTTP|LWP::Simple|file_get_contents\s*\(\s*[\"']https?:)",
    hints="url requests http session client fetch axios URI open-uri Net:: LWP file_get_contents",
)
RUNS_TEXT = LazyPattern(
    r"(?<![\w.])(?:exec|eval|new\s+Function|instance_eval)\s*\(|\(\s*eval\s*\)", hints="exec eval Function"
)
_CONNECTION = LazyPattern(r"(?i)socket|fsockopen|net\.connect")
_FORK_BOMB = LazyPattern(
    r"\bfork\s*(?:\(\s*\))?\s*while\b|\bwhile\b[^\n;]{0,30}?[\s:;{(]+(?:os\s*\.\s*)?fork\b|\bloop\s*[{d]o?\s*fork\b",
    hints="fork",
)
_REVERSE_SHELL = LazyPattern(r"dup2\s*\(|pty\.spawn|/bin/(?:ba)?sh", hints="dup2 pty.spawn /bin/")
_READ_FIRST = "save it to a file and read it before you run it"
_SIGNS = (
    (
        (_CONNECTION, _REVERSE_SHELL),
        Danger("network", "this code gives another machine a shell", "use a client that the user named"),
    ),
    ((RUNS_TEXT, _FETCH), Danger("network", "this code runs what it downloads", _READ_FIRST)),
    ((RUNS_TEXT, _DECODED), Danger("hidden", "this code runs what it decodes", "write it out in full")),
    ((_FORK_BOMB,), Danger("system", "this starts processes endlessly", "start only as many as needed")),
)
_AWK_SYSTEM = LazyPattern(r"system\s*\(([^)]*)\)", hints="system")
_AWK_PIPE = LazyPattern(r"\"((?:[^\"\\]|\\.)*)\"\s*\|&?\s*getline|\|&?\s*\"((?:[^\"\\]|\\.)*)\"", hints="|")

_COMMAND_LINE = LazyPattern(
    r"(?m)^[ \t]*(?:sudo[ \t]+)?(?:rm|git|dd|mkfs\S*|find|shred)\s", hints="rm git dd mkfs find shred"
)


class FoundInCode(NamedTuple):
    """What a piece of code would do."""

    scripts: list[str]
    """Shell command lines."""
    calls: list[list[str]]
    """Programs started without a shell."""
    removed_trees: list[str]
    removed_files: list[str]
    emptied_files: list[str]
    written_files: list[str]


_FROM_SHELL = frozenset(["ruby", "perl", "php"])


def strip_comments(code: str) -> str:
    return re.sub(r"(?m)^[ \t]*(?:#|//).*$", "", code[:MAX_TEXT_CHARS])


def read_code(language: str, code: str) -> FoundInCode:
    found = FoundInCode([], [], [], [], [], [])
    if language == "awk":
        return _read_awk(code, found)
    arguments = _Arguments(code)
    for call in _PROCESS_CALL.finditer(code):
        argument = arguments.of_call(call.end())
        strings = strings_in(argument)
        if strings:
            found.scripts.append(UNKNOWN if _DECODED.search(argument) else strings[0])
            if len(strings) > 1:
                found.calls.append(strings)
    if language in _FROM_SHELL:
        for quoted in _SHELL_QUOTES.finditer(code):
            found.scripts.append(next(text for text in quoted.groups() if text))
    paths = CodePaths(code)
    is_temporary = any(word in code for word in ("tempfile", "mkdtemp", "mktmpdir"))
    for call in _TREE_REMOVAL.finditer(code):
        argument = arguments.of_call(call.end())
        first = first_argument(argument)
        # Perl's remove_tree takes any number of names.
        removed = [*paths.of(first), *(strings_in(argument[len(first) :]) if language == "perl" else ())]
        if _NEEDS_RECURSIVE.match(call[0]) and "recursive" not in argument:
            found.removed_files.extend(removed)
        else:
            found.removed_trees.extend(path for path in removed if not (is_temporary and path == UNKNOWN))
    for call in _FILE_REMOVAL.finditer(code):
        argument = call[1] or arguments.of_call(call.end())
        if call[0].startswith("Path") and not _UNLINKS.match(code, call.end() + len(argument) + 1):
            continue
        found.removed_files.extend(paths.of(first_argument(argument)))
    if _UNLINK_EACH.search(code):
        found.removed_files.extend(paths.listed())
    for call in _EMPTIED.finditer(code):
        found.emptied_files.append(next(text for text in call.groups() if text))
    for call in _OPENED.finditer(code):
        strings = strings_in(arguments.of_call(call.end()))
        if strings and (
            "write" in call[0]
            or "put" in call[0]
            or any(re.fullmatch(r"[wax+b]+", text) and "w" in text for text in strings[1:])
        ):
            found.written_files.append(strings[0])
    return found


def danger_in_code(code: str) -> Danger | None:
    """What needs no look at names: the code runs what it fetches, gives a shell away, or forks without end."""
    return next(
        (danger for patterns, danger in _SIGNS if all(pattern.search(code) for pattern in patterns)), None
    )


def _read_awk(code: str, found: FoundInCode) -> FoundInCode:
    for call in _AWK_SYSTEM.finditer(code):
        is_literal = STRING.fullmatch(call[1].strip()) is not None
        found.scripts.append("".join(strings_in(call[1])) if is_literal else UNKNOWN)
    for pipe in _AWK_PIPE.finditer(code):
        found.scripts.append(decode_escapes(pipe[1] or pipe[2] or ""))
    return found


class _Arguments:
    """Cuts out the arguments of calls, within a bound on what is looked at in all."""

    def __init__(self, code: str) -> None:
        self._code = code
        self._left = MAX_SEARCHED_CHARS

    def of_call(self, start: int) -> str:
        """Up to the bracket that closes the call, or the end of the line if none was opened."""
        has_bracket = "(" in self._code[max(0, start - 3) : start]
        limit = min(len(self._code), start + MAX_ARGUMENT_CHARS)
        end = end_of_expression(self._code, start, limit, stops="" if has_bracket else "\n;")
        self._left -= end - start
        if self._left < 0:
            raise TooComplex(TOO_MANY_PARTS)
        return self._code[start:end]


def looks_like_commands(program: str, text: str) -> bool:
    """A here-document for a program that we do not know: is it a script?"""
    return program not in TEXT_TOOLS and _COMMAND_LINE.search(text) is not None
