"""The hostile agent: whatever name it is installed under, it plays the act that lies on its stage.

    python agent.py STAGE NAME ARGUMENTS...

STAGE is a folder outside the project. ``act.json`` there says what to do in the working folder and how to speak;
every launch adds a line to ``launches.jsonl``, so that a judge needs no word of the harness. It speaks the dialect that
its name and its options ask for. Standard library only: harnesses start it with whatever environment they like.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

VERSIONS = {"claude": "2.1.325 (Claude Code)", "codex": "codex-cli 0.166.0"}
STDIN_SECONDS = 3.0
PROMPT_CHARS = 200_000


def main(stage: Path, name: str, arguments: list[str]) -> int:
    if {"--version", "-v"} & set(arguments[:1]):
        print(VERSIONS.get(name, "1.0.0"))
        return 0
    if not arguments or arguments[0] in ("--help", "help", "mcp", "config", "auth", "login", "update"):
        print(f"usage: {name} -p PROMPT --output-format stream-json --max-turns N --resume ID")
        return 0
    voice = Voice(name, arguments)
    prompt = voice.hear()
    act = json.loads((stage / "act.json").read_text())
    number = note_launch(stage, name, arguments, prompt)
    voice.begin()
    chosen = stage / f"voice-{number}"
    environment = {**os.environ, "here": str(stage), "number": str(number), "voice": str(chosen)}
    environment["resumed"] = "yes" if {"--resume", "-r", "--continue", "-c"} & set(arguments) else ""
    for script in (act["shell"], act["commit"]):
        output = None if script is act["shell"] and act["floods"] else subprocess.DEVNULL
        perform(script, environment, output)
    time.sleep(act["seconds"])
    words = act["voices"][chosen.read_text().strip() if chosen.exists() else "usual"]
    voice.resets = int((stage / "resets").read_text()) if (stage / "resets").exists() else 0
    known = {"{prompt}": prompt, "{clock}": clock(voice.resets), "{chat}": CHAT[number % len(CHAT)]}
    code = voice.speak([(way, fill(text, known)) for way, text in words])
    if act["after"]:
        sys.stdout.flush()
        subprocess.run(["sh", "-c", act["after"]], env={**environment, "agent": str(os.getpid())})
    return code


def fill(text: str, known: dict[str, str]) -> str:
    for name, value in known.items():
        text = text.replace(name, value)
    return text


def perform(script: str, environment: dict[str, str], output: int | None) -> None:
    """A signal goes on to what it runs, which may be deaf to it; then the agent ends too."""
    child = subprocess.Popen(
        ["sh", "-c", script], env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
    )

    def pass_on(number: int, _frame: object) -> None:
        os.kill(child.pid, number)
        os.waitpid(child.pid, 0)
        os._exit(128 + number)

    before = {each: signal.signal(each, pass_on) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    child.wait()
    for each, handler in before.items():
        signal.signal(each, handler)


def note_launch(stage: Path, name: str, arguments: list[str], prompt: str) -> int:
    """Its number; two that begin at once get two numbers."""
    number = 1
    while True:
        try:
            os.close(os.open(stage / f"launch-{number}", os.O_CREAT | os.O_EXCL))
            break
        except FileExistsError:
            number += 1
    line = {
        "number": number,
        "at": time.time(),
        "pid": os.getpid(),
        "as": name,
        "arguments": [each[:200] for each in arguments],
        "cwd": str(Path.cwd()),
        "prompt": prompt[:200],
    }
    (stage / f"prompt-{number}").write_text(prompt[:PROMPT_CHARS])
    with (stage / "launches.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
    return number


class Voice:
    """What it says, in the dialect asked for: plain text, one JSON object, or the events of claude, codex or opencode."""

    def __init__(self, name: str, arguments: list[str]) -> None:
        self.arguments = arguments
        joined = " ".join(arguments)
        self.dialect = "plain"
        if name == "claude" and "stream-json" in joined:
            self.dialect = "claude"
        elif name == "claude" and "--output-format json" in joined:
            self.dialect = "object"
        elif name == "codex" and "--json" in arguments:
            self.dialect = "codex"
        elif name == "opencode" and "json" in arguments:
            self.dialect = "opencode"
        self.converses = "--input-format" in arguments
        self.said: list[str] = []
        self.resets = 0

    def hear(self) -> str:
        """The prompt: of a conversation, from the arguments, or from standard input if somebody is writing there."""
        if self.converses:
            return self.converse()
        given = [each for each in self.arguments if " " in each or "\n" in each]
        if given:
            return given[-1]
        ready, _, _ = select.select([sys.stdin], [], [], STDIN_SECONDS)
        return sys.stdin.read() if ready else ""

    def converse(self) -> str:
        """As the SDKs do: requests for control are granted until a person says something."""
        for line in sys.stdin:
            message = json.loads(line)
            if message.get("type") == "control_request":
                answer = {
                    "subtype": "success",
                    "request_id": message["request_id"],
                    "response": {"commands": []},
                }
                self.emit({"type": "control_response", "response": answer})
            elif message.get("type") == "user":
                content = message["message"]["content"]
                return content if isinstance(content, str) else json.dumps(content)
        return ""

    def emit(self, event: dict[str, Any]) -> None:
        print(json.dumps(event), flush=True)

    def begin(self) -> None:
        if self.dialect == "claude":
            self.emit(
                {
                    "type": "system",
                    "subtype": "init",
                    "session_id": SESSION,
                    "model": "m",
                    "tools": ["Bash"],
                    "cwd": str(Path.cwd()),
                }
            )
        elif self.dialect == "codex":
            self.emit({"type": "thread.started", "thread_id": SESSION})
            self.emit({"type": "turn.started"})

    def speak(self, words: list[tuple[str, str]]) -> int:
        failed = ""
        for way, text in words:
            if way in ("error", "limit"):
                failed = text
                if way == "limit" and self.dialect == "claude":
                    limit = {"status": "rejected", "resetsAt": self.resets, "rateLimitType": "five_hour"}
                    self.emit({"type": "rate_limit_event", "rate_limit_info": limit})
            elif way == "stderr":
                print(text, file=sys.stderr, flush=True)
            else:
                self.say(way, text)
        self.end(failed)
        return 1 if failed else 0

    def say(self, way: str, text: str) -> None:
        if self.dialect == "claude":
            block: dict[str, Any] = {"type": "text", "text": text}
            role = "assistant"
            if way == "thinking":
                block = {"type": "thinking", "thinking": text, "signature": "s"}
            elif way == "tool":
                self.emit(
                    claude_message(
                        "assistant",
                        {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "cat notes"}},
                    )
                )
                block, role = {"type": "tool_result", "tool_use_id": "t1", "content": text}, "user"
            self.emit(claude_message(role, block))
        elif self.dialect == "codex":
            kind = {"thinking": "reasoning", "tool": "command_execution"}.get(way, "agent_message")
            item = {
                "id": "i",
                "type": kind,
                "text": text,
                "aggregated_output": text,
                "command": "cat notes",
                "exit_code": 0,
            }
            self.emit({"type": "item.completed", "item": item})
        elif self.dialect == "opencode":
            self.emit({"type": "text", "part": {"type": "text", "text": text}})
        elif self.dialect == "plain" and way not in ("thinking", "tool"):
            print(text, flush=True)  # as `claude --print`: only what it says itself
        if way == "text":
            self.said.append(text)

    def end(self, failed: str) -> None:
        result = failed or (self.said[-1] if self.said else "")
        usage = {"input_tokens": 1000, "output_tokens": 50}
        if self.dialect in ("claude", "object"):
            self.emit(
                {
                    "type": "result",
                    "subtype": "success",
                    "is_error": bool(failed),
                    "result": result,
                    "session_id": SESSION,
                    "num_turns": 1,
                    "duration_ms": 1000,
                    "duration_api_ms": 900,
                    "total_cost_usd": 0.01,
                    "usage": usage,
                    "permission_denials": [],
                }
            )
        elif self.dialect == "codex":
            self.emit(
                {"type": "turn.failed", "error": {"message": failed}}
                if failed
                else {"type": "turn.completed", "usage": usage}
            )
        elif self.dialect == "opencode":
            self.emit(
                {"type": "error", "error": {"message": failed}}
                if failed
                else {"type": "step_finish", "part": {"reason": "stop"}}
            )
        elif failed:
            print(failed, flush=True)


CHAT = (
    "I read the module and changed what the function returns.",
    "Next came the file beside it, where the same constant was wrong.",
    "The third one took a moment: I compared it with its test first.",
    "Nothing surprising this time; a small edit, then a look at the diff.",
    "I went through the remaining files in alphabetical order.",
)
"""So that no two sessions in a row sound alike: some harnesses take that for a loop."""
SESSION = "11111111-2222-4333-8444-555555555555"


def claude_message(role: str, block: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": role, "content": [block]}
    if role == "assistant":
        message |= {
            "id": "m1",
            "type": "message",
            "model": "m",
            "stop_reason": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    return {"type": role, "message": message, "parent_tool_use_id": None, "session_id": SESSION}


def clock(second: int) -> str:
    """As claude writes it: 7:56am (UTC), the first full minute after that."""
    when = time.gmtime(second + 59)
    return f"{when.tm_hour % 12 or 12}:{when.tm_min:02}{'am' if when.tm_hour < 12 else 'pm'} (UTC)"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))
