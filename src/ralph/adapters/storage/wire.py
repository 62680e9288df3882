"""Events and states as stored JSON, and back."""

from __future__ import annotations

from functools import cache
from typing import Any, get_args, get_type_hints

import msgspec

from ralph.domain.agent.events import AgentEvent
from ralph.domain.loop.events import AgentActed, AgentEnded, LoopEvent
from ralph.domain.loop.session_report import Fault
from ralph.domain.loop.state import LoopState
from ralph.errors import StoreError
from ralph.values import fields

MOST_ITERATIONS = 2**40

_encoder = msgspec.json.Encoder()


def encode_event(event: LoopEvent) -> bytes:
    return _encode(event)


def _encode(value: LoopEvent | LoopState) -> bytes:
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        # Half characters (lone surrogates) that an agent or a check printed; JSON in UTF-8 cannot hold them.
        return _encoder.encode(_whole_characters(msgspec.to_builtins(value)))


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
    """As plain data: events of an older or newer ralph must be readable, too."""
    decoded = msgspec.json.decode(data)
    assert isinstance(decoded, dict)
    return decoded


def encode_state(state: LoopState) -> str:
    return _encode(state).decode()


def decode_state(data: str) -> LoopState:
    """Raises StoreError if it is damaged."""
    try:
        state = _state_decoder().decode(data)
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError) as error:
        message = f"the state of the run cannot be read: {error}"
        raise StoreError(message, hint="start a new run with `ralph run`") from error
    if not 0 <= state.iteration < MOST_ITERATIONS or not 0 <= state.attempt < MOST_ITERATIONS:
        message = (
            f"the saved state of the run is impossible: iteration {state.iteration}, attempt {state.attempt}"
        )
        raise StoreError(message, hint="start a new run with `ralph run`")
    return state


@cache
def _state_decoder() -> msgspec.json.Decoder[LoopState]:
    """Made when a state is read: a new run has none to read, and it takes milliseconds."""
    return msgspec.json.Decoder(LoopState)


def restore(data: bytes) -> LoopEvent | None:
    """The event as it was published; None if this version of ralph does not know its kind or shape."""
    try:
        return _event_of(msgspec.json.decode(data, type=dict[str, Any]))
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError):
        return None


def _event_of(record: dict[str, Any]) -> LoopEvent | None:
    match record.get("kind"):
        case "agent_acted":
            acted = msgspec.convert(record.get("events"), list[dict[str, Any]])
            return AgentActed(tuple(known for item in acted if (known := _by_kind(AgentEvent, item))))
        case "agent_ended":
            return _agent_ended(record)
        case _:
            event: LoopEvent | None = _by_kind(LoopEvent, record)  # of the right type by construction
            return event


def _by_kind(union: Any, record: dict[str, Any]) -> Any:
    kind = _kinds(union).get(str(record.get("kind")))
    return None if kind is None else msgspec.convert(record, kind)


@cache
def _kinds(union: Any) -> dict[str, type]:
    """Each class of the union by its stored name, which is the default of its ``kind``."""
    return {
        str(field.default): kind for kind in get_args(union) for field in fields(kind) if field.name == "kind"
    }


def _agent_ended(record: dict[str, Any]) -> AgentEnded:
    fault = record.get("fault")
    values = msgspec.convert(record, _ended_record())
    known = {name: getattr(values, name) for name in values.__struct_fields__}
    return AgentEnded(**known | {"fault": _by_kind(Fault, fault) if isinstance(fault, dict) else None})


@cache
def _ended_record() -> type[msgspec.Struct]:
    """AgentEnded without its fault: a union of classes that msgspec cannot tell apart."""
    hints = get_type_hints(AgentEnded)
    shape: list[tuple[str, Any, Any]] = [
        (field.name, hints[field.name], msgspec.field(default=field.default))
        if isinstance(field.default, str | int | float | tuple)
        else (field.name, hints[field.name], msgspec.field())
        for field in fields(AgentEnded)
        if field.init and field.name != "fault"
    ]
    return msgspec.defstruct("AgentEndedRecord", shape)
