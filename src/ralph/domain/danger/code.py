"""One-liners and here-documents of Python, Node, Ruby, Perl, PHP and awk: which shell commands they run, what they remove.

No parser of any of these languages: it looks for the calls that start processes or delete files, and for the
strings in them.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import NamedTuple

from ralph.domain.danger.ansi_quotes import decode_escapes
from ralph.domain.danger.scope import UNKNOWN

MAX_CODE_CHARS = 200_000
_STRING = re.compile(
    r"'''(.*?)'''|\"\"\"(.*?)\"\"\"|'((?:[^'\\\n]|\\.)*)'|\"((?:[^\"\\\n]|\\.)*)\"|`((?:[^`\\]|\\.)*)`",
    re.DOTALL,
)
_PROCESS_CALL = re.compile(
    r"\b(?:os\s*\.\s*(?:system|popen|exec\w*|spawn\w*)|(?:subprocess|sp)\s*\.\s*\w+|(?:check_)?(?:call|output)|Popen|getoutput"
    r"|pty\.spawn|asyncio\.create_subprocess_\w+|system|exec|popen|spawn|shell_exec|passthru|proc_open|execSync|execFile\w*"
    r"|spawnSync|execa\w*|IO\.popen|Open3\.\w+|Process\.spawn|Kernel\.\w+|Deno\.Command|Bun\.spawn\w*|sh|run|do\s+shell\s+script)"
    r"(?:\s*\(\s*|\s+(?=[\"'`\[]))"
)
_TREE_REMOVAL = re.compile(
    r"\b(?:rmtree|rm_rf|rm_r|remove_entry_secure|remove_tree|removedirs|remove_dir_all|rimraf(?:\.sync)?|emptyDir(?:Sync)?"
    r"|fs(?:Promises|\.promises)?\.(?:rm|rmdir|remove)(?:Sync)?|rmSync|rmdirSync|Deno\.remove(?:Sync)?|deltree)\b\s*\(?\s*"
)
_FILE_REMOVAL = re.compile(
    r"\b(?:os\.(?:remove|unlink|rmdir|truncate)|unlink(?:Sync)?|File\.(?:delete|unlink)|FileUtils\.rm(?:_f)?|fs\.unlink(?:Sync)?"
    r"|truncateSync|Path)\b\s*\(?\s*"
)
_OPENED = re.compile(r"\b(?:open|File\.(?:open|write)|writeFile(?:Sync)?|file_put_contents)\s*\(?\s*")
_SHELL_QUOTES = re.compile(r"`([^`]+)`|%x[({\[|!]([^)}\]|!]+)[)}\]|!]|qx\s*[({/|!\[]([^)}/|!\]]+)[)}/|!\]]")
_DECODED = re.compile(
    r"(?:b64decode|atob|decode64|base64_decode|from)\s*\(\s*b?[\"']([A-Za-z0-9+/=]{8,})[\"']"
)
_AWK_SYSTEM = re.compile(r"system\s*\(([^)]*)\)")
_AWK_PIPE = re.compile(r"\"((?:[^\"\\]|\\.)*)\"\s*\|&?\s*getline|\|&?\s*\"((?:[^\"\\]|\\.)*)\"")


class FoundInCode(NamedTuple):
    """What a piece of code would do."""

    scripts: list[str]
    """Shell command lines."""
    calls: list[list[str]]
    """Programs started without a shell."""
    removed_trees: list[str | None]
    """None: the path is computed."""
    removed_files: list[str]
    written_files: list[str]
    nested_code: list[str]
    """Code in an encoding, made readable."""


_FROM_SHELL = frozenset(["ruby", "perl", "php"])


def read_code(language: str, code: str) -> FoundInCode:
    code = code[:MAX_CODE_CHARS]
    found = FoundInCode([], [], [], [], [], [])
    if language == "awk":
        return _read_awk(code, found)
    without_comments = re.sub(r"(?m)^\s*(?:#|//).*$", "", code)
    for call in _PROCESS_CALL.finditer(without_comments):
        strings = _strings_in(_argument_text(without_comments, call.end()))
        if strings:
            found.scripts.append(strings[0])
            if len(strings) > 1:
                found.calls.append(strings)
    if language in _FROM_SHELL:
        for quoted in _SHELL_QUOTES.finditer(without_comments):
            found.scripts.append(next(text for text in quoted.groups() if text))
    for call in _TREE_REMOVAL.finditer(without_comments):
        argument = _argument_text(without_comments, call.end())
        is_node = (
            call[0].lstrip().startswith(("fs", "rm", "Deno"))
            and "rmtree" not in call[0]
            and "rm_r" not in call[0]
        )
        if is_node and "recursive" not in argument and "rimraf" not in call[0]:
            found.removed_files.extend(_strings_in(argument)[:1])
        else:
            strings = _strings_in(argument)
            is_own = (
                "tempfile" in code or "mkdtemp" in code or "mktmpdir" in code or "tmpdir" in argument.lower()
            )
            if strings or not is_own:
                found.removed_trees.append(strings[0] if strings else None)
    for call in _FILE_REMOVAL.finditer(without_comments):
        argument = _argument_text(without_comments, call.end())
        if call[0].startswith("Path") and not re.match(
            r"\s*\.\s*(?:unlink|rmdir)", without_comments[call.end() + len(argument) + 1 :]
        ):
            continue
        found.removed_files.extend(_strings_in(argument)[:1])
    for call in _OPENED.finditer(without_comments):
        strings = _strings_in(_argument_text(without_comments, call.end()))
        if strings and (
            "write" in call[0]
            or "put" in call[0]
            or any(re.fullmatch(r"[wax+b]+", text) and "w" in text for text in strings[1:])
        ):
            found.written_files.append(strings[0])
    for packed in _DECODED.finditer(code):
        found.nested_code.extend(_unpacked(packed[1]))
    return found


def _read_awk(code: str, found: FoundInCode) -> FoundInCode:
    for call in _AWK_SYSTEM.finditer(code):
        is_literal = _STRING.fullmatch(call[1].strip()) is not None
        found.scripts.append("".join(_strings_in(call[1])) if is_literal else UNKNOWN)
    for pipe in _AWK_PIPE.finditer(code):
        found.scripts.append(_unescaped(pipe[1] or pipe[2] or ""))
    return found


def _argument_text(code: str, start: int) -> str:
    """Up to the bracket that closes the call, or the end of the line if none was opened."""
    has_bracket = "(" in code[max(0, start - 3) : start]
    depth = 1 if has_bracket else 0
    at = start
    limit = min(len(code), start + 4_000)
    while at < limit:
        string = _STRING.match(code, at)
        if string:
            at = string.end()
            continue
        character = code[at]
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
            if depth <= 0 and (has_bracket or character == ")"):
                break
        elif character in "\n;" and not has_bracket:
            break
        at += 1
    return code[start:at]


def _strings_in(text: str) -> list[str]:
    return [
        _unescaped(next((group for group in found.groups() if group is not None), ""))
        for found in _STRING.finditer(text)
    ]


def _unescaped(text: str) -> str:
    return decode_escapes(text)


def _unpacked(packed: str) -> list[str]:
    try:
        return [base64.b64decode(packed + "=" * (-len(packed) % 4)).decode("utf-8", "replace")]
    except (ValueError, binascii.Error):
        return []
