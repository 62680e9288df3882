"""Made-up streams as claude prints them: assistant text, tool calls, tool results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

Event = dict[str, object]

SESSION = "18813941-78c8-44bc-885f-75dff03964fd"
MODEL = "claude-opus-5-5"
MEGABYTE = 1_000_000

TEXTS = (
    "Now I look at the parser.",
    "The test fails: the second branch never closes its file. I move the call into the block.\n\nThen all again.",
    "Both pass now. ✓ Next: the README, which still names the old flag.",
    """The configuration is read in three places, each with its own idea of an empty value:

1. `load()` takes it for unset
2. `merge()` takes it for a removal
3. `validate()` refuses it""",
)
CALLS: tuple[tuple[str, Event], ...] = (
    ("Read", {"file_path": "/home/user/project/src/parser.py", "offset": 40, "limit": 80}),
    ("Bash", {"command": "python -m pytest -q tests/test_parser.py 2>&1 | tail -5", "timeout": 60000}),
    ("Grep", {"pattern": "def close\\(", "path": "src", "output_mode": "content"}),
    ("Edit", {"file_path": "/home/user/project/src/parser.py", "old_string": "a\nb", "new_string": "b"}),
)
RESULTS = (
    """    41\tdef parse(path):
    42\t    rows = []
    43\t    file = open(path)
    44\t    for line in file:
    45\t        rows.append(line.split(','))
    46\t    file.close()
    47\t    return rows
""",
    "....F...\n1 failed, 7 passed in 0.31s",
    "src/parser.py:12:def close(self) -> None:\nsrc/writer.py:88:def close(self) -> None:",
    "The file /home/user/project/src/parser.py has been updated.",
)
# A file that the agent reads is usually longer than the short lines.
LONG_RESULTS = (RESULTS[0] * 12, *RESULTS[1:])
LONGEST_RESULT = RESULTS[0] * 80


def write_stream(path: Path, *, events: int, whole: bool = False) -> int:
    """A session of ``events`` events; returns its size in bytes.

    ``whole``: with everything that claude puts into a line, most of it needless. Else short lines, which
    are the harder ones: there is less to skip between the events.
    """
    with path.open("w", encoding="utf-8") as file:
        file.write(_line(_init()))
        for event in islice(_work(whole=whole), events - 2):
            file.write(_line(event))
        file.write(_line(_result(events)))
    return path.stat().st_size


def write_tool_results(path: Path, *, size: int) -> int:
    """A session that reads files of some 16 kB until it has printed ``size`` bytes; returns the size of the file."""
    name, arguments = CALLS[0]
    with path.open("w", encoding="utf-8") as file:
        file.write(_line(_init()))
        for number in count():
            identity = f"toolu_01{number:010}"
            file.write(_line(_said({"type": "tool_use", "id": identity, "name": name, "input": arguments})))
            file.write(_line(_answer(identity, LONGEST_RESULT)))
            if file.tell() >= size:
                break
        file.write(_line(_result(number)))
    return path.stat().st_size


def write_saying(path: Path, words: str) -> None:
    """A session that says this and ends."""
    path.write_text(_line(_init()) + _line(_spoken(words)) + _line(_result(3)), encoding="utf-8")


def write_long_line(path: Path, *, size: int, speaker: str, filler: str = "x") -> int:
    """A session with one message of ``size`` bytes; returns the size of the file."""
    text = "a long line " + filler
    message = _spoken(text) if speaker == "assistant" else _answer("toolu_1", text)
    before, after = _line(message).encode().split(text.encode())
    piece = text.encode() * (MEGABYTE // len(text.encode()))
    with path.open("wb") as file:
        file.write(_line(_init()).encode() + before)
        # In pieces: the writer must not need as much memory as the reader.
        for _ in range(size // len(piece)):
            file.write(piece)
        file.write(after + _line(_result(3)).encode())
    return path.stat().st_size


def write_idle(path: Path) -> None:
    """The smallest possible session."""
    write_saying(path, "Nothing to do.")


def _line(event: Event) -> str:
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")) + "\n"


def _work(*, whole: bool) -> Iterator[Event]:
    results = LONG_RESULTS if whole else RESULTS
    for number in count():
        kind = number % len(CALLS)
        name, arguments = CALLS[kind]
        identity = f"toolu_01{number:010}"
        turn = (
            _spoken(TEXTS[kind]),
            _said({"type": "tool_use", "id": identity, "name": name, "input": arguments}),
            _answer(identity, results[kind]),
        )
        for place, event in enumerate(turn):
            event["uuid"] = f"c1d30e79-e056-40af-94d7-{3 * number + place:012}"
            yield _as_printed(event) if whole else event


def _spoken(text: str) -> Event:
    return _said({"type": "text", "text": text})


def _said(block: Event) -> Event:
    message = {"role": "assistant", "model": MODEL, "content": [block]}
    return {"type": "assistant", "message": message, "parent_tool_use_id": None, "session_id": SESSION}


def _answer(identity: str, output: str) -> Event:
    block = {"tool_use_id": identity, "type": "tool_result", "content": output, "is_error": False}
    message = {"role": "user", "content": [block]}
    return {"type": "user", "message": message, "parent_tool_use_id": None, "session_id": SESSION}


def _as_printed(event: Event) -> Event:
    """With everything else that a line of claude 2.1 has."""
    message = event["message"]
    assert isinstance(message, dict)
    event["timestamp"] = "2026-11-15T05:55:38.036Z"
    if event["type"] == "assistant":
        message["id"] = f"msg_{event['uuid']}"
        message["type"] = "message"
        message["stop_reason"] = message["stop_sequence"] = message["context_management"] = None
        message["usage"] = {
            "input_tokens": 1000,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 800,
            "output_tokens": 1,
        }
        event["request_id"] = "req_468e2b0a"
    else:
        (block,) = message["content"]
        event["tool_use_result"] = {
            "stdout": block["content"],
            "stderr": "",
            "interrupted": False,
            "isImage": False,
            "noOutputExpected": False,
        }
        event["tool_result_meta"] = [
            {
                "id": block["tool_use_id"],
                "permission_decision": {"decision": "accept", "source": "config", "reason_type": "mode"},
            }
        ]
    return event


def _init() -> Event:
    return {"type": "system", "subtype": "init", "session_id": SESSION, "model": MODEL, "tools": ["Bash"]}


def _result(turns: int) -> Event:
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "num_turns": turns,
        "duration_ms": 320,
        "duration_api_ms": 300,
        "result": "The suite passes.",
        "total_cost_usd": 0.01,
        "usage": {"input_tokens": 2000, "output_tokens": 100},
        "session_id": SESSION,
    }
