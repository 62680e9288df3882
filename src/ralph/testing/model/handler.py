"""One connection: read a request, find its protocol, play the next step."""

from __future__ import annotations

import json
import socket
import zlib
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Final, cast

from ralph.testing.model import protocols
from ralph.testing.model.protocols.protocol import Answer, Frames, Protocol, halves
from ralph.testing.model.request import Request
from ralph.testing.model.script import SIDE_ANSWER, Record, Step
from ralph.testing.model.tools import call_of

if TYPE_CHECKING:
    from ralph.testing.model.server import ScriptedModel

MAX_BODY_BYTES: Final = 32 * 1024 * 1024
LONGEST_SILENCE: Final = 3600.0
GZIP_WINDOW: Final = 31

MODELS: Final[Record] = {
    "object": "list",
    "data": [{"id": "scripted", "object": "model", "owned_by": "ralph"}],
    "models": [],
}


class Refused(Exception):
    """The request cannot be read: a status and why."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = LONGEST_SILENCE  # of an idle connection
    disable_nagle_algorithm = True

    @property
    def model(self) -> ScriptedModel:
        return cast("ScriptedModel", self.server.model)  # type: ignore[attr-defined]

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name is inherited)
        """Silent: the requests are on record."""

    def do_HEAD(self) -> None:
        self._send(200, b"", {})

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if self.headers.get("upgrade"):
            self._json(426, {"error": {"message": "no web sockets here"}}, {})
        elif path.endswith("/models"):
            self._json(200, MODELS, {})
        else:
            self._not_found()

    def do_POST(self) -> None:
        path = self.path.partition("?")[0]
        try:
            data = self._body()
            body = _decoded(data)
        except Refused as error:
            self.close_connection = True
            self._json(error.status, {"error": {"message": str(error)}}, {})
            return
        protocol = next((each for each in protocols.ALL if each.speaks(path)), None)
        if protocol is None:
            self._not_found()
        elif (tokens := protocol.counted(path, len(data))) is not None:
            self._json(200, tokens, {})
        else:
            self._play(protocol, path, data, body)

    # --- playing -------------------------------------------------------------------------------------------

    def _play(self, protocol: Protocol, path: str, data: bytes, body: Record) -> None:
        offered = protocol.tools(body)
        is_side = not offered
        headers = {name.lower(): value for name, value in self.headers.items()}
        text = data.decode(errors="replace")
        self.model.note(Request(protocol.name, path, headers, text, is_side))
        step = SIDE_ANSWER if is_side else self.model.script.next()
        if step.delay and self.model.closing.wait(step.delay):
            return self._drop()
        if step.hang and not step.says_something:
            return self._fall_silent()
        if step.error is not None:
            refusal = protocol.error(step, step.error) if step.body is None else dict(step.body)
            return self._json(step.error, refusal, step.headers)
        said = (protocol.side_text(body) if is_side else None) or step.said_to(text)
        model = protocol.model(path, body)
        call = call_of(step, offered)
        answer = Answer(self.model.next_number(), model, said, step.thinking, call, step.usage)
        if protocol.streams(path, body):
            return self._stream(protocol, answer, step)
        if step.cut or step.hang:
            return self._drop() if step.cut else self._fall_silent()
        return self._json(200, protocol.whole(answer), step.headers)

    def _stream(self, protocol: Protocol, answer: Answer, step: Step) -> None:
        if (failed := step.stream_error) is not None:
            frames = protocol.failing_stream(answer, failed.code, failed.message)
        else:
            frames = protocol.stream(answer)
        if step.cut or step.hang:
            frames = _begun(frames, answer.text)
        self._head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked", **step.headers})
        for frame in frames:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(frame), frame))
        if step.hang:
            self._fall_silent()
        elif step.cut:
            self._drop()
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _fall_silent(self) -> None:
        self.model.closing.wait(LONGEST_SILENCE)
        self._drop()

    def _drop(self) -> None:
        """The connection breaks; nothing says that the answer is over."""
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    # --- HTTP ----------------------------------------------------------------------------------------------

    def _not_found(self) -> None:
        self._json(404, {"error": {"message": f"nothing is played at {self.path}"}}, {})

    def _json(self, status: int, value: Record, headers: Mapping[str, str]) -> None:
        self._send(status, json.dumps(value).encode(), {"content-type": "application/json", **headers})

    def _send(self, status: int, data: bytes, headers: Mapping[str, str]) -> None:
        self._head(status, {"content-length": str(len(data)), **headers})
        self.wfile.write(data)

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        self.send_header("request-id", f"req_{self.model.next_number()}")
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _body(self) -> bytes:
        data = self._chunks() if "chunked" in self.headers.get("transfer-encoding", "") else self._sized()
        encoding = self.headers.get("content-encoding", "identity")
        if encoding == "identity":
            return data
        if encoding != "gzip":
            raise Refused(415, f"content-encoding {encoding} is not understood")
        unpacking = zlib.decompressobj(GZIP_WINDOW)
        try:
            plain = unpacking.decompress(data, MAX_BODY_BYTES)
        except zlib.error as error:
            raise Refused(400, "the body is not gzip") from error
        if unpacking.unconsumed_tail:
            raise Refused(413, "the body is too large")
        return plain

    def _sized(self) -> bytes:
        length = self.headers.get("content-length", "0")
        if not length.isdecimal():
            raise Refused(400, "content-length is not a number")
        if int(length) > MAX_BODY_BYTES:
            raise Refused(413, "the body is too large")
        return self.rfile.read(int(length))

    def _chunks(self) -> bytes:
        data = bytearray()
        while True:
            size_text = self.rfile.readline(1024).split(b";")[0].strip()
            try:
                size = int(size_text, 16)
            except ValueError as error:
                raise Refused(400, "the body is badly chunked") from error
            if not 0 <= size <= MAX_BODY_BYTES - len(data):
                raise Refused(413, "the body is too large")
            data += self.rfile.read(size)
            self.rfile.readline(1024)
            if size == 0:
                return bytes(data)


def _begun(frames: Frames, text: str) -> Frames:
    """The frames until the first half of the text was said; without a text, half of the frames."""
    first = json.dumps(halves(text)[0])[1:-1].encode() if text else b""
    middle = next((at for at, frame in enumerate(frames) if first and first in frame), len(frames) // 2)
    return frames[: middle + 1]


def _decoded(data: bytes) -> Record:
    try:
        body = json.loads(data or b"{}")
    except (ValueError, RecursionError) as error:
        raise Refused(400, "the body is not JSON") from error
    if not isinstance(body, dict):
        raise Refused(400, "the body is not a JSON object")
    return body
