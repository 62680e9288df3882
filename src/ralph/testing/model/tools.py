"""From "run this command" to the tool that this agent offers for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ralph.testing.model.script import Record, Step, WriteFile
from ralph.values import dataclass


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as a request declares it. ``takes_text``: its input is plain text, not an object."""

    name: str
    schema: Mapping[str, Any]
    takes_text: bool = False
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of the model."""

    tool: Tool
    input: Mapping[str, Any] | str

    @property
    def arguments(self) -> str:
        return self.input if isinstance(self.input, str) else json.dumps(self.input)


_SHELLS: Final[Mapping[str, Callable[[str], Mapping[str, Any] | str]]] = {
    "Bash": lambda command: {"command": command},
    "bash": lambda command: {"command": command},
    "run_shell_command": lambda command: {"command": command},
    "exec_command": lambda command: {"cmd": command},
    "shell_command": lambda command: {"command": command},
    "shell": lambda command: {"command": ["bash", "-c", command]},
    # codex's newest shell is a JavaScript cell that may call the others
    "exec": lambda command: f"text(await tools.exec_command({json.dumps({'cmd': command})}));",
}

_WRITERS: Final[Mapping[str, Callable[[WriteFile], Mapping[str, Any] | str]]] = {
    "Write": lambda file: {"file_path": file.path, "content": file.content},
    "write_file": lambda file: {"file_path": file.path, "content": file.content},
    "write": lambda file: {"filePath": file.path, "content": file.content},
    "create": lambda file: {"path": file.path, "file_text": file.content},
    "apply_patch": lambda file: _patch(file),
}

_FILLING: Final[Mapping[str, Any]] = {
    "boolean": False,
    "integer": 10,
    "number": 10,
    "array": [],
    "object": {},
}


def call_of(step: Step, offered: Sequence[Tool]) -> Call | None:
    """The call that a step makes with what the agent offers; a tool it lacks is called all the same."""
    tools = {tool.name: tool for tool in reversed(offered)}
    if step.tool is not None:
        return Call(tools.get(step.tool.name, Tool(step.tool.name, {})), step.tool.input)
    if step.shell is not None:
        for name, given in _SHELLS.items():
            if name in tools:
                return _filled(tools[name], given(step.shell))
        return Call(Tool("Bash", {}), {"command": step.shell})
    if step.write is not None:
        for name, written in _WRITERS.items():
            if name in tools:
                return _filled(tools[name], written(step.write))
        return Call(Tool("Write", {}), {"file_path": step.write.path, "content": step.write.content})
    return None


def _filled(tool: Tool, given: Mapping[str, Any] | str) -> Call:
    """Agents refuse a call that lacks something their schema requires, such as a description."""
    if isinstance(given, str):
        return Call(tool, given)
    properties: Record = tool.schema.get("properties") or {}
    required = {
        name: _FILLING.get(str((properties.get(name) or {}).get("type")), "scripted")
        for name in tool.schema.get("required") or ()
    }
    return Call(tool, {**required, **given})


def _patch(file: WriteFile) -> str:
    lines = [f"+{line}" for line in file.content.splitlines()]
    return "\n".join(["*** Begin Patch", f"*** Add File: {file.path}", *lines, "*** End Patch"])
