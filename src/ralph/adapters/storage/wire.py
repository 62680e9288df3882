"""Events and states as JSON, and back."""

from __future__ import annotations

from typing import Any

import msgspec

from ralph.domain.loop.events import LoopEvent
from ralph.domain.loop.state import LoopState
from ralph.errors import StoreError

MOST_ITERATIONS = 2**40

_encoder = msgspec.json.Encoder()
_state_decoder = msgspec.json.Decoder(LoopState)


def encode_event(event: LoopEvent) -> bytes:
    try:
        return _encoder.encode(event)
    except UnicodeEncodeError:
        # Half characters (lone surrogates) that an agent printed; JSON in UTF-8 cannot hold them.
        return _encoder.encode(_whole_characters(msgspec.to_builtins(event)))


def _whole_characters(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case dict():
            return {key: _whole_characters(item) for key, item in value.items()}
        case list() | tuple():
            return [_whole_characters(item) for item in value]
        case _:
            return value


def decode_event(data: bytes) -> dict[str, Any]:
    """As plain data: a screen must be able to show events of an older or newer ralph."""
    decoded = msgspec.json.decode(data)
    assert isinstance(decoded, dict)
    return decoded


def encode_state(state: LoopState) -> str:
    return _encoder.encode(state).decode()


def decode_state(data: str) -> LoopState:
    """Raises StoreError if somebody damaged it."""
    try:
        state = _state_decoder.decode(data)
    except (msgspec.MsgspecError, ValueError) as error:
        message = f"the state of the run cannot be read: {error}"
        raise StoreError(message, hint="start a new run with `ralph run`") from error
    if not 0 <= state.iteration < MOST_ITERATIONS or not 0 <= state.attempt < MOST_ITERATIONS:
        message = f"the state of the run makes no sense: iteration {state.iteration}, attempt {state.attempt}"
        raise StoreError(message, hint="start a new run with `ralph run`")
    return state
