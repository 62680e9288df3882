"""Gemini: ``POST …/models/NAME:generateContent`` and ``:streamGenerateContent``."""

from __future__ import annotations

import json
from typing import Final

from ralph.patterns import pattern
from ralph.testing.model.protocols.protocol import Answer, Frames, estimated_tokens, halves, sse
from ralph.testing.model.script import Record, Step
from ralph.testing.model.tools import Tool

_METHOD = pattern(r"/([^/:]+):(generateContent|streamGenerateContent|countTokens)$")
_STATUS: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}
_SIDE_JSON: Final = json.dumps(
    {
        "next_speaker": "user",
        "reasoning": "scripted",
        "model_choice": "flash",
        "complexity_reasoning": "scripted",
        "complexity_score": 1,
    }
)
"""gemini asks itself who speaks next and which model fits, and wants JSON."""


class Gemini:
    name = "gemini"

    def speaks(self, path: str) -> bool:
        return _METHOD.search(path) is not None

    def counted(self, path: str, size: int) -> Record | None:
        return {"totalTokens": estimated_tokens(size)} if path.endswith(":countTokens") else None

    def model(self, path: str, body: Record) -> str:
        found = _METHOD.search(path)
        return found[1] if found is not None else "scripted"

    def tools(self, body: Record) -> list[Tool]:
        functions = [
            each for group in body.get("tools") or () for each in group.get("functionDeclarations") or ()
        ]
        return [
            Tool(each.get("name", ""), each.get("parametersJsonSchema") or each.get("parameters") or {})
            for each in functions
        ]

    def streams(self, path: str, body: Record) -> bool:
        return path.endswith(":streamGenerateContent")

    def side_text(self, body: Record) -> str | None:
        wanted = (body.get("generationConfig") or {}).get("responseMimeType")
        return _SIDE_JSON if wanted == "application/json" else None

    def whole(self, answer: Answer) -> Record:
        return _response(answer, _parts(answer), is_last=True)

    def stream(self, answer: Answer) -> Frames:
        parts = _parts(answer)
        last = len(parts) - 1
        return [sse(_response(answer, [part], is_last=at == last)) for at, part in enumerate(parts)]

    def failing_stream(self, answer: Answer, code: str, message: str) -> Frames:
        return [sse({"error": {"code": 500, "message": message, "status": code}})]

    def error(self, step: Step, status: int) -> Record:
        name = step.code or _STATUS.get(status, "UNAVAILABLE")
        return {
            "error": {"code": status, "message": step.message or f"scripted error {status}", "status": name}
        }


def _parts(answer: Answer) -> list[Record]:
    parts: list[Record] = [{"text": half, "thought": True} for half in halves(answer.thinking)]
    parts += [{"text": half} for half in halves(answer.text)]
    if answer.call is not None:
        parts.append({"functionCall": {"name": answer.call.tool.name, "args": answer.call.input}})
    return parts or [{"text": ""}]


def _response(answer: Answer, parts: list[Record], *, is_last: bool) -> Record:
    usage = answer.usage
    candidate: Record = {"content": {"role": "model", "parts": parts}, "index": 0}
    if is_last:
        candidate["finishReason"] = "STOP"
    return {
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": usage.input,
            "candidatesTokenCount": usage.output,
            "totalTokenCount": usage.input + usage.output,
            "cachedContentTokenCount": usage.cache_read,
        },
        "modelVersion": answer.model,
        "responseId": f"scripted-{answer.number}",
    }
