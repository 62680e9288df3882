"""A session of requests for receivers that answer without end: only the beginning of an answer is read."""

from __future__ import annotations

from typing import Any, Final

import requests

MOST_BYTES: Final = 65_536
"""Of an answer to spans or metrics, which is a few bytes; as it came, for what is packed may unpack to anything."""


class ShortAnswers(requests.Session):
    def send(self, request: requests.PreparedRequest, **how: Any) -> requests.Response:
        response = super().send(request, **{**how, "stream": True})
        try:
            response._content = response.raw.read(MOST_BYTES, decode_content=False)
        finally:
            response.close()
        return response
