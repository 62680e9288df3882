"""Whether a test file was only extended: what it tested before, it must still test in the same way."""

from __future__ import annotations

import re

from ralph.domain.proof.python_tests import weakened_python

_C_LIKE = re.compile(r"\.(?:[cm]?[jt]sx?|go|rs|java|kt|cs|php|swift|scala|dart|c|h|cc|cpp|hpp)$")
_SKIPS = re.compile(
    r"\b(?:it|test|describe|context|suite|bench|specify)\.(?:skip|only|todo|fails|failing|skipIf|runIf)\b"
    r"|\b[xf](?:it|test|describe|context|specify)\b|\b(?:t|b|f|tb)\.Skip(?:Now|f)?\b|#\[ignore|#\[cfg\(any\(\)\)\]"
    r"|@(?:Ignore|Disabled)\b|\[(?:Ignore|Explicit)\b|\bskip\s*[:=]\s*(?:true|['\"])|\bpending\s*\("
    r"|^\s*(?:if|while)\s*\(?\s*(?:false|0|!1)\b|^#\s*if\s+0\b|^\s*return\s*;?\s*$"
    r"|\b(?:process\.exit|os\.Exit|std::process::exit|System\.exit)\b|//go:build|\bmarkTestSkipped\b"
    r"|\bpytest\.(?:mark\.)?(?:skip|xfail)|\bunittest\.skip|\bSkipTest\b",
    re.MULTILINE,
)
_IMPORT = re.compile(r"^\s*(?:import|from|use|using|const\s*\{[^}]*\}\s*=\s*require)\b")
SHOWN = 3


def weakened(path: str, before: str, after: str) -> list[str]:
    """What it no longer does as before; empty if it was only extended."""
    if path.endswith(".py"):
        found = weakened_python(before, after)
        if found is not None:
            return found[:SHOWN]
    return _lines_weakened(path, before, after)[:SHOWN]


def _lines_weakened(path: str, before: str, after: str) -> list[str]:
    old, new = _code_lines(path, before), _code_lines(path, after)
    place = 0
    found: list[str] = []
    for line in old:
        ahead = next((at for at in range(place, len(new)) if _is_kept(line, new[at])), None)
        if ahead is None:
            found.append(f"a line was changed, moved or removed: {line.strip()[:100]}")
        else:
            place = ahead + 1
    skips = len(_SKIPS.findall("\n".join(new))) - len(_SKIPS.findall("\n".join(old)))
    if skips > 0 and before.strip():
        found.append("something was added that skips or ends tests")
    return found


def _is_kept(old: str, new: str) -> bool:
    """The same line, or an import that brings in more than before."""
    if old == new:
        return True
    if not (_IMPORT.match(old) and _IMPORT.match(new)):
        return False
    had, has = re.findall(r"[\w./@-]+", old), re.findall(r"[\w./@-]+", new)
    words = iter(has)
    return all(word in words for word in had) and has.count("as") == had.count("as")


def _code_lines(path: str, text: str) -> list[str]:
    code = without_comments(text) if _C_LIKE.search(path) else text
    return [line.rstrip() for line in code.splitlines() if line.strip()]


def without_comments(text: str) -> str:
    """C-like source without its comments: what was commented out no longer counts."""
    pieces: list[str] = []
    place, end = 0, len(text)
    while place < end:
        two, one = text[place : place + 2], text[place]
        if two == "//":
            place = _until(text, "\n", place)
        elif two == "/*":
            place = _until(text, "*/", place + 2) + 2
        elif one in "\"'`":
            stop = _end_of_quote(text, place)
            pieces.append(text[place:stop])
            place = stop
        else:
            pieces.append(one)
            place += 1
    return "".join(pieces)


def _until(text: str, what: str, place: int) -> int:
    found = text.find(what, place)
    return len(text) if found < 0 else found


def _end_of_quote(text: str, place: int) -> int:
    """After the closing quote; a quote that does not end on its line was an apostrophe or a lifetime."""
    quote = text[place]
    at = place + 1
    while at < len(text):
        if text[at] == "\\":
            at += 2
            continue
        if text[at] == quote:
            return at + 1
        if text[at] == "\n" and quote != "`":
            return place + 1
        at += 1
    return place + 1
