"""The scripted model over real HTTP on loopback, through all four protocols."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from ralph.testing.model import ScriptedModel, Step, StreamError, ToolCall, Usage, WriteFile
from ralph.testing.model.handler import MAX_BODY_BYTES
from ralph.testing.model.server import MAX_KEPT_REQUESTS

WAIT = 60

Body = dict[str, Any]
SHELL_SCHEMA = {
    "type": "object",
    "properties": {"command": {"type": "string"}, "description": {"type": "string"}},
    "required": ["command", "description"],
}


@dataclass(frozen=True)
class Heard:
    """A streamed answer as a client of the protocol understands it."""

    text: str = ""
    tools: list[tuple[str, Any]] = field(default_factory=list)
    is_over: bool = False
    error: str = ""


@dataclass(frozen=True)
class Api:
    """How a client of one protocol asks and listens."""

    name: str
    path: str
    body: Body
    tools: Callable[[str], list[Body]]
    listen: Callable[[list[Body]], Heard]
    error_code: Callable[[Body], str]


def hear_anthropic(events: list[Body]) -> Heard:
    blocks: dict[int, Body] = {}
    over, error = False, ""
    for event in events:
        match event["type"]:
            case "content_block_start":
                blocks[event["index"]] = {**event["content_block"], "json": ""}
            case "content_block_delta":
                delta, block = event["delta"], blocks[event["index"]]
                block["text"] = block.get("text", "") + delta.get("text", "")
                block["json"] += delta.get("partial_json", "")
            case "message_stop":
                over = True
            case "error":
                error = event["error"]["type"]
            case _:
                pass
    return Heard(
        "".join(block["text"] for block in blocks.values() if block["type"] == "text"),
        [
            (block["name"], json.loads(block["json"]))
            for block in blocks.values()
            if block["type"] == "tool_use"
        ],
        over,
        error,
    )


def hear_responses(events: list[Body]) -> Heard:
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    failed = [event["response"] for event in events if event["type"] == "response.failed"]
    return Heard(
        "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta"),
        [
            (item["name"], json.loads(item["arguments"]) if "arguments" in item else item["input"])
            for item in done
            if "call_id" in item
        ],
        any(event["type"] == "response.completed" for event in events),
        failed[0]["error"]["code"] if failed else "",
    )


def hear_chat(events: list[Body]) -> Heard:
    deltas = [choice["delta"] for event in events for choice in event.get("choices", ())]
    calls = [call["function"] for delta in deltas for call in delta.get("tool_calls", ())]
    errors = [event["error"]["code"] for event in events if "error" in event]
    return Heard(
        "".join(delta.get("content") or "" for delta in deltas),
        [(call["name"], json.loads(call["arguments"])) for call in calls],
        any("usage" in event for event in events),
        errors[0] if errors else "",
    )


def hear_gemini(events: list[Body]) -> Heard:
    candidates = [candidate for event in events for candidate in event.get("candidates", ())]
    parts = [part for candidate in candidates for part in candidate["content"]["parts"]]
    errors = [event["error"]["status"] for event in events if "error" in event]
    return Heard(
        "".join(part.get("text", "") for part in parts if not part.get("thought")),
        [
            (part["functionCall"]["name"], part["functionCall"]["args"])
            for part in parts
            if "functionCall" in part
        ],
        any("finishReason" in candidate for candidate in candidates),
        errors[0] if errors else "",
    )


APIS = [
    Api(
        "anthropic",
        "/v1/messages?beta=true",
        {"model": "m", "stream": True, "messages": []},
        lambda name: [{"name": name, "input_schema": SHELL_SCHEMA}],
        hear_anthropic,
        lambda body: str(body["error"]["type"]),
    ),
    Api(
        "responses",
        "/v1/responses",
        {"model": "m", "stream": True, "input": []},
        lambda name: [{"type": "function", "name": name, "parameters": SHELL_SCHEMA}],
        hear_responses,
        lambda body: str(body["error"]["code"]),
    ),
    Api(
        "chat",
        "/v1/chat/completions",
        {"model": "m", "stream": True, "messages": []},
        lambda name: [{"type": "function", "function": {"name": name, "parameters": SHELL_SCHEMA}}],
        hear_chat,
        lambda body: str(body["error"]["code"]),
    ),
    Api(
        "gemini",
        "/v1beta/models/m:streamGenerateContent?alt=sse",
        {"contents": []},
        lambda name: [{"functionDeclarations": [{"name": name, "parametersJsonSchema": SHELL_SCHEMA}]}],
        hear_gemini,
        lambda body: str(body["error"]["status"]),
    ),
]


@pytest.fixture(params=APIS, ids=lambda api: api.name)
def api(request: pytest.FixtureRequest) -> Api:
    given = request.param
    assert isinstance(given, Api)
    return given


def post(model: ScriptedModel, path: str, data: bytes, **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", model.port, timeout=WAIT)
    try:
        connection.request("POST", path, data, {"content-type": "application/json", **headers})
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def ask(model: ScriptedModel, api: Api, tool: str = "Bash", **more: Any) -> list[Body]:
    """A request of the work, and the events of its answer."""
    body = {**api.body, "tools": api.tools(tool), **more}
    status, headers, data = post(model, api.path, json.dumps(body).encode())
    assert status == 200, data
    assert headers["content-type"] == "text/event-stream"
    return events_in(data)


def events_in(data: bytes) -> list[Body]:
    lines = [line.removeprefix("data: ") for line in data.decode().splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def test_text_is_said_in_every_protocol(api: Api) -> None:
    with ScriptedModel([Step(text="Grüße, all is done.", thinking="hm")]) as model:
        assert api.listen(ask(model, api)) == Heard("Grüße, all is done.", [], True)


def test_a_command_becomes_a_call_of_the_tool_that_the_agent_offers(api: Api) -> None:
    with ScriptedModel([Step(shell="make test", text="I try.")]) as model:
        heard = api.listen(ask(model, api, "run_shell_command"))
    assert heard == Heard(
        "I try.", [("run_shell_command", {"command": "make test", "description": "scripted"})], True
    )


def test_a_file_and_a_literal_tool_are_called(api: Api) -> None:
    with ScriptedModel(
        [Step(write=WriteFile("/p/a", "text")), Step(tool=ToolCall("Anything", {"x": [1]}))]
    ) as model:
        (written,) = api.listen(ask(model, api, "write_file")).tools
        assert written[0] == "write_file"
        assert written[1] | {"file_path": "/p/a", "content": "text"} == written[1]
        assert api.listen(ask(model, api)).tools == [("Anything", {"x": [1]})]


def test_steps_are_played_in_order_and_the_last_one_again_and_again(api: Api) -> None:
    with ScriptedModel([Step(text="a", times=2), Step(text="b")]) as model:
        assert [api.listen(ask(model, api)).text for _ in range(5)] == ["a", "a", "b", "b", "b"]


@pytest.mark.parametrize(
    ("quotes", "said"),
    [("r[a-z]+_.hell", "<run_shell>"), ("run_([a-z]+)_command", "<shell>"), ("nothing like it", "<>")],
)
def test_an_answer_can_quote_the_request(api: Api, quotes: str, said: str) -> None:
    with ScriptedModel([Step(text="<{quoted}>", quotes=quotes)]) as model:
        assert api.listen(ask(model, api, "run_shell_command")).text == said


def test_a_request_without_tools_is_beside_the_work_and_takes_no_step(api: Api) -> None:
    with ScriptedModel([Step(text="the work")]) as model:
        _, _, data = post(model, api.path, json.dumps(api.body).encode())
        assert api.listen(events_in(data)).text == "side answer"
        assert api.listen(ask(model, api)).text == "the work"
        assert [request.is_side for request in model.requests] == [True, False]
        (main,) = model.main_requests
    assert main.protocol == api.name


@pytest.mark.parametrize("status", [401, 429, 500, 529])
def test_an_error_has_its_status_headers_and_the_words_of_the_protocol(api: Api, status: int) -> None:
    step = Step(error=status, headers={"retry-after": "7200"}, message="too much", code="my_code")
    with ScriptedModel([step]) as model:
        body = {**api.body, "tools": api.tools("Bash")}
        answered, headers, data = post(model, api.path, json.dumps(body).encode())
    assert answered == status
    assert headers["retry-after"] == "7200"
    assert "too much" in data.decode()
    assert api.error_code(json.loads(data)) == "my_code"


def test_an_error_may_have_a_body_of_its_own(api: Api) -> None:
    with ScriptedModel([Step(error=429, body={"spent": True})]) as model:
        body = {**api.body, "tools": api.tools("Bash")}
        _, _, data = post(model, api.path, json.dumps(body).encode())
    assert json.loads(data) == {"spent": True}


def test_an_error_may_come_after_the_status_200(api: Api) -> None:
    with ScriptedModel([Step(stream_error=StreamError("overloaded", "no room"))]) as model:
        heard = api.listen(ask(model, api))
    assert heard.error == "overloaded"
    assert not heard.is_over


def test_a_cut_breaks_the_line_in_the_middle_of_the_text(api: Api) -> None:
    with ScriptedModel([Step(text="first second", cut=True)]) as model:
        body = {**api.body, "tools": api.tools("Bash")}
        with pytest.raises(http.client.IncompleteRead) as broken:
            post(model, api.path, json.dumps(body).encode())
    heard = api.listen(events_in(broken.value.partial))
    assert heard == Heard("first ")


@pytest.mark.parametrize("step", [Step(hang=True), Step(text="first second", hang=True)])
def test_a_model_that_hangs_lets_go_when_it_is_closed(api: Api, step: Step) -> None:
    asked = threading.Event()
    outcome: list[str] = []

    def client() -> None:
        body = {**api.body, "tools": api.tools("Bash")}
        asked.set()
        try:
            post(model, api.path, json.dumps(body).encode())
            outcome.append("answered")
        except (http.client.HTTPException, ConnectionError):
            outcome.append("broken")

    with ScriptedModel([step]) as model:
        thread = threading.Thread(target=client)
        thread.start()
        assert asked.wait(WAIT)
    thread.join(WAIT)
    assert not thread.is_alive()
    assert outcome == ["broken"]


def test_a_delay_is_only_a_delay(api: Api) -> None:
    with ScriptedModel([Step(text="late", delay=0.05)]) as model:
        assert api.listen(ask(model, api)).text == "late"


def test_usage_is_reported(api: Api) -> None:
    with ScriptedModel([Step(text="x", usage=Usage(input=4321, output=765))]) as model:
        events = json.dumps(ask(model, api))
    assert "4321" in events
    assert "765" in events


@pytest.mark.parametrize(
    ("path", "body", "found"),
    [
        ("/v1/messages", {"tools": [{"name": "Bash"}]}, lambda whole: whole["content"][0]["text"]),
        (
            "/v1/responses",
            {"tools": [{"type": "function", "name": "shell"}]},
            lambda whole: whole["output"][0]["content"][0]["text"],
        ),
        (
            "/chat/completions",
            {"tools": [{"function": {"name": "bash"}}]},
            lambda whole: whole["choices"][0]["message"]["content"],
        ),
        (
            "/v1beta/models/m:generateContent",
            {"tools": [{"functionDeclarations": [{"name": "x"}]}]},
            lambda whole: "".join(part["text"] for part in whole["candidates"][0]["content"]["parts"]),
        ),
    ],
)
def test_an_answer_may_be_whole(path: str, body: Body, found: Callable[[Body], str]) -> None:
    with ScriptedModel([Step(text="all at once")]) as model:
        status, _, data = post(model, path, json.dumps(body).encode())
    assert (status, found(json.loads(data))) == (200, "all at once")


def test_codex_is_given_its_shells_as_they_are() -> None:
    """A function inside a name space, and a tool that takes JavaScript instead of an object."""
    api = APIS[1]
    inside = [{"type": "namespace", "name": "box", "tools": [{"type": "function", "name": "exec_command"}]}]
    cell = [{"type": "custom", "name": "exec"}]
    with ScriptedModel([Step(shell="ls")]) as model:
        events = ask(model, api, tools=inside)
        item = next(event["item"] for event in events if event["type"] == "response.output_item.done")
        assert (item["namespace"], json.loads(item["arguments"])) == ("box", {"cmd": "ls"})
        ((name, script),) = api.listen(ask(model, api, tools=cell)).tools
    assert name == "exec"
    assert 'exec_command({"cmd": "ls"})' in script


def test_tokens_are_counted_and_models_listed() -> None:
    with ScriptedModel([Step(text="x")]) as model:
        _, _, counted = post(model, "/v1/messages/count_tokens", b'{"messages": []}')
        _, _, total = post(model, "/v1beta/models/m:countTokens", b"{}")
        connection = http.client.HTTPConnection("127.0.0.1", model.port, timeout=WAIT)
        connection.request("GET", "/v1/models?limit=1")
        models = json.loads(connection.getresponse().read())
        connection.close()
        assert model.requests == ()
    assert json.loads(counted)["input_tokens"] > 0
    assert json.loads(total)["totalTokens"] > 0
    assert models["data"][0]["id"] == "scripted"


@pytest.mark.parametrize(
    ("path", "data", "headers", "status"),
    [
        ("/nowhere", b"{}", {}, 404),
        ("/v1/messages", b"{", {}, 400),
        ("/v1/messages", b"[]", {}, 400),
        ("/v1/messages", b"\xff", {}, 400),
        ("/v1/messages", b"[" * 100_000, {}, 400),
        ("/v1/messages", b"not gzip", {"content-encoding": "gzip"}, 400),
        ("/v1/messages", gzip.compress(b" " * (MAX_BODY_BYTES + 1)), {"content-encoding": "gzip"}, 413),
        ("/v1/messages", b"{}", {"content-encoding": "zstd"}, 415),
    ],
)
def test_a_request_that_cannot_be_read_is_refused(
    path: str, data: bytes, headers: dict[str, str], status: int
) -> None:
    with ScriptedModel([Step(text="x")]) as model:
        answered, _, body = post(model, path, data, **headers)
        assert model.requests == ()
    assert answered == status
    assert json.loads(body)["error"]["message"]


def test_a_body_too_large_is_refused_before_it_is_read() -> None:
    with (
        ScriptedModel([Step(text="x")]) as model,
        socket.create_connection(("127.0.0.1", model.port), WAIT) as line,
    ):
        line.sendall(b"POST /v1/messages HTTP/1.1\r\ncontent-length: 999999999999\r\n\r\n")
        assert b" 413 " in line.recv(100)


def test_packed_and_chunked_requests_are_understood() -> None:
    body = json.dumps({"tools": [{"name": "Bash"}], "note": "found"}).encode()
    with ScriptedModel([Step(text="x")]) as model:
        post(model, "/v1/messages", gzip.compress(body), **{"content-encoding": "gzip"})
        connection = http.client.HTTPConnection("127.0.0.1", model.port, timeout=WAIT)
        connection.request("POST", "/v1/messages", iter([body[:9], body[9:]]), encode_chunked=True)
        connection.getresponse().read()
        connection.close()
        assert [json.loads(request.text)["note"] for request in model.requests] == ["found", "found"]


def test_only_the_newest_requests_are_kept() -> None:
    body = json.dumps({"tools": [{"name": "Bash"}], "stream": False})
    with ScriptedModel([Step(text="x")]) as model:
        connection = http.client.HTTPConnection("127.0.0.1", model.port, timeout=WAIT)
        for _ in range(MAX_KEPT_REQUESTS + 5):
            connection.request("POST", "/v1/messages", body)
            connection.getresponse().read()
        connection.close()
        assert len(model.requests) == MAX_KEPT_REQUESTS


def test_many_ask_at_once_and_each_gets_a_step_of_its_own() -> None:
    api = APIS[0]
    heard: list[str] = []

    def client() -> None:
        heard.append(api.listen(ask(model, api)).text)

    with ScriptedModel([Step(text=str(number)) for number in range(20)]) as model:
        threads = [threading.Thread(target=client) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT)
    assert sorted(heard, key=int) == [str(number) for number in range(20)]


def test_it_is_heard_on_loopback_only() -> None:
    with ScriptedModel([Step(text="x")]) as model:
        assert model.url == f"http://127.0.0.1:{model.port}"
