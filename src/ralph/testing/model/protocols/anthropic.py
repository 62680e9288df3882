"""Anthropic Messages: ``POST /v1/messages``."""

from __future__ import annotations

import json
from typing import Final

from ralph.testing.model.protocols.protocol import Answer, Frames, estimated_tokens, halves, sse
from ralph.testing.model.script import Record, Step
from ralph.testing.model.tools import Tool

_CODES: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class AnthropicMessages:
    name = "anthropic"

    def speaks(self, path: str) -> bool:
        return path.endswith(("/messages", "/messages/count_tokens"))

    def counted(self, path: str, size: int) -> Record | None:
        return {"input_tokens": estimated_tokens(size)} if path.endswith("/count_tokens") else None

    def model(self, path: str, body: Record) -> str:
        return str(body.get("model", "scripted"))

    def tools(self, body: Record) -> list[Tool]:
        return [
            Tool(tool.get("name", ""), tool.get("input_schema") or {}) for tool in body.get("tools") or ()
        ]

    def streams(self, path: str, body: Record) -> bool:
        return bool(body.get("stream"))

    def side_text(self, body: Record) -> str | None:
        return None

    def whole(self, answer: Answer) -> Record:
        return {**_message(answer), "content": _blocks(answer), "stop_reason": _stop(answer)}

    def stream(self, answer: Answer) -> Frames:
        frames = [_opening(answer)]
        for index, block in enumerate(_blocks(answer)):
            empty, deltas = _pieces(block)
            frames.append(_event("content_block_start", index=index, content_block=empty))
            frames += [_event("content_block_delta", index=index, delta=delta) for delta in deltas]
            frames.append(_event("content_block_stop", index=index))
        end = {"stop_reason": _stop(answer), "stop_sequence": None}
        frames.append(_event("message_delta", delta=end, usage=_usage(answer)))
        frames.append(_event("message_stop"))
        return frames

    def failing_stream(self, answer: Answer, code: str, message: str) -> Frames:
        return [_opening(answer), _event("error", error={"type": code, "message": message})]

    def error(self, step: Step, status: int) -> Record:
        code = step.code or _CODES.get(status, "api_error")
        return {
            "type": "error",
            "error": {"type": code, "message": step.message or f"scripted error {status}"},
        }


def _event(kind: str, **data: object) -> bytes:
    return sse({"type": kind, **data}, kind)


def _opening(answer: Answer) -> bytes:
    return _event("message_start", message=_message(answer))


def _message(answer: Answer) -> Record:
    return {
        "id": f"msg_{answer.number}",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _usage(answer),
    }


def _usage(answer: Answer) -> Record:
    usage = answer.usage
    return {
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.cache_write,
    }


def _stop(answer: Answer) -> str:
    return "end_turn" if answer.call is None else "tool_use"


def _blocks(answer: Answer) -> list[Record]:
    blocks: list[Record] = []
    if answer.thinking:
        blocks.append({"type": "thinking", "thinking": answer.thinking, "signature": "scripted"})
    if answer.text:
        blocks.append({"type": "text", "text": answer.text})
    if (call := answer.call) is not None:
        identifier = f"toolu_{answer.number}"
        blocks.append({"type": "tool_use", "id": identifier, "name": call.tool.name, "input": call.input})
    return blocks


def _pieces(block: Record) -> tuple[Record, list[Record]]:
    """The block as it begins, and what is added to it."""
    match block["type"]:
        case "text":
            deltas: list[Record] = [{"type": "text_delta", "text": half} for half in halves(block["text"])]
            return {**block, "text": ""}, deltas
        case "thinking":
            deltas = [{"type": "thinking_delta", "thinking": half} for half in halves(block["thinking"])]
            signed = {"type": "signature_delta", "signature": block["signature"]}
            return {**block, "thinking": "", "signature": ""}, [*deltas, signed]
        case _:
            text = json.dumps(block["input"])
            return {**block, "input": {}}, [
                {"type": "input_json_delta", "partial_json": half} for half in halves(text)
            ]
