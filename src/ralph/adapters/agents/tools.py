"""The tool calls of a session: what each is about, in one line, and which are running."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Raw

from ralph.adapters.agents.excerpts import one_line
from ralph.adapters.agents.json_lines import UNREADABLE

_InputDecoder = Callable[[Raw | bytes], Any]


def _only(field: str) -> _InputDecoder:
    """Reads one string field of a tool's input; the others (a file's content) are skipped, not decoded."""
    struct = msgspec.defstruct("Input", [("value", str, "")], rename={"value": field}, gc=False)
    return msgspec.json.Decoder(struct).decode


_command, _file_path, _path, _pattern = _only("command"), _only("file_path"), _only("path"), _only("pattern")
_description, _url, _query = _only("description"), _only("url"), _only("query")

_SHOWN: Final[dict[str, _InputDecoder]] = {
    "Bash": _command,
    "Read": _file_path,
    "Write": _file_path,
    "Edit": _file_path,
    "MultiEdit": _file_path,
    "NotebookEdit": _only("notebook_path"),
    "Grep": _pattern,
    "Glob": _pattern,
    "LS": _path,
    "Task": _description,
    "Agent": _description,
    "WebFetch": _url,
    "WebSearch": _query,
    "ToolSearch": _query,
    "Skill": _only("skill"),
    # amp's names
    "edit_file": _path,
    "create_file": _path,
    "read_web_page": _url,
    "web_search": _query,
    # gemini's and qwen's
    "run_shell_command": _command,
    "read_file": _file_path,
    "write_file": _file_path,
    "replace": _file_path,
    "grep_search": _pattern,
    "web_fetch": _url,
    # opencode's and copilot's
    "bash": _command,
    "grep": _pattern,
    "webfetch": _url,
    "task": _description,
    "view": _path,
    "create": _path,
}
_decode_any_input = msgspec.json.Decoder(dict[str, Any]).decode
_MAX_SHORT_CHARS = 200


def tool_summary(name: str, arguments: Raw | bytes) -> str:
    """A tool's input in one line: the field known to matter, else the first short string in it."""
    decode = _SHOWN.get(name)
    try:
        if decode is not None and (text := decode(arguments).value):
            return one_line(text)
    except UNREADABLE:
        pass  # an input of another shape: take what is there
    try:
        return first_short_string(_decode_any_input(arguments))
    except UNREADABLE:
        return ""


def first_short_string(values: Mapping[str, object]) -> str:
    for value in values.values():
        if isinstance(value, str) and value and len(value) <= _MAX_SHORT_CHARS:
            return one_line(value)
    return ""


MAX_OPEN_TOOLS = 4_096
"""Calls whose end never came are forgotten beyond this, oldest first."""


class OpenTools:
    """Call → the tool's name, in bounded memory."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def open(self, identity: str, name: str) -> None:
        if len(self._names) >= MAX_OPEN_TOOLS:
            # Half at once: taking single keys from the front of a dict gets slower with every one.
            for oldest in list(self._names)[: MAX_OPEN_TOOLS // 2]:
                del self._names[oldest]
        self._names[identity] = name

    def close(self, identity: str) -> str:
        """The tool's name; empty if no such call is known."""
        return self._names.pop(identity, "")
