"""What a git configuration says about files: which others belong to it, and where its hooks are.

Read as text: asking git would cost a process for every process in a sandbox.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ralph.adapters.files import read_plain

_SECTION = re.compile(r"\s*\[\s*([\w.-]+)(?:\s+\"(?:[^\"\\]|\\.)*\")?\s*\]")
_ENTRY = re.compile(r"\s*([A-Za-z][\w-]*)\s*=\s*(.*)")
_COMMENT = re.compile(r"""\s*[#;].*$""")
MOST_BYTES = 1_000_000
_DEEPEST = 10  # git's own limit for files that include files


def entries(config: Path) -> Iterator[tuple[str, str]]:
    """``section.key`` in lower case, without a subsection, and its value; nothing if it cannot be read."""
    try:
        text = read_plain(config, MOST_BYTES).decode(errors="replace")
    except OSError:
        return
    section = ""
    for line in text.replace("\\\n", "").splitlines():
        if header := _SECTION.match(line):
            section = header[1].lower()
            line = line[header.end() :]
        if entry := _ENTRY.fullmatch(line):
            yield f"{section}.{entry[1].lower()}", _value(entry[2])


def included(config: Path, deepest: int = _DEEPEST) -> Iterator[Path]:
    """Files that ``config`` includes, whatever the condition, and theirs; also those that are not there."""
    for key, value in entries(config):
        if key in ("include.path", "includeif.path") and value:
            path = config.parent / Path(value).expanduser()
            yield path
            if deepest:
                yield from included(path, deepest - 1)


def _value(written: str) -> str:
    written = written.strip()
    if written.startswith('"'):
        return written[1:].partition('"')[0]
    return _COMMENT.sub("", written)
