"""An agent program that plays a script instead of asking a model. Standard library only.

It is a real child process: it reads the prompt from stdin, edits real files, runs real commands, and speaks the stream
format of the agent whose flags it is given (claude's ``stream-json``, codex's ``--json``, plain text). The demo uses
it; tests put it on PATH as ``claude``, ``codex`` or ``amp``.

    python -m ralph.testing.fake_agent_cli --script FILE [--as claude|codex|amp|plain] [flags of that agent…]

The script is JSON: ``{"sessions": [[step, …], …], "commits": ["message", …]}``. Each launch plays the next session,
the last one again and again; asked for a commit message, it answers with the next of ``commits``.

Steps, one key each:
    {"say": TEXT}  {"think": TEXT}  {"write": {"path": …, "content": …}}  {"run": SHELL COMMAND}
    {"todo": [[TEXT, "pending"|"in_progress"|"completed"], …]}  {"print": RAW LINE}  {"stderr": TEXT}
    {"sleep": SECONDS}  {"exit": CODE}  {"echo_prompt": true}  {"touch": FILE}
"""

from __future__ import annotations

import json
import os
import sys

# ruff: noqa: PTH103, PTH110, PTH120, PTH122, PTH123
# Tests start it thousands of times: it imports little, and what not every session needs where it is needed.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Record = dict[str, Any]

COST_USD = 0.0123
INPUT_TOKENS = 1200
OUTPUT_TOKENS = 340
CACHE_READ_TOKENS = 8000


class ClaudeVoice:
    """claude and amp: ``system/init``, ``assistant``, ``user``, ``result``."""

    def __init__(self) -> None:
        self._tools = 0
        self._last = ""

    def open(self) -> None:
        session = {"session_id": f"fake-{os.getpid()}", "model": "scripted"}
        self._emit({"type": "system", "subtype": "init", **session})

    def say(self, text: str) -> None:
        self._last = text
        self._assistant({"type": "text", "text": text})

    def think(self, text: str) -> None:
        self._assistant({"type": "thinking", "thinking": text})

    def tool(self, name: str, given: Record) -> str:
        self._tools += 1
        identifier = f"tool_{self._tools}"
        self._assistant({"type": "tool_use", "id": identifier, "name": name, "input": given})
        return identifier

    def tool_result(self, identifier: str, output: str, *, is_error: bool) -> None:
        result = {"type": "tool_result", "tool_use_id": identifier, "content": output, "is_error": is_error}
        self._emit({"type": "user", "message": {"role": "user", "content": [result]}})

    def todo(self, items: Sequence[Sequence[str]]) -> None:
        todos = [{"content": text, "status": status, "activeForm": text} for text, status in items]
        self.tool_result(self.tool("TodoWrite", {"todos": todos}), "ok", is_error=False)

    def close(self) -> None:
        usage = {
            "input_tokens": INPUT_TOKENS,
            "output_tokens": OUTPUT_TOKENS,
            "cache_read_input_tokens": CACHE_READ_TOKENS,
            "cache_creation_input_tokens": 0,
        }
        result = {"type": "result", "subtype": "success", "is_error": False, "result": self._last}
        self._emit({**result, "total_cost_usd": COST_USD, "num_turns": 1, "usage": usage})

    def _assistant(self, block: Record) -> None:
        message = {"role": "assistant", "model": "scripted", "content": [block]}
        self._emit({"type": "assistant", "message": message, "parent_tool_use_id": None})

    def _emit(self, record: Record) -> None:
        print(json.dumps(record), flush=True)


class CodexVoice:
    """codex ``--json``: threads, turns and items."""

    def __init__(self) -> None:
        self._items = 0
        self._commands: dict[str, str] = {}

    def open(self) -> None:
        self._emit({"type": "thread.started", "thread_id": f"fake-{os.getpid()}"})
        self._emit({"type": "turn.started"})

    def say(self, text: str) -> None:
        self._completed({"type": "agent_message", "text": text})

    def think(self, text: str) -> None:
        self._completed({"type": "reasoning", "text": text})

    def tool(self, name: str, given: Record) -> str:
        self._items += 1
        identifier = f"item_{self._items}"
        self._commands[identifier] = given.get("command") or f"{name} {given.get('file_path', '')}"
        self._emit({"type": "item.started", "item": self._command(identifier, "", None, "in_progress")})
        return identifier

    def tool_result(self, identifier: str, output: str, *, is_error: bool) -> None:
        item = self._command(identifier, output, int(is_error), "failed" if is_error else "completed")
        self._emit({"type": "item.completed", "item": item})

    def todo(self, items: Sequence[Sequence[str]]) -> None:
        listed = [{"text": text, "completed": status == "completed"} for text, status in items]
        self._completed({"type": "todo_list", "items": listed})

    def close(self) -> None:
        cached = CACHE_READ_TOKENS
        usage = {"input_tokens": INPUT_TOKENS + cached, "cached_input_tokens": cached}
        self._emit({"type": "turn.completed", "usage": {**usage, "output_tokens": OUTPUT_TOKENS}})

    def _command(self, identifier: str, output: str, code: int | None, status: str) -> Record:
        item = {"id": identifier, "type": "command_execution", "command": self._commands[identifier]}
        return {**item, "aggregated_output": output, "exit_code": code, "status": status}

    def _completed(self, item: Record) -> None:
        self._items += 1
        self._emit({"type": "item.completed", "item": {"id": f"item_{self._items}", **item}})

    def _emit(self, record: Record) -> None:
        print(json.dumps(record), flush=True)


class PlainVoice:
    """Text only: what the agent says, nothing of what it does."""

    def open(self) -> None: ...

    def say(self, text: str) -> None:
        print(text, flush=True)

    def think(self, text: str) -> None: ...

    def tool(self, name: str, given: Record) -> str:
        return name

    def tool_result(self, identifier: str, output: str, *, is_error: bool) -> None: ...

    def todo(self, items: Sequence[Sequence[str]]) -> None: ...

    def close(self) -> None: ...


Voice = ClaudeVoice | CodexVoice | PlainVoice


def choose_voice(agent: str, flags: Sequence[str]) -> Voice:
    """The format that the real program uses with these flags."""
    if "stream-json" in flags or "--stream-json" in flags:
        return ClaudeVoice()
    if agent == "codex" and "--json" in flags:
        return CodexVoice()
    return PlainVoice()


def play(step: Record, voice: Voice, prompt: str) -> None:
    ((action, given),) = step.items()
    match action:
        case "say":
            voice.say(given)
        case "think":
            voice.think(given)
        case "todo":
            voice.todo(given)
        case "write":
            call = voice.tool("Write", {"file_path": given["path"], "content": given["content"]})
            os.makedirs(os.path.dirname(given["path"]) or ".", exist_ok=True)
            write(given["path"], given["content"])
            voice.tool_result(call, f"Wrote {given['path']}", is_error=False)
        case "run":
            import subprocess

            call = voice.tool("Bash", {"command": given})
            ran = subprocess.run(["sh", "-c", given], capture_output=True, text=True, check=False)
            voice.tool_result(call, ran.stdout + ran.stderr, is_error=ran.returncode != 0)
        case "touch":
            write(given, "", mode="a")
            os.utime(given)
        case "print":
            print(given, flush=True)
        case "stderr":
            print(given, file=sys.stderr, flush=True)
        case "echo_prompt":
            print(prompt, flush=True)
        case "sleep":
            import time

            time.sleep(given)
        case "exit":
            sys.exit(given)
        case _:
            sys.exit(f"fake agent: unknown step {action!r}")


def take_number(counter: str) -> int:
    """How many launches came before this one. They do not overlap, so a plain file will do."""
    number = int(read(counter)) if os.path.exists(counter) else 0
    write(counter, str(number + 1))
    return number


def read(path: str) -> str:
    with open(path) as file:
        return file.read()


def write(path: str, text: str, *, mode: str = "w") -> None:
    with open(path, mode) as file:
        file.write(text)


def is_commit_prompt(prompt: str) -> bool:
    from ralph.domain.loop.claims import COMMIT_PROMPT

    return prompt.strip() == COMMIT_PROMPT


def take(name: str, arguments: list[str], default: str = "") -> str:
    """The value of an option, which is taken out."""
    if name not in arguments[:-1]:
        return default
    at = arguments.index(name)
    _, value = arguments[at : at + 2]
    del arguments[at : at + 2]
    return value


def main(arguments: Sequence[str]) -> None:
    flags = list(arguments)
    file, agent = take("--script", flags), take("--as", flags, "claude")
    if not file:
        sys.exit("fake agent: --script FILE is missing")
    script = json.loads(read(file))
    prompt = flags[flags.index("-x") + 1] if "-x" in flags and flags[-1] != "-x" else sys.stdin.read()
    voice = choose_voice(agent, flags)
    if script.get("commits") and is_commit_prompt(prompt):
        suffix, launches = ".commits", [[{"say": message}] for message in script["commits"]]
    else:
        suffix, launches = ".sessions", script["sessions"]
    number = take_number(os.path.splitext(file)[0] + suffix)
    voice.open()
    for step in launches[min(number, len(launches) - 1)]:
        play(step, voice, prompt)
    voice.close()


if __name__ == "__main__":
    main(sys.argv[1:])
