"""OpenAI Chat Completions: ``POST …/chat/completions``."""

from __future__ import annotations

import time

from ralph.testing.model.protocols.openai_errors import error_body
from ralph.testing.model.protocols.protocol import Answer, Frames, halves, sse
from ralph.testing.model.script import Record, Step
from ralph.testing.model.tools import Tool


class OpenAIChat:
    name = "chat"

    def speaks(self, path: str) -> bool:
        return path.endswith("/chat/completions")

    def counted(self, path: str, size: int) -> Record | None:
        return None

    def model(self, path: str, body: Record) -> str:
        return str(body.get("model", "scripted"))

    def tools(self, body: Record) -> list[Tool]:
        functions = [tool.get("function") or {} for tool in body.get("tools") or ()]
        return [Tool(function.get("name", ""), function.get("parameters") or {}) for function in functions]

    def streams(self, path: str, body: Record) -> bool:
        return bool(body.get("stream"))

    def side_text(self, body: Record) -> str | None:
        return None

    def whole(self, answer: Answer) -> Record:
        message: Record = {"role": "assistant", "content": answer.text or None}
        if answer.thinking:
            message["reasoning_content"] = answer.thinking
        if answer.call is not None:
            message["tool_calls"] = [_call(answer)]
        choice = {"index": 0, "message": message, "finish_reason": _finish(answer)}
        return {**_head(answer, "chat.completion"), "choices": [choice], "usage": _usage(answer)}

    def stream(self, answer: Answer) -> Frames:
        frames = [_chunk(answer, {"role": "assistant", "content": ""})]
        frames += [_chunk(answer, {"reasoning_content": half}) for half in halves(answer.thinking)]
        frames += [_chunk(answer, {"content": half}) for half in halves(answer.text)]
        if answer.call is not None:
            frames.append(_chunk(answer, {"tool_calls": [{**_call(answer), "index": 0}]}))
        frames.append(_chunk(answer, {}, _finish(answer)))
        spent = {**_head(answer, "chat.completion.chunk"), "choices": [], "usage": _usage(answer)}
        return [*frames, sse(spent), sse("[DONE]")]

    def failing_stream(self, answer: Answer, code: str, message: str) -> Frames:
        failed: Record = {"error": {"message": message, "type": code, "code": code, "param": None}}
        return [_chunk(answer, {"role": "assistant", "content": ""}), sse(failed)]

    def error(self, step: Step, status: int) -> Record:
        return error_body(step, status)


def _head(answer: Answer, kind: str) -> Record:
    return {
        "id": f"chatcmpl-{answer.number}",
        "object": kind,
        "created": int(time.time()),
        "model": answer.model,
    }


def _chunk(answer: Answer, delta: Record, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return sse({**_head(answer, "chat.completion.chunk"), "choices": [choice]})


def _finish(answer: Answer) -> str:
    return "stop" if answer.call is None else "tool_calls"


def _call(answer: Answer) -> Record:
    call = answer.call
    assert call is not None
    function = {"name": call.tool.name, "arguments": call.arguments}
    return {"id": f"call_{answer.number}", "type": "function", "function": function}


def _usage(answer: Answer) -> Record:
    usage = answer.usage
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
    }
