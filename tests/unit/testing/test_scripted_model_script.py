"""Scripts as JSON, and the model as a program."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ralph.errors import UsageError
from ralph.testing.model import Step, StreamError, ToolCall, Usage, WriteFile
from ralph.testing.model.script import Script, steps_from_json

WAIT = 60


def test_every_field_of_a_step_can_be_given_as_json() -> None:
    steps = [
        {"text": "a", "thinking": "b", "shell": "ls", "delay": 1, "times": 3, "usage": {"output": 9}},
        {"write": {"path": "p", "content": "c"}},
        {"text": "{quoted}", "quotes": "v-[0-9]+"},
        {"tool": {"name": "n", "input": {"x": 1}}},
        {"tool": {"name": "n", "input": "raw"}},
        {"error": 429, "headers": {"retry-after": "5"}, "message": "m", "code": "c", "body": {"y": None}},
        {"stream_error": {"code": "overloaded", "message": "no room"}, "cut": True, "hang": True},
    ]
    expected = [
        Step(text="a", thinking="b", shell="ls", delay=1.0, times=3, usage=Usage(output=9)),
        Step(write=WriteFile("p", "c")),
        Step(text="{quoted}", quotes="v-[0-9]+"),
        Step(tool=ToolCall("n", {"x": 1})),
        Step(tool=ToolCall("n", "raw")),
        Step(error=429, headers={"retry-after": "5"}, message="m", code="c", body={"y": None}),
        Step(stream_error=StreamError("overloaded", "no room"), cut=True, hang=True),
    ]
    assert steps_from_json(json.dumps(steps)) == expected
    assert steps_from_json(json.dumps({"steps": steps})) == expected


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("7", "not a list of steps"),
        ("{}", "not a list of steps"),
        ("[7]", "step 1"),
        ('[{"text": "a"}, {"txet": "b"}]', "step 2: unknown key 'txet'"),
        ('[{"text": 7}]', "step 1"),
        ('[{"write": {"path": "p"}}]', "step 1"),
        ('[{"write": {"path": "p", "content": "c", "mode": 7}}]', "step 1, write: unknown key 'mode'"),
        ('[{"shell": "a", "write": {"path": "p", "content": "c"}}]', "step 1: a step has at most one"),
        ('[{"times": 0}]', "step 1: times is at least 1"),
        ('[{"delay": -1}]', "step 1: times is at least 1 and delay not negative"),
        ('[{"quotes": "("}]', "step 1: quotes is not a pattern"),
        ('[{"error": 200}]', "step 1: error is an HTTP status from 400 to 599, not 200"),
    ],
)
def test_a_wrong_script_is_told_with_its_place(text: str, told: str) -> None:
    with pytest.raises(UsageError) as error:
        steps_from_json(text)
    assert told in error.value.message


def test_a_script_without_steps_is_refused() -> None:
    with pytest.raises(UsageError, match="at least one step"):
        Script([])


def test_as_a_program_it_prints_its_address_and_plays_until_it_is_interrupted(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('[{"text": "played"}]')
    program = [sys.executable, "-m", "ralph.testing.model", str(script)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = urlsplit(process.stdout.readline().strip())
            assert address.hostname == "127.0.0.1"
            connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=WAIT)
            connection.request("POST", "/v1/messages", '{"tools": [{"name": "Bash"}]}')
            answer = json.loads(connection.getresponse().read())
            connection.close()
            process.send_signal(signal.SIGINT)
            assert process.wait(WAIT) == 0
        finally:
            process.kill()
    assert answer["content"] == [{"type": "text", "text": "played"}]


@pytest.mark.parametrize(
    ("text", "told"), [(None, "No such file"), ("[]", "at least one step"), ('[{"a": 1}]', "unknown key 'a'")]
)
def test_as_a_program_it_says_what_is_wrong_in_a_line(tmp_path: Path, text: str | None, told: str) -> None:
    script = tmp_path / "script.json"
    if text is not None:
        script.write_text(text)
    program = [sys.executable, "-m", "ralph.testing.model", str(script)]
    ran = subprocess.run(program, capture_output=True, text=True, timeout=WAIT, check=False)
    assert ran.returncode == 2
    assert told in ran.stderr
    assert "Traceback" not in ran.stderr
