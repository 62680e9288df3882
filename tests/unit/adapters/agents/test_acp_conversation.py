"""The ACP state machine: what it says, what it makes of answers, and that nothing it says breaks the protocol's schema."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from acp import schema
from hypothesis import given
from hypothesis import strategies as st

from ralph.adapters.agents.acp.conversation import NO_ANSWER, UNSUITABLE, AcpConversation, Wanted
from ralph.adapters.agents.faults import INTERRUPTED
from ralph.domain.agent.events import (
    NO_RESULT,
    AgentEvent,
    ErrorReported,
    Notice,
    Reasoning,
    SessionStarted,
    Text,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    Unknown,
    Usage,
)
from ralph.domain.agent.options import Permissions
from ralph.domain.agent.transcript import Transcript

REQUESTS: dict[str, Any] = {
    "initialize": schema.InitializeRequest,
    "authenticate": schema.AuthenticateRequest,
    "session/new": schema.NewSessionRequest,
    "session/resume": schema.ResumeSessionRequest,
    "session/set_mode": schema.SetSessionModeRequest,
    "session/set_config_option": schema.SetSessionConfigOptionSelectRequest,
    "session/prompt": schema.PromptRequest,
    "session/cancel": schema.CancelNotification,
}
MODES = {
    "currentModeId": "x",
    "availableModes": [{"id": "default", "name": "d"}, {"id": "p#plan", "name": "p"}],
}


class Peer:
    """The agent's side, by hand: answers what is asked, checks each message against the protocol's schema."""

    def __init__(self, **wanted: Any) -> None:
        given = {"prompt": "make x", "cwd": "/project", "name": "goose", **wanted}
        self.conversation = AcpConversation(Wanted(**given))
        self.events: list[AgentEvent] = []
        self.asked: list[dict[str, Any]] = []
        self.listen()

    def listen(self) -> None:
        for line in self.conversation.outgoing().splitlines():
            message = json.loads(line)
            if "method" in message and message["method"] in REQUESTS:
                REQUESTS[message["method"]].model_validate(message["params"])
            elif "result" in message:
                schema.RequestPermissionResponse.model_validate(message["result"])
            self.asked.append(message)

    @property
    def last(self) -> dict[str, Any]:
        return self.asked[-1]

    def send(self, **message: Any) -> Sequence[AgentEvent]:
        events = self.conversation.parse([json.dumps({"jsonrpc": "2.0", **message}).encode()])
        self.events += events
        self.listen()
        return events

    def answer(self, **result: Any) -> Sequence[AgentEvent]:
        return self.send(id=self.last["id"], result=result)

    def fail(self, code: int, message: str, data: Any = None) -> Sequence[AgentEvent]:
        return self.send(id=self.last["id"], error={"code": code, "message": message, "data": data})

    def update(self, update: str, session: str = "s", **fields: Any) -> Sequence[AgentEvent]:
        told = {"sessionUpdate": update, **fields}
        return self.send(method="session/update", params={"sessionId": session, "update": told})

    def say(self, text: str, **more: Any) -> Sequence[AgentEvent]:
        return self.update("agent_message_chunk", content={"type": "text", "text": text}, **more)

    def open(self, capabilities: Any = None, **opened: Any) -> None:
        self.answer(protocolVersion=1, agentCapabilities=capabilities or {})
        self.answer(sessionId="s", **opened)

    def end(self, reason: str = "end_turn", **more: Any) -> TurnEnded:
        number = next(message["id"] for message in self.asked if message.get("method") == "session/prompt")
        events = self.send(id=number, result={"stopReason": reason, **more})
        (turn,) = [event for event in events if isinstance(event, TurnEnded)]
        return turn


def prompted(**wanted: Any) -> Peer:
    peer = Peer(**wanted)
    peer.open()
    assert peer.last["method"] == "session/prompt"
    return peer


def test_the_path_to_the_prompt() -> None:
    peer = prompted()

    assert [message["method"] for message in peer.asked] == ["initialize", "session/new", "session/prompt"]
    assert peer.asked[0]["params"]["clientCapabilities"] == {
        "fs": {"readTextFile": False, "writeTextFile": False},
        "terminal": False,
    }
    assert peer.last["params"]["prompt"] == [{"type": "text", "text": "make x"}]
    assert peer.events == [SessionStarted("s", "")]


@pytest.mark.parametrize(
    ("wanted", "modes", "method"),
    [
        ({}, MODES, None),
        ({"read_only": True}, MODES, "p#plan"),
        ({"permissions": Permissions.READS}, MODES, "p#plan"),
        ({"permissions": Permissions.NONE}, MODES, "default"),
        ({"permissions": Permissions.NONE, "read_only": True}, MODES, "default"),
        ({"read_only": True}, {"availableModes": 7}, None),
    ],
)
def test_the_mode_that_the_policy_means_is_set_if_there_is_one(
    wanted: dict[str, Any], modes: Any, method: str | None
) -> None:
    peer = Peer(**wanted)
    peer.open(modes=modes)

    if method is None:
        assert peer.last["method"] == "session/prompt"
        return
    assert (peer.last["method"], peer.last["params"]["modeId"]) == ("session/set_mode", method)
    peer.fail(-32603, "no such mode")
    assert peer.last["method"] == "session/prompt"  # it is denied what it asks for anyway


def test_a_model_by_either_way_of_choosing_one() -> None:
    by_list = Peer(model="b")
    by_list.open(models={"currentModelId": "a", "availableModels": [{"modelId": "a"}, {"modelId": "b"}]})
    assert (by_list.last["method"], by_list.last["params"]["modelId"]) == ("session/set_model", "b")

    groups = [{"group": "g", "name": "G", "options": [{"value": "b", "name": "Big"}]}]
    option = {
        "id": "m",
        "name": "M",
        "category": "model",
        "type": "select",
        "currentValue": "a",
        "options": groups,
    }
    by_option = Peer(model="Big")
    by_option.open(configOptions=[option])
    assert by_option.last["params"] == {"sessionId": "s", "configId": "m", "value": "b"}
    by_option.fail(-32603, "cannot")
    assert isinstance(by_option.events[-1], TurnEnded)  # a model matters


@pytest.mark.parametrize(
    ("wanted", "version", "why"),
    [
        ({}, 2, "goose speaks version 2 of ACP, ralph speaks 1"),
        ({}, "later", "goose speaks version later of ACP, ralph speaks 1"),
        ({"may_continue": True}, 1, "agent.continueSession: goose does not offer session/resume through ACP"),
        ({"model": "b"}, 1, "agent.model: goose offers no choice of models through ACP"),
    ],
)
def test_what_the_session_cannot_be_ends_it_before_the_prompt(
    wanted: dict[str, Any], version: Any, why: str
) -> None:
    peer = Peer(**wanted)
    peer.answer(protocolVersion=version)
    if not peer.conversation.is_over:
        peer.answer(sessionId="s")

    assert peer.events == [ErrorReported(why, None, UNSUITABLE, True), TurnEnded(error=why)]
    assert peer.conversation.is_over
    assert "session/prompt" not in [message["method"] for message in peer.asked]


def test_a_session_is_resumed_and_never_loaded() -> None:
    peer = Peer(continues="old", may_continue=True)
    peer.answer(
        protocolVersion=1, agentCapabilities={"sessionCapabilities": {"resume": {}}, "loadSession": True}
    )

    assert (peer.last["method"], peer.last["params"]["sessionId"]) == ("session/resume", "old")
    peer.answer()
    assert peer.last["params"]["sessionId"] == "old"
    loading = Peer(continues="old", may_continue=True)
    loading.answer(protocolVersion=1, agentCapabilities={"loadSession": True})
    assert loading.conversation.is_over  # what it would replay cannot be told from what it says


def test_a_login_that_is_there_is_used_where_that_must_be_said() -> None:
    peer = Peer(authenticate="cursor_login")
    peer.answer(protocolVersion=1, authMethods=[{"id": "cursor_login", "name": "Cursor"}])

    assert peer.last["params"] == {"methodId": "cursor_login"}
    peer.answer()
    assert peer.last["method"] == "session/new"


@given(st.lists(st.text("ab<>/response DONE", max_size=9), max_size=12), st.data())
def test_how_words_are_cut_into_chunks_does_not_matter(words: list[str], data: st.DataObject) -> None:
    text = "".join(words) + "<response>DONE</response>"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    peer, transcript = prompted(), Transcript(("response",))

    for piece in pieces:
        peer.say(piece)
    peer.end()
    transcript.take(peer.events)

    assert transcript.text == text.rstrip("\n")
    whole = Transcript(("response",))
    whole.take([Text(text)])
    assert transcript.tags == whole.tags


@pytest.mark.parametrize("between", ["tool_call", "agent_thought_chunk", "plan", "message"])
def test_a_tag_does_not_span_two_blocks(between: str) -> None:
    peer, transcript = prompted(), Transcript(("response",))

    peer.say("<response>DO", messageId="1")
    match between:
        case "tool_call":
            peer.update(between, toolCallId="t", title="look")
        case "agent_thought_chunk":
            peer.update(between, content={"type": "text", "text": "hm"})
        case "plan":
            peer.update(between, entries=[{"content": "x", "status": "pending"}])
        case _:
            pass  # the next words are of another message
    peer.say("NE</response>", messageId="2" if between == "message" else "1")
    peer.end()
    transcript.take(peer.events)

    assert not transcript.tags


def test_what_does_not_interrupt_a_sentence() -> None:
    peer, transcript = prompted(), Transcript(("response",))

    peer.say("<response>DO")
    peer.update("usage_update", used=1, size=2)
    peer.update("available_commands_update", availableCommands=[])
    peer.say("NE</response>")
    peer.end()
    transcript.take(peer.events)

    assert [tag.content for tag in transcript.tags] == ["DONE"]


def test_tools_from_their_first_sign_to_their_end() -> None:
    peer = prompted()
    peer.update(
        "tool_call", toolCallId="1", title="bash", kind="execute", status="pending", rawInput={"cwd": "/p"}
    )
    assert not [event for event in peer.events if isinstance(event, ToolStarted)]  # what about is told next
    peer.update("tool_call_update", toolCallId="1", status="in_progress", rawInput={"command": "make"})
    peer.update("tool_call_update", toolCallId="1", status="completed", rawOutput={"output": "ok\n"})
    peer.update("tool_call_update", toolCallId="1", status="completed")
    content = [{"type": "content", "content": {"type": "text", "text": "no"}}]
    peer.update("tool_call_update", toolCallId="2", kind="read", status="failed", content=content)
    peer.update("tool_call", toolCallId="3", title="later", status="pending", rawInput={})
    peer.end()

    tools = [event for event in peer.events if isinstance(event, ToolStarted | ToolEnded)]
    assert tools == [
        ToolStarted("1", "bash", "make"),
        ToolEnded("1", "bash", "ok\n", False, 1, 3),
        ToolStarted("2", "read"),
        ToolEnded("2", "read", "no", True, 1, 2),
        ToolStarted("3", "later"),
    ]


def test_sub_agents_are_not_the_assistant() -> None:
    peer = prompted()
    peer.say("a", _meta={"claudeCode": {"parentToolUseId": "t"}})
    peer.say("b", _meta={"parentToolCallId": "q"})
    peer.update("agent_message_chunk", "other", content={"type": "text", "text": "c"})
    peer.update("agent_thought_chunk", "other", content={"type": "text", "text": "d"})

    assert peer.events[1:] == [
        Text("a", True, "t"),
        Text("b", True, "q"),
        Text("c", True, "other"),
        Reasoning("d", "other"),
    ]


OPTIONS = [
    {"optionId": "A", "kind": "allow_always", "name": "a"},
    {"optionId": "a", "kind": "allow_once", "name": "a"},
    {"optionId": "R", "kind": "reject_always", "name": "r"},
    {"optionId": "r", "kind": "reject_once", "name": "r"},
]


@pytest.mark.parametrize(
    ("wanted", "kind", "options", "chosen", "denials"),
    [
        ({}, "execute", OPTIONS, "a", ()),
        ({}, None, OPTIONS[:1], "A", ()),
        ({}, "execute", OPTIONS[2:], None, ("execute",)),
        ({"read_only": True}, "edit", OPTIONS, "r", ("edit",)),
        ({"read_only": True}, "read", OPTIONS, "a", ()),
        ({"read_only": True}, None, OPTIONS[:3], "R", ("tool",)),
        ({"permissions": Permissions.READS}, "search", OPTIONS, "a", ()),
        ({"permissions": Permissions.READS}, "fetch", OPTIONS, "r", ("fetch",)),
        ({"permissions": Permissions.NONE}, "read", OPTIONS, "r", ("read",)),
        ({"permissions": Permissions.NONE, "read_only": True}, "read", [], None, ("read",)),
    ],
)
def test_permissions_by_policy(
    wanted: dict[str, Any], kind: str | None, options: Any, chosen: str | None, denials: tuple[str, ...]
) -> None:
    peer = prompted(**wanted)
    call = {"toolCallId": "t", **({"kind": kind} if kind else {})}
    peer.send(
        id="ask",
        method="session/request_permission",
        params={"sessionId": "s", "toolCall": call, "options": options},
    )

    outcome = peer.last["result"]["outcome"]
    assert peer.last["id"] == "ask"
    assert outcome == (
        {"outcome": "cancelled"} if chosen is None else {"outcome": "selected", "optionId": chosen}
    )
    assert peer.end().denials == denials


def test_whatever_it_asks_after_a_cancellation_is_cancelled() -> None:
    peer = prompted()
    cancel = json.loads(peer.conversation.cancellation())

    assert (cancel["method"], cancel["params"]) == ("session/cancel", {"sessionId": "s"})
    assert peer.conversation.cancellation() == b""
    params = {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": OPTIONS}
    peer.send(id=9, method="session/request_permission", params=params)
    assert peer.last["result"] == {"outcome": {"outcome": "cancelled"}}
    assert peer.end("cancelled").error
    assert Peer().conversation.cancellation() == b""  # nothing to cancel yet


@pytest.mark.parametrize("method", ["fs/read_text_file", "terminal/create", "elicitation/create", "x"])
def test_other_requests_are_not_offered(method: str) -> None:
    peer = prompted()
    events = peer.send(id=None if method == "never" else {"odd": 1}, method=method, params={})

    assert peer.last["error"]["code"] == -32601
    assert peer.last["id"] == {"odd": 1}
    assert events == [Unknown(method)]


@pytest.mark.parametrize(
    ("line", "events"),
    [
        (b'{"jsonrpc":"2.0","id":99,"result":{}}', [Unknown("an answer to nothing")]),
        (b'{"jsonrpc":"2.0","id":"1","result":{}}', [Unknown("an answer to nothing")]),
        (b'{"method":"x/y","params":{}}', [Unknown("x/y")]),
        (b'{"method":"_x/y","params":{}}', []),
        (b'{"id":7,"method":"_x/y","params":{}}', []),
        (
            b'{"method":"session/update","params":{"update":{"sessionUpdate":"new"}}}',
            [Unknown("session/update new")],
        ),
        (b'{"method":"session/update","params":7}', [Unknown("session/update")]),
        (b'{"method":7}', [Unknown("message")]),
        (b"  ", []),
    ],
)
def test_what_nobody_asked_for(line: bytes, events: list[AgentEvent]) -> None:
    assert prompted().conversation.parse([line]) == events


def test_an_id_that_is_too_long_is_not_repeated() -> None:
    peer = prompted()
    peer.send(id="x" * 5000, method="session/request_permission", params={})

    assert peer.last["method"] == "session/prompt"


@given(
    st.lists(st.binary(max_size=80) | st.sampled_from([b'{"method":"session/update"', b"[[[", b'{"id":1}']))
)
def test_it_never_raises(lines: list[bytes]) -> None:
    peer = prompted()
    peer.conversation.parse(lines)
    peer.conversation.outgoing()
    peer.conversation.finish()


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("max_tokens", "max_tokens"),
        ("max_turn_requests", "max_turn_requests"),
        ("refusal", "refusal"),
        ("cancelled", INTERRUPTED),
        ("something_new", ""),
    ],
)
def test_stop_reasons(reason: str, code: str) -> None:
    peer = prompted()
    peer.say("so far")
    turn = peer.end(reason)

    assert turn.error
    assert [event.code for event in peer.events if isinstance(event, ErrorReported)] == [code]


USAGE = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 18, "cachedReadTokens": 3}


@pytest.mark.parametrize(
    ("result", "usage"),
    [
        ({}, Usage()),
        ({"usage": USAGE}, Usage(10, 5, 3)),
        ({"usage": {**USAGE, "thoughtTokens": 4, "totalTokens": 22}}, Usage(10, 9, 3)),
        ({"usage": {**USAGE, "thoughtTokens": 4}}, Usage(10, 5, 3)),
        ({"usage": "much"}, Usage()),
        ({"_meta": {"quota": {"token_count": {"input_tokens": 7, "output_tokens": 2}}}}, Usage(7, 2)),
        ({"_meta": {"usage": {"inputTokens": 10, "outputTokens": 2, "cachedReadTokens": 8}}}, Usage(2, 2, 8)),
        ({"_meta": ["x"]}, Usage()),
    ],
)
def test_what_it_used_wherever_it_says_so(result: dict[str, Any], usage: Usage) -> None:
    peer = prompted()
    peer.say("x")

    assert peer.end(**result).usage == usage


def test_qwen_counts_along_with_its_words_and_gemini_names_its_model() -> None:
    peer = prompted()
    told = {"usage": {"inputTokens": 1000, "outputTokens": 50, "totalTokens": 1050, "cachedReadTokens": 800}}
    peer.say("", _meta=told)
    peer.say("", _meta=told)
    assert peer.end().usage == Usage(400, 100, 1600)

    gemini = prompted()
    counted = {"input_tokens": 7, "output_tokens": 2}
    gemini.end(
        _meta={"quota": {"token_count": counted, "model_usage": [{"model": "g", "token_count": counted}]}}
    )
    assert SessionStarted("s", "g") in gemini.events


def test_a_cost_counts_if_it_is_in_dollars_and_of_this_session() -> None:
    for currency, continues, cost in (("USD", "", 0.5), ("EUR", "", None), ("USD", "old", None)):
        peer = Peer(continues=continues)
        peer.open(capabilities={"sessionCapabilities": {"resume": {}}})
        peer.update("usage_update", used=1, size=2, cost={"amount": 0.5, "currency": currency})
        assert peer.end().cost_usd == cost


def test_words_before_and_after_the_turn_are_no_answer() -> None:
    peer = Peer()
    peer.answer(protocolVersion=1)
    assert peer.say("welcome") == [Notice("welcome")]
    peer.answer(sessionId="s")
    peer.end()
    assert peer.say("too late") == [Notice("too late")]


def test_an_error_is_voiced_only_where_nothing_was_done() -> None:
    peer = prompted()
    peer.update("tool_call", toolCallId="t", title="look")
    peer.say("API Error: 401 was the reason.")
    assert not peer.end().error
    idle = prompted()
    idle.say("API Error: 401")
    assert idle.end().error == "API Error: 401"


def test_an_end_without_an_answer_says_what_was_waited_for() -> None:
    assert Peer().conversation.finish() == [ErrorReported(NO_ANSWER, None, NO_RESULT, True)]
    (error,) = prompted().conversation.finish()
    assert error == ErrorReported("ended before it answered session/prompt", None, NO_RESULT, True)
    over = prompted()
    over.end()
    assert not over.conversation.finish()
