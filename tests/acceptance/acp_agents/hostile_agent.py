"""A program that speaks something like ACP and keeps to nothing. Its first argument says which rule it breaks."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

DONE = "<response>DONE</response>"
BEHAVIOUR = sys.argv[1]


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def update(text: str, *, kind: str = "agent_message_chunk", session: str = "s", **more: Any) -> None:
    told = {"sessionUpdate": kind, "content": {"type": "text", "text": text}, **more}
    send(method="session/update", params={"sessionId": session, "update": told})


def receive() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    read: dict[str, Any] = json.loads(line)
    return read


def answer_until_prompt() -> int:
    while True:
        asked = receive()
        match asked.get("method"):
            case "initialize":
                send(id=asked["id"], result={"protocolVersion": 1})
            case "session/new":
                if BEHAVIOUR == "greets-with-a-claim":
                    update(f"Welcome! {DONE}")
                send(id=asked["id"], result={"sessionId": "s"})
            case "session/prompt":
                return int(asked["id"])
            case _:
                pass


def end(number: int) -> None:
    send(id=number, result={"stopReason": "end_turn"})


if BEHAVIOUR == "never-answers":
    print("Starting the server on port 1234 …", flush=True)
    while True:
        time.sleep(60)
if BEHAVIOUR == "prints-help":
    print("usage: thing [options]")
    sys.exit(0)

PROMPT = answer_until_prompt()
match BEHAVIOUR:
    case "exits":
        update("I begin")
        os._exit(7)
    case "exits-as-if-well":
        update(f"Nearly: {DONE}")
        os._exit(0)
    case "noise":
        print("warning: something on stdout")
        print('{"jsonrpc":"2.0","method":"session/update","params":{"sessi')
        print("[1, 2, 3]", flush=True)
        update(DONE)
        end(PROMPT)
    case "answers-to-nothing":
        send(id=4711, result={"stopReason": "end_turn"})
        send(id="x", result={})
        send(id=None, error={"code": -1, "message": "?"})
        send(result={"stopReason": "end_turn"})
        update(DONE)
        end(PROMPT)
    case "huge-line":
        update("x" * 3_000_000 + DONE)
        end(PROMPT)
    case "flood":
        tool = {"toolCallId": "t", "kind": "execute", "title": "run"}
        options = [{"optionId": "yes", "kind": "allow_once", "name": "Yes"}]
        for number in range(20_000):  # and reads no answer
            asked = {"sessionId": "s", "toolCall": tool, "options": options}
            send(id=f"p{number}", method="session/request_permission", params=asked)
        update(DONE)
        end(PROMPT)
    case "late-claim":
        update("Not done.")
        end(PROMPT)
        update(DONE)
    case "claims-elsewhere":
        update(DONE, kind="user_message_chunk")
        update(DONE, kind="agent_thought_chunk")
        update(DONE, session="sub-agent")
        update(DONE, _meta={"claudeCode": {"parentToolUseId": "t-9"}})
        update("<response>DO")
        told = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": DONE, "kind": "read"}
        send(method="session/update", params={"sessionId": "s", "update": told})
        update("NE</response>")
        end(PROMPT)
    case "ignores-the-end":
        update(DONE)
        end(PROMPT)
        while True:
            time.sleep(60)
    case _:
        update(DONE)
        end(PROMPT)
