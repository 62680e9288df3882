"""OpenAI Responses: ``POST …/responses``."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count

from ralph.testing.model.protocols.openai_errors import error_body
from ralph.testing.model.protocols.protocol import Answer, Frames, halves, sse
from ralph.testing.model.script import Record, Step
from ralph.testing.model.tools import Tool


class OpenAIResponses:
    name = "responses"

    def speaks(self, path: str) -> bool:
        return path.endswith("/responses")

    def counted(self, path: str, size: int) -> Record | None:
        return None

    def model(self, path: str, body: Record) -> str:
        return str(body.get("model", "scripted"))

    def tools(self, body: Record) -> list[Tool]:
        return [tool for declared in body.get("tools") or () for tool in _tools(declared, None)]

    def streams(self, path: str, body: Record) -> bool:
        return bool(body.get("stream"))

    def side_text(self, body: Record) -> str | None:
        return None

    def whole(self, answer: Answer) -> Record:
        return {**_response(answer, "completed"), "output": _items(answer), "usage": _usage(answer)}

    def stream(self, answer: Answer) -> Frames:
        events = _events(answer, self.whole(answer))
        return [
            sse({**event, "sequence_number": number}, event["type"]) for number, event in enumerate(events)
        ]

    def failing_stream(self, answer: Answer, code: str, message: str) -> Frames:
        opened = {"type": "response.created", "response": _response(answer, "in_progress")}
        failed = {**_response(answer, "failed"), "error": {"code": code, "message": message}}
        events: list[Record] = [opened, {"type": "response.failed", "response": failed}]
        return [
            sse({**event, "sequence_number": number}, event["type"]) for number, event in enumerate(events)
        ]

    def error(self, step: Step, status: int) -> Record:
        return error_body(step, status)


def _tools(declared: Record, namespace: str | None) -> Iterator[Tool]:
    if declared.get("type") == "namespace":
        for inner in declared.get("tools") or ():
            yield from _tools(inner, declared.get("name"))
        return
    name = declared.get("name") or declared.get("type") or ""
    takes_text = declared.get("type") == "custom"
    yield Tool(name, declared.get("parameters") or {}, takes_text, namespace)


def _response(answer: Answer, status: str) -> Record:
    return {
        "id": f"resp_{answer.number}",
        "object": "response",
        "created_at": int(time.time()),
        "model": answer.model,
        "status": status,
        "output": [],
    }


def _usage(answer: Answer) -> Record:
    usage = answer.usage
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cache_read},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.input + usage.output,
    }


def _items(answer: Answer) -> list[Record]:
    items: list[Record] = []
    if answer.thinking:
        summary = [{"type": "summary_text", "text": answer.thinking}]
        items.append({"type": "reasoning", "id": f"rs_{answer.number}", "summary": summary, "content": []})
    if answer.text:
        said = {"type": "output_text", "text": answer.text, "annotations": []}
        items.append(
            {
                "type": "message",
                "id": f"msg_{answer.number}",
                "role": "assistant",
                "status": "completed",
                "content": [said],
            }
        )
    if answer.call is not None:
        items.append(_call(answer))
    return items


def _call(answer: Answer) -> Record:
    call = answer.call
    assert call is not None
    item: Record = {
        "id": f"fc_{answer.number}",
        "call_id": f"call_{answer.number}",
        "name": call.tool.name,
        "status": "completed",
    }
    if call.tool.takes_text or isinstance(call.input, str):
        item |= {"type": "custom_tool_call", "input": call.arguments}
    else:
        item |= {"type": "function_call", "arguments": call.arguments}
    if call.tool.namespace is not None:
        item["namespace"] = call.tool.namespace
    return item


def _events(answer: Answer, completed: Record) -> Iterator[Record]:
    yield {"type": "response.created", "response": _response(answer, "in_progress")}
    index = count()
    for item in completed["output"]:
        place = {"output_index": next(index)}
        begun = {**item, "status": "in_progress"} | ({"content": []} if item["type"] == "message" else {})
        yield {"type": "response.output_item.added", **place, "item": begun}
        inside = {**place, "item_id": item["id"]}
        if item["type"] == "message":
            yield from _text_events(item["content"][0], {**inside, "content_index": 0})
        elif item["type"] == "function_call":
            arguments = item["arguments"]
            for half in halves(arguments):
                yield {"type": "response.function_call_arguments.delta", **inside, "delta": half}
            yield {"type": "response.function_call_arguments.done", **inside, "arguments": arguments}
        yield {"type": "response.output_item.done", **place, "item": item}
    yield {"type": "response.completed", "response": completed}


def _text_events(part: Record, inside: Record) -> Iterator[Record]:
    yield {"type": "response.content_part.added", **inside, "part": {**part, "text": ""}}
    for half in halves(part["text"]):
        yield {"type": "response.output_text.delta", **inside, "delta": half}
    yield {"type": "response.output_text.done", **inside, "text": part["text"]}
